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
    /// The search for rates has ended, and this is where it found capacities.
    Capacities(&'a [FoundCapacity]),
    /// The pilot has ended, and so the parts of blocks are known.
    Piloted {
        /// How long it took, with everything before it.
        took: Duration,
        /// How long each block will take, about.
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
    /// A round has ended, and these are its slices, that of a server that does
    /// nothing ([`CEILING`](abx_evidence::record::CEILING)) among them.
    Slices(&'a [SliceRecord]),
    /// A fault is done to a subject.
    Fault {
        /// The block's number from zero.
        block: u32,
        fault: &'a str,
        subject: &'a str,
    },
    /// A service has ended under load; it is started again.
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
