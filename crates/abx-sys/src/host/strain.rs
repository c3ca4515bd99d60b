//! Everything that the machine counts of its own troubles, read at once and
//! cheaply: the files stay open. Start at [`StrainGauge`].

use crate::Nanos;
use crate::host::pressure::{PressureCounters, PressureFiles};
use crate::host::throttling::{ThrottlingCounters, ThrottlingFiles};
use crate::net::network::{NetworkCounters, NetworkFiles};

/// What was counted until one moment, or between two.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Strain {
    /// When it was counted, or for how long.
    pub at: Nanos,
    /// Of TCP and of packets within the machine.
    pub network: NetworkCounters,
    /// Of want of CPUs, memory and disks.
    pub pressure: PressureCounters,
    /// Of limits that control groups set.
    pub throttling: ThrottlingCounters,
}

impl Strain {
    /// What was added since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Strain) -> Strain {
        Strain {
            at: self.at.since(earlier.at),
            network: self.network.since(earlier.network),
            pressure: self.pressure.since(earlier.pressure),
            throttling: self.throttling.since(earlier.throttling),
        }
    }

    /// The counter of this name, as records call it; `None` when it was not read.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<u64> {
        let network = self.network.without_vain_probes().named(name);
        network
            .or_else(|| self.pressure.named(name))
            .or_else(|| self.throttling.named(name))
    }
}

/// Reads [`Strain`] again and again.
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
    /// Opens every file; what is not there is `None` in each reading.
    #[must_use]
    pub fn open() -> StrainGauge {
        StrainGauge {
            network: NetworkFiles::open(),
            pressure: PressureFiles::open(),
            throttling: ThrottlingFiles::open(),
        }
    }

    /// What was counted until now.
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
    fn a_later_reading_has_lost_nothing() {
        // Method: two readings of the real machine; what the first had, the second has.
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
