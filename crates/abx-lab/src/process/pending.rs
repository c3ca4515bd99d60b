//! What a study waits for while nothing is measured, for whoever watches it.

use std::time::Duration;

/// What is waited for. Told now and then while it lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pending<'a> {
    /// Files that are made for a subject.
    Files {
        /// The subject.
        subject: &'a str,
        /// How much of them there is.
        made_bytes: u64,
        /// How much of them there will be.
        all_bytes: u64,
    },
    /// The first right answers of a subject that was started.
    Ready {
        /// The subject.
        subject: &'a str,
        /// For how long it was waited so far.
        waited: Duration,
        /// For how long it is waited at most.
        at_most: Duration,
    },
    /// Responses to requests that a slice has left.
    Responses {
        /// The subject.
        subject: &'a str,
        /// Connections with such a request.
        connections: u64,
        /// For how long the first of them has waited.
        waited: Duration,
        /// For how long it is waited at most.
        at_most: Duration,
    },
    /// Nothing any more.
    Over,
}

/// For those whom nobody watches.
pub fn unwatched(_: Pending) {}
