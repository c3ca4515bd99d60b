//! The machine's counters of losses and shortages, read at once and
//! cheaply: the files stay open. Start at [`StrainGauge`].

use crate::Nanos;
use crate::host::pressure::{PressureCounters, PressureFiles};
use crate::host::throttling::{ThrottlingCounters, ThrottlingFiles};
use crate::net::network::{NetworkCounters, NetworkFiles};

/// The counters at one moment, or their increase between two.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Strain {
    /// When the counters were read, or the time between the two readings.
    pub at: Nanos,
    /// Counters of TCP and of packets within the machine.
    pub network: NetworkCounters,
    /// Counters of waits for CPUs, memory and disks.
    pub pressure: PressureCounters,
    /// Counters of the limits of control groups.
    pub throttling: ThrottlingCounters,
}

impl Strain {
    /// The increase since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Strain) -> Strain {
        Strain {
            at: self.at.since(earlier.at),
            network: self.network.since(earlier.network),
            pressure: self.pressure.since(earlier.pressure),
            throttling: self.throttling.since(earlier.throttling),
        }
    }

    /// The counter with this name in records; `None` if it was not read.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<u64> {
        let network = self.network.without_vain_probes().named(name);
        network
            .or_else(|| self.pressure.named(name))
            .or_else(|| self.throttling.named(name))
    }
}

/// Reads [`Strain`] repeatedly.
///
/// It sees the network and the control groups that the calling process had when
/// it was opened.
#[derive(Debug)]
pub struct StrainGauge {
    network: NetworkFiles,
    pressure: PressureFiles,
    throttling: ThrottlingFiles,
}

impl StrainGauge {
    /// Opens every file; the counters of a missing file are `None` in each reading.
    #[must_use]
    pub fn open() -> StrainGauge {
        StrainGauge {
            network: NetworkFiles::open(),
            pressure: PressureFiles::open(),
            throttling: ThrottlingFiles::open(),
        }
    }

    /// The counters now.
    pub fn read(&mut self) -> Strain {
        Strain {
            at: Nanos::now(),
            network: self.network.read(),
            pressure: self.pressure.read(),
            throttling: self.throttling.read(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_reading_has_every_counter_of_an_earlier_one() {
        // Method: two readings of the real machine; the second has every counter of the first.
        let mut gauge = StrainGauge::open();
        let (first, second) = (gauge.read(), gauge.read());
        let added = second.since(first);
        assert!(added.network.listen_drops.is_some());
        assert!(second.network.retransmits >= first.network.retransmits);
        assert_eq!(
            added.pressure.cpu_pressure_us.is_some(),
            first.pressure.cpu_pressure_us.is_some()
        );
    }
}
