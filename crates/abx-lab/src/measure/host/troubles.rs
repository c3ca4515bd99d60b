//! What a machine counts of its troubles, as records say it.

use abx_evidence::record::HostCounters;
use abx_sys::strain;

/// What the machine counted of its troubles over some time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Troubles {
    /// Connections that found a full accept queue.
    pub listen_overflows: Option<u64>,
    /// Everything else.
    pub strain: HostCounters,
}

impl Troubles {
    /// What was counted between two readings.
    #[must_use]
    pub fn of(added: strain::Strain) -> Troubles {
        let strain::Strain {
            at,
            network,
            pressure,
            throttling,
        } = added;
        Troubles {
            listen_overflows: network.listen_overflows,
            strain: HostCounters {
                over_us: at.0 / 1_000,
                listen_drops: network.listen_drops,
                half_open_drops: network.half_open_drops,
                backlog_drops: network.backlog_drops,
                receive_queue_drops: network.receive_queue_drops,
                timeouts: network.timeouts,
                syn_retransmits: network.syn_retransmits,
                retransmits: network.retransmits_of_losses(),
                packets_dropped: network.packets_dropped,
                squeezes: network.squeezes,
                cpu_pressure_us: pressure.cpu_some_us,
                memory_pressure_us: pressure.memory_full_us,
                io_pressure_us: pressure.io_full_us,
                throttled: throttling.periods,
                throttled_us: throttling.time_us,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use abx_sys::Nanos;

    use super::*;

    #[test]
    fn every_trouble_keeps_its_name() {
        // Method: each counter with a number of its own.
        let mut added = strain::Strain {
            at: Nanos(5_000),
            ..strain::Strain::default()
        };
        added.network.listen_overflows = Some(1);
        added.network.listen_drops = Some(2);
        added.network.syn_retransmits = Some(3);
        added.network.retransmits = Some(9);
        added.network.loss_probes = Some(5);
        added.pressure.memory_full_us = Some(6);
        added.throttling.time_us = Some(7);
        let troubles = Troubles::of(added);
        let expected = HostCounters {
            over_us: 5,
            listen_drops: Some(2),
            syn_retransmits: Some(3),
            retransmits: Some(4),
            memory_pressure_us: Some(6),
            throttled_us: Some(7),
            ..HostCounters::default()
        };
        assert_eq!(troubles.listen_overflows, Some(1));
        assert_eq!(troubles.strain, expected);
    }
}
