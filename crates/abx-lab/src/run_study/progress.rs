//! Events of a study, for display.

use std::time::Duration;

use abx_evidence::record::SliceRecord;
use abx_verdict::StudyRecord;

use crate::measure::rate_search::FoundCapacity;
use crate::process::pending::Pending;

/// An event, for display. Reported between slices, never within the measured part of one.
#[derive(Debug)]
pub enum StudyProgress<'a> {
    Pilot,
    /// The search for rates has ended, and found these capacities.
    Capacities(&'a [FoundCapacity]),
    /// The pilot has ended, so the length of blocks is known.
    Piloted {
        /// How long the pilot took, with everything before it.
        took: Duration,
        /// About how long each block will take.
        each_block: Duration,
    },
    /// Nothing is measured, and this is why.
    Pending(Pending<'a>),
    /// A round of a block begins.
    Round {
        /// The block's number from zero.
        block: u32,
        /// The load, if blocks have several.
        load: Option<&'a str>,
        /// The round's number from zero.
        round: u32,
        rounds: u32,
    },
    /// A round has ended with these slices, including that of the server that does nothing
    /// ([`CEILING`](abx_evidence::record::CEILING)).
    Slices(&'a [SliceRecord]),
    /// A fault strikes a subject.
    Fault {
        /// The block's number from zero.
        block: u32,
        fault: &'a str,
        subject: &'a str,
    },
    /// A service has exited under load; it is started again.
    ServiceDied {
        service: &'a str,
        how: &'a str,
    },
    /// A subject failed at the start of a block, and is not measured any further.
    LeftOut {
        subject: &'a str,
        how: &'a str,
    },
    /// A block has ended.
    Block {
        /// The results of the blocks so far.
        record: &'a StudyRecord,
        /// The approximate length of another block, with the loads that are still open.
        next_block: Duration,
    },
}
