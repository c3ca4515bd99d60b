//! What the lab reads of the machine and of subjects beside the slices' own
//! figures. Each part that could not be read is absent, never zero.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::measure::held::Held;
use crate::measure::opening::ConnectionOpening;
use crate::record::SliceRecord;

/// What was read for one subject over one load of a block.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SubjectReadings {
    /// The warm-up: recorded, not counted.
    pub warm_up: Option<SliceRecord>,
    /// Processor time of the subject's busiest thread over its own slices' load.
    pub busiest_thread_ns: Option<u64>,
    /// Connections that the kernel turned away because a listen queue was full,
    /// on the whole machine while this subject was loaded.
    pub listen_overflows: Option<u64>,
    /// Those that the subject's own listeners did not take, from the opening of the load's
    /// connections to its end.
    pub own_listen_drops: Option<u64>,
    /// Connections that could not be opened before the load.
    pub not_connected: u64,
    /// How the opening of the load's connections went; `None` where it was not noted.
    pub opening: Option<ConnectionOpening>,
    /// What else the machine counted while this subject was connected and loaded.
    pub strain: Option<HostCounters>,
    /// Memory of the subject's processes after the load, a page that n processes
    /// share counted as 1/n for each.
    pub pss_bytes: Option<u64>,
    /// The part of it that belongs to no file.
    pub pss_anon_bytes: Option<u64>,
    /// Descriptors of the one of its processes that was nearest to its limit, at
    /// the end of the load, when its connections were still there.
    pub descriptors: Option<InUse>,
    /// The same of the generator's threads.
    pub generator_descriptors: Option<InUse>,
    /// Connections in TIME_WAIT after a slice, the most that was seen, beside the
    /// ports that the load's own addresses have for one destination.
    pub time_wait: Option<InUse>,
    /// What came of holding connections that say nothing, where the load is that.
    pub held: Option<Held>,
    /// Pages of the subject's files that were in memory although they had been
    /// dropped before a slice, the most that was seen, beside all of their pages.
    /// `None` where they were not dropped, or could not be counted.
    pub resident_pages: Option<InUse>,
}

/// What the machine counted of its own troubles while one subject was loaded:
/// the whole machine's, whoever caused them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HostCounters {
    /// The wall time over which all of this was counted: the load's slices and
    /// the opening of its connections, with the readings around them.
    pub over_us: u64,
    /// Connection attempts dropped by a listener, full accept queues included.
    pub listen_drops: Option<u64>,
    /// Connection attempts dropped because too many were half open.
    pub half_open_drops: Option<u64>,
    /// Packets dropped because those of their socket that wait were too many.
    pub backlog_drops: Option<u64>,
    /// Packets dropped because their socket's receive buffer was full.
    pub receive_queue_drops: Option<u64>,
    /// TCP's retransmission timers that ran out.
    pub timeouts: Option<u64>,
    /// First packets of a connection that were sent again.
    pub syn_retransmits: Option<u64>,
    /// Packets of TCP that were sent again because one was lost or taken for lost; not the
    /// kernel's probes that found nothing amiss.
    pub retransmits: Option<u64>,
    /// Packets dropped because a processor's queue of received ones was full.
    pub packets_dropped: Option<u64>,
    /// How often a processor had packets left when its turn to receive was over.
    pub squeezes: Option<u64>,
    /// Time in which some thread was ready to run and had no processor.
    pub cpu_pressure_us: Option<u64>,
    /// Time in which nothing ran, since everything waited for memory.
    pub memory_pressure_us: Option<u64>,
    /// Time in which nothing ran, since everything waited for a disk.
    pub io_pressure_us: Option<u64>,
    /// Periods in which a control group around abx had used up what it may.
    pub throttled: Option<u64>,
    /// For how long its threads were kept from running.
    pub throttled_us: Option<u64>,
}

