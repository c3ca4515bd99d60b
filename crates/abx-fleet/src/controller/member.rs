//! One agent of a fleet, as its controller knows it.

use abx_evidence::record::AgentRecord;
use abx_sys::machine::loopback;

use crate::clock::ClockOffset;
use crate::message::Introduction;

/// One agent of a fleet.
#[derive(Debug, Clone)]
pub struct Member {
    /// What it said of itself.
    pub introduction: Introduction,
    /// What its clock says.
    pub clock: ClockOffset,
    /// The worst bound of all measurements of its clock, in ns.
    pub bound_ns_max: u64,
    /// Slices that it took part in.
    pub slices: u64,
    /// How late it began one at most, in ns.
    pub late_ns_max: u64,
    /// Slices of which it missed more than a tenth so.
    pub late_slices: u64,
    /// How it was lost, if it was.
    pub lost: Option<String>,
}

/// Whoever misses more of a slice was not there.
const LATE: u64 = 10;

impl Member {
    /// One that has just joined.
    pub fn new(introduction: Introduction, clock: ClockOffset) -> Member {
        Member {
            introduction,
            bound_ns_max: clock.bound_ns,
            clock,
            slices: 0,
            late_ns_max: 0,
            late_slices: 0,
            lost: None,
        }
    }

    /// Whether it shares this machine's loopback addresses.
    pub fn is_here(&self) -> bool {
        let own = loopback();
        own.is_some() && own == self.introduction.loopback
    }

    /// Its clock was read again.
    pub fn set_clock(&mut self, clock: ClockOffset) {
        self.bound_ns_max = self.bound_ns_max.max(clock.bound_ns);
        self.clock = clock;
    }

    /// It took part in a slice of this length, if that is known, and began so late.
    pub fn note_slice(&mut self, late_ns: u64, length_ns: Option<u64>) {
        self.slices += 1;
        self.late_ns_max = self.late_ns_max.max(late_ns);
        let is_late = length_ns.is_some_and(|length| late_ns > length / LATE);
        self.late_slices += u64::from(is_late);
    }

    /// What a record says of it.
    pub fn record(&self, slot: usize) -> AgentRecord {
        let one = &self.introduction;
        AgentRecord {
            slot: u32::try_from(slot + 1).unwrap_or(u32::MAX),
            name: one.name.clone(),
            build: one.build.clone(),
            kernel: one.kernel.clone(),
            cpu_model: one.cpu_model.clone(),
            is_here: self.is_here(),
            threads: one.threads,
            clock_offset_ns: self.clock.offset_ns,
            clock_bound_ns: self.bound_ns_max,
            slices: self.slices,
            late_ns_max: self.late_ns_max,
            late_slices: self.late_slices,
            lost: self.lost.clone(),
        }
    }
}
