//! The waits of a study while nothing is measured, for display.

use std::cell::Cell;
use std::time::Duration;

use abx_engine::AwaitedConnections;

/// The current wait. Reported now and then while it lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pending<'a> {
    /// Files that are made for a subject.
    Files {
        subject: &'a str,
        /// How much of them there is.
        made_bytes: u64,
        /// How much of them there will be.
        all_bytes: u64,
    },
    /// The first correct responses of a subject that was started.
    Ready {
        subject: &'a str,
        /// For how long it was waited so far.
        waited: Duration,
        /// For how long it is waited at most.
        at_most: Duration,
    },
    /// The responses of a subject that are looked at closely before a load.
    Verification {
        subject: &'a str,
        /// For how long the one at hand was waited so far.
        waited: Duration,
        /// For how long it is waited at most.
        at_most: Duration,
    },
    /// Connections that are opened before a load or a slice.
    Connections {
        subject: &'a str,
        /// How many are open, and accepted as far as that is seen.
        open: u64,
        /// How many there are to be.
        asked: u64,
        /// For how long no other one was opened.
        silent: Duration,
        /// After how long without another one no more are tried.
        at_most: Duration,
    },
    /// One try of the search for the highest rate at which an objective is met.
    Try {
        subject: &'a str,
        /// The rate that is tried, per second.
        per_s: u64,
        /// Which try of this subject it is, from one.
        number: u32,
    },
    /// The end of the command that fills a service with data.
    Seed {
        service: &'a str,
    },
    /// Responses to requests that a slice has left.
    Responses {
        subject: &'a str,
        /// Connections with such a request.
        connections: u64,
        /// For how long the first of them has waited.
        waited: Duration,
        /// For how long it is waited at most.
        at_most: Duration,
    },
    Over,
}

impl<'a> Pending<'a> {
    /// How far a subject's connections are.
    #[must_use]
    pub fn connections(subject: &'a str, awaited: AwaitedConnections) -> Pending<'a> {
        Pending::Connections {
            subject,
            open: awaited.open,
            asked: awaited.asked,
            silent: awaited.silent,
            at_most: awaited.at_most,
        }
    }
}

/// A wait that is over sooner is not reported.
pub const PENDING_FROM: Duration = Duration::from_secs(1);

/// Waits for a function to return, and reports the wait while it lasts.
pub fn while_pending<T>(
    on_pending: &dyn Fn(Pending),
    wait: impl FnOnce(&dyn Fn(Pending)) -> T,
) -> T {
    let is_reported = Cell::new(false);
    let response = wait(&|pending| {
        is_reported.set(true);
        on_pending(pending);
    });
    if is_reported.get() {
        on_pending(Pending::Over);
    }
    response
}

/// For waits without a display.
pub fn unwatched(_: Pending) {}
