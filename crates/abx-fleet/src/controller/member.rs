//! An agent of a fleet, as its controller sees it.

use abx_evidence::SliceTally;
use abx_evidence::record::AgentRecord;
use abx_sys::machine::loopback;

use super::liveness::Loss;
use crate::clock::ClockOffset;
use crate::message::Introduction;
use crate::pace::{LATE, PaceSums};

/// An agent of a fleet.
#[derive(Debug, Clone)]
pub struct Member {
    pub introduction: Introduction,
    pub clock: ClockOffset,
    /// The largest bound of all measurements of the clock, in ns.
    pub bound_ns_max: u64,
    /// Slices in which the agent took part.
    pub slices: u64,
    /// The latest begin of a slice, in ns.
    pub late_ns_max: u64,
    /// Slices of which the agent missed more than a tenth by beginning late.
    pub late_slices: u64,
    /// How the agent's generator kept pace.
    pub pace: PaceSums,
    /// How the agent was lost, if it was.
    pub lost: Option<Loss>,
}

/// An agent's part in a slice.
pub struct SliceOfMember<'a> {
    pub tally: &'a SliceTally,
    /// How late the agent began, in ns.
    pub late_ns: u64,
    /// The planned length of the slice, if it has one, in ns.
    pub length_ns: Option<u64>,
    /// Whether requests followed a schedule.
    pub is_open: bool,
}

impl Member {
    /// A member that has just joined.
    pub fn new(introduction: Introduction, clock: ClockOffset) -> Member {
        Member {
            introduction,
            bound_ns_max: clock.bound_ns,
            clock,
            slices: 0,
            late_ns_max: 0,
            late_slices: 0,
            pace: PaceSums::default(),
            lost: None,
        }
    }

    /// Whether the agent shares this machine's loopback addresses.
    pub fn is_here(&self) -> bool {
        let loopback = loopback();
        loopback.is_some() && loopback == self.introduction.loopback
    }

    /// Sets a new measurement of the clock.
    pub fn set_clock(&mut self, clock: ClockOffset) {
        self.bound_ns_max = self.bound_ns_max.max(clock.bound_ns);
        self.clock = clock;
    }

    /// Counts a slice in which the agent took part.
    pub fn note_slice(&mut self, slice: &SliceOfMember) {
        self.slices += 1;
        self.late_ns_max = self.late_ns_max.max(slice.late_ns);
        let is_late = slice
            .length_ns
            .is_some_and(|length| slice.late_ns > length / LATE);
        self.late_slices += u64::from(is_late);
        self.pace.note(slice.tally, slice.is_open);
    }

    /// The agent's entry in a record.
    pub fn record(&self, slot: usize) -> AgentRecord {
        let introduction = &self.introduction;
        AgentRecord {
            slot: u32::try_from(slot + 1).unwrap_or(u32::MAX),
            name: introduction.name.clone(),
            build: introduction.build.clone(),
            kernel: introduction.kernel.clone(),
            cpu_model: introduction.cpu_model.clone(),
            is_here: self.is_here(),
            threads: introduction.threads,
            clock_offset_ns: self.clock.offset_ns,
            clock_bound_ns: self.bound_ns_max,
            slices: self.slices,
            late_ns_max: self.late_ns_max,
            late_slices: self.late_slices,
            pace: self.pace.record(),
            lost: self.lost.as_ref().map(|loss| loss.how.clone()),
            lost_unix_ms: self.lost.as_ref().map(|loss| loss.last_seen_unix_ms),
        }
    }
}