impl HostCounters {
    /// Both together; what one of them lacks is not known of the sum.
    #[must_use]
    pub fn plus(self, other: HostCounters) -> HostCounters {
        let sum = |one: Option<u64>, other: Option<u64>| Some(one?.saturating_add(other?));
        HostCounters {
            over_us: self.over_us.saturating_add(other.over_us),
            listen_drops: sum(self.listen_drops, other.listen_drops),
            half_open_drops: sum(self.half_open_drops, other.half_open_drops),
            backlog_drops: sum(self.backlog_drops, other.backlog_drops),
            receive_queue_drops: sum(self.receive_queue_drops, other.receive_queue_drops),
            timeouts: sum(self.timeouts, other.timeouts),
            syn_retransmits: sum(self.syn_retransmits, other.syn_retransmits),
            retransmits: sum(self.retransmits, other.retransmits),
            packets_dropped: sum(self.packets_dropped, other.packets_dropped),
            squeezes: sum(self.squeezes, other.squeezes),
            cpu_pressure_us: sum(self.cpu_pressure_us, other.cpu_pressure_us),
            memory_pressure_us: sum(self.memory_pressure_us, other.memory_pressure_us),
            io_pressure_us: sum(self.io_pressure_us, other.io_pressure_us),
            throttled: sum(self.throttled, other.throttled),
            throttled_us: sum(self.throttled_us, other.throttled_us),
        }
    }

    /// Nothing happened, and all of it is known.
    #[must_use]
    pub fn none() -> HostCounters {
        let zero = Some(0);
        HostCounters {
            over_us: 0,
            listen_drops: zero,
            half_open_drops: zero,
            backlog_drops: zero,
            receive_queue_drops: zero,
            timeouts: zero,
            syn_retransmits: zero,
            retransmits: zero,
            packets_dropped: zero,
            squeezes: zero,
            cpu_pressure_us: zero,
            memory_pressure_us: zero,
            io_pressure_us: zero,
            throttled: zero,
            throttled_us: zero,
        }
    }
}

/// How much of something that is limited was in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InUse {
    /// What was in use.
    pub count: u64,
    /// What there is; `None` where nothing limits it.
    pub limit: Option<u64>,
}

impl InUse {
    /// Its share of the limit; `None` without one.
    #[must_use]
    pub fn share(self) -> Option<f64> {
        let limit = self.limit.filter(|limit| *limit > 0)?;
        Some(self.count as f64 / limit as f64)
    }

    /// The one of two that is nearer to its limit.
    #[must_use]
    pub fn nearer(self, other: InUse) -> InUse {
        match self.share() >= other.share() {
            true => self,
            false => other,
        }
    }
}

/// How fast one processor was before and after a block, by work that is always
/// the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Canary {
    /// The processor.
    pub cpu: usize,
    /// Processor time of the work before the loads; `None` when it was not done.
    pub before_ns: Option<u64>,
    /// The same after them.
    pub after_ns: Option<u64>,
    /// How often the processor was slowed down for its heat in between; `None`
    /// where that is not counted.
    pub heat_throttles: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_of_readings_is_known_only_when_every_reading_is() {
        // Method: one counter known of both, one of the first only.
        let first = HostCounters {
            timeouts: Some(2),
            retransmits: Some(3),
            ..HostCounters::none()
        };
        let second = HostCounters {
            timeouts: Some(5),
            retransmits: None,
            ..HostCounters::none()
        };
        let sum = first.plus(second);
        assert_eq!((sum.timeouts, sum.retransmits), (Some(7), None));
        assert_eq!(first.plus(HostCounters::none()), first);
    }

    #[test]
    fn what_has_no_limit_is_never_near_it() {
        // Method: a full one beside one without a limit, both ways.
        let full = InUse {
            count: 10,
            limit: Some(10),
        };
        let free = InUse {
            count: 1_000,
            limit: None,
        };
        assert_eq!((full.share(), free.share()), (Some(1.0), None));
        assert_eq!(full.nearer(free), full);
        assert_eq!(free.nearer(full), full);
    }
}
