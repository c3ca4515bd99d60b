//! One agent of a fleet, from the view of its controller.

use abx_evidence::SliceTally;
use abx_evidence::record::AgentRecord;
use abx_sys::machine::loopback;

use super::liveness::Loss;
use crate::clock::ClockOffset;
use crate::message::Introduction;
use crate::pace::{LATE, PaceSums};

/// One agent of a fleet.
#[derive(Debug, Clone)]
pub struct Member {
    /// Its introduction of itself.
    pub introduction: Introduction,
    pub clock: ClockOffset,
    /// The worst bound of all measurements of its clock, in ns.
    pub bound_ns_max: u64,
    /// Slices that it took part in.
    pub slices: u64,
    /// How late it began one at most, in ns.
    pub late_ns_max: u64,
    /// Slices of which it missed more than a tenth so.
    pub late_slices: u64,
    /// How its generator kept pace.
    pub pace: PaceSums,
    /// How it was lost, if it was.
    pub lost: Option<Loss>,
}

/// A slice that an agent took part in.
pub struct SliceOfMember<'a> {
    pub tally: &'a SliceTally,
    /// How late it began, in ns.
    pub late_ns: u64,
    /// How long it was to last, if that is known, in ns.
    pub length_ns: Option<u64>,
    /// Whether its requests came by a schedule.
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

    /// Whether it shares this machine's loopback addresses.
    pub fn is_here(&self) -> bool {
        let own_text = loopback();
        own_text.is_some() && own_text == self.introduction.loopback
    }

    /// Its clock was read again.
    pub fn set_clock(&mut self, clock: ClockOffset) {
        self.bound_ns_max = self.bound_ns_max.max(clock.bound_ns);
        self.clock = clock;
    }

    /// It took part in a slice.
    pub fn note_slice(&mut self, slice: &SliceOfMember) {
        self.slices += 1;
        self.late_ns_max = self.late_ns_max.max(slice.late_ns);
        let is_late = slice
            .length_ns
            .is_some_and(|length| slice.late_ns > length / LATE);
        self.late_slices += u64::from(is_late);
        self.pace.note(slice.tally, slice.is_open);
    }

    /// Its entry in a record.
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
