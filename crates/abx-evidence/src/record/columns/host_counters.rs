//! What a machine counts of its own troubles: each counter is declared here once, by the
//! name that the kernel's reader has for it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cell::{Cell, ColumnError, Row, columns, is_default};

/// Declares the counters: their struct, their sums, and the columns of a file.
macro_rules! host_counters {
    ($($(#[$meaning:meta])* $counter:ident,)+) => {
        /// What the machine counted of its own troubles while one subject was loaded:
        /// the whole machine's, whoever caused them.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct HostCounters {
            /// The wall time over which all of this was counted: the load's slices and
            /// the opening of its connections, with the readings around them.
            pub over_us: u64,
            $($(#[$meaning])* pub $counter: Option<u64>,)+
        }

        impl HostCounters {
            /// What was counted over this time, each counter by its name.
            #[must_use]
            pub fn of(over_us: u64, named: impl Fn(&str) -> Option<u64>) -> HostCounters {
                HostCounters { over_us, $($counter: named(stringify!($counter)),)+ }
            }

            /// Both together; what one of them lacks is not known of the sum.
            #[must_use]
            pub fn plus(self, other: HostCounters) -> HostCounters {
                let sum = |one: Option<u64>, other: Option<u64>| Some(one?.saturating_add(other?));
                HostCounters {
                    over_us: self.over_us.saturating_add(other.over_us),
                    $($counter: sum(self.$counter, other.$counter),)+
                }
            }

            /// Nothing happened, and all of it is known.
            #[must_use]
            pub fn none() -> HostCounters {
                HostCounters::of(0, |_| Some(0))
            }
        }

        columns! {
            /// The host counters, as columns.
            HostColumns of HostCounters {
                over_us: u64,
                $($counter: Option<u64>,)+
            }
        }
    };
}

host_counters! {
    /// Connection attempts dropped by a listener, full accept queues included.
    listen_drops,
    /// Connection attempts dropped because too many were half open.
    half_open_drops,
    /// Packets dropped because those of their socket that wait were too many.
    backlog_drops,
    /// Packets dropped because their socket's receive buffer was full.
    receive_queue_drops,
    /// TCP's retransmission timers that ran out.
    timeouts,
    /// First packets of a connection that were sent again.
    syn_retransmits,
    /// Packets of TCP that were sent again because one was lost or taken for lost; not the
    /// kernel's probes that found nothing amiss.
    retransmits,
    /// Packets dropped because a processor's queue of received ones was full.
    packets_dropped,
    /// How often a processor had packets left when its turn to receive was over.
    squeezes,
    /// Time in which some thread was ready to run and had no processor.
    cpu_pressure_us,
    /// Time in which nothing ran, since everything waited for memory.
    memory_pressure_us,
    /// Time in which nothing ran, since everything waited for a disk.
    io_pressure_us,
    /// Periods in which a control group around abx had used up what it may.
    throttled,
    /// For how long its threads were kept from running.
    throttled_us,
}

impl HostCounters {
    /// Whether it could not be read how many packets were lost.
    #[must_use]
    pub fn lacks_losses(&self) -> bool {
        self.retransmits.is_none() || self.timeouts.is_none()
    }
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
}
