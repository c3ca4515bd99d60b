//! The waits of a study while nothing is measured, for display.

use std::cell::Cell;
use std::time::Duration;

use abx_engine::AwaitedConnections;

/// The current wait. It is reported now and then while it lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pending<'a> {
    /// Files that are made for a subject.
    Files {
        subject: &'a str,
        /// The bytes that exist so far.
        made_bytes: u64,
        /// The bytes of all files.
        all_bytes: u64,
    },
    /// The first correct responses of a subject that was started.
    Ready {
        subject: &'a str,
        /// How long the wait has lasted.
        waited: Duration,
        /// How long the wait may last.
        at_most: Duration,
    },
    /// The responses of a subject that are verified before a load.
    Verification {
        subject: &'a str,
        /// How long the wait for the current response has lasted.
        waited: Duration,
        /// How long that wait may last.
        at_most: Duration,
    },
    /// Connections that are opened before a load or a slice.
    Connections {
        subject: &'a str,
        /// Connections that are open and, as far as abx can see, accepted.
        open: u64,
        /// Connections that are to be opened.
        asked: u64,
        /// The time since the last connection was opened.
        silent: Duration,
        /// The time without another connection after which abx tries no more.
        at_most: Duration,
    },
    /// One try of the search for the highest rate at which an objective is met.
    Try {
        subject: &'a str,
        /// The rate that is tried, per second.
        per_s: u64,
        /// The number of this try for the subject, from 1.
        number: u32,
    },
    /// The end of the command that fills a service with data.
    Seed { service: &'a str },
    /// Responses to requests that are open at the end of a slice.
    Responses {
        subject: &'a str,
        /// Connections with such a request.
        connections: u64,
        /// How long the first of them has waited.
        waited: Duration,
        /// How long the wait may last.
        at_most: Duration,
    },
    /// The last reported wait is over.
    Over,
}

impl<'a> Pending<'a> {
    /// The progress of a subject's connections.
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
    let result = wait(&|pending| {
        is_reported.set(true);
        on_pending(pending);
    });
    if is_reported.get() {
        on_pending(Pending::Over);
    }
    result
}

/// For waits without a display.
pub fn unwatched(_: Pending) {}
