//! A machine's counters of losses and shortages: each is declared here once, by the name that the
//! reader of the kernel's files gives it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cell::{Cell, ColumnError, Row, columns, is_default};

/// Declares the counters: their struct, their sums, and the columns of a file.
macro_rules! host_counters {
    ($($(#[$meaning:meta])* $counter:ident,)+) => {
        /// The machine's losses and shortages while one subject was loaded. They are those of the
        /// whole machine, whatever the cause.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct HostCounters {
            /// The wall time over which the counters ran: the load's slices and the opening of its
            /// connections, with the readings around them.
            pub over_us: u64,
            $($(#[$meaning])* pub $counter: Option<u64>,)+
        }

        impl HostCounters {
            /// The counters over this time; `named` returns each by its name.
            #[must_use]
            pub fn of(over_us: u64, named: impl Fn(&str) -> Option<u64>) -> HostCounters {
                HostCounters { over_us, $($counter: named(stringify!($counter)),)+ }
            }

            /// The sums of two readings; a counter that one of them lacks is unknown in the sum.
            #[must_use]
            pub fn plus(self, other: HostCounters) -> HostCounters {
                let sum = |left: Option<u64>, right: Option<u64>| {
                    Some(left?.saturating_add(right?))
                };
                HostCounters {
                    over_us: self.over_us.saturating_add(other.over_us),
                    $($counter: sum(self.$counter, other.$counter),)+
                }
            }

            /// All counters known and zero.
            #[must_use]
            pub fn none() -> HostCounters {
                HostCounters::of(0, |_| Some(0))
            }
        }

        columns! {
            /// The host counters, as columns.
            HostColumns of HostCounters {
                /// The wall time over which the counters ran, as of a row.
                over_us: u64,
                $($(#[$meaning])* $counter: Option<u64>,)+
            }
        }
    };
}

host_counters! {
    /// Connection attempts dropped by a listener, full accept queues included.
    listen_drops,
    /// Connection attempts dropped because too many were half open.
    half_open_drops,
    /// Packets dropped because their socket's backlog was full.
    backlog_drops,
    /// Packets dropped because their socket's receive buffer was full.
    receive_queue_drops,
    /// TCP retransmission timers that expired.
    timeouts,
    /// First packets of a connection that were sent again.
    syn_retransmits,
    /// TCP packets that were sent again because one was lost or considered lost; without the
    /// kernel's probes that found no loss.
    retransmits,
    /// Packets dropped because a CPU's receive queue was full.
    packets_dropped,
    /// How often a CPU had packets left at the end of its turn to receive.
    squeezes,
    /// Time for which some thread was ready to run and had no CPU.
    cpu_pressure_us,
    /// Time for which nothing ran, because all threads waited for memory.
    memory_pressure_us,
    /// Time for which nothing ran, because all threads waited for a disk.
    io_pressure_us,
    /// Periods in which a control group around abx had used up its quota.
    throttled,
    /// For how long the threads of that group were kept from running.
    throttled_us,
}

impl HostCounters {
    /// Whether the number of lost packets is unknown.
    #[must_use]
    pub fn lacks_losses(&self) -> bool {
        self.retransmits.is_none() || self.timeouts.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_of_readings_is_known_only_if_every_reading_is() {
        // Method: a counter that both readings know, and one that only the first knows.
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
