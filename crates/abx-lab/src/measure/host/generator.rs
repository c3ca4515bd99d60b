//! The host that load comes from: its processors, descriptors and ports.

use abx_evidence::record::InUse;
use abx_sys::counters::MachineCounters;
use abx_sys::descriptors::DescriptorUse;
use abx_sys::{network, ports};

use crate::measure::host::processors::Processors;

/// Reads the generator's resources and their use. Its threads' own time and lateness are in each
/// slice's tally.
pub struct GeneratorHost {
    /// The processors of its threads.
    processors: Processors,
}

impl GeneratorHost {
    /// This machine, with the generator's threads on these processors.
    pub fn new(cpus: &[usize]) -> GeneratorHost {
        GeneratorHost {
            processors: Processors::new(cpus),
        }
    }

    /// Time that the hypervisor took from its processors between two readings, in ns.
    pub fn steal_ns(&self, before: &MachineCounters, after: &MachineCounters) -> Option<u64> {
        self.processors.steal_ns(before, after)
    }

    /// Descriptors of the generator's thread that has the most.
    pub fn descriptors(&self) -> Option<InUse> {
        DescriptorUse::of_own_threads().ok().map(in_use)
    }

    /// Connections in TIME_WAIT, out of the local ports of this many addresses.
    pub fn time_wait(&self, addresses: usize) -> Option<InUse> {
        let range = ports::local_port_range().ok()?;
        let count = network::time_wait().ok()?;
        Some(InUse {
            count,
            limit: Some((range.len() * addresses.max(1)) as u64),
        })
    }
}

/// A record's entry for descriptors.
pub(super) fn in_use(descriptors: DescriptorUse) -> InUse {
    InUse {
        count: descriptors.in_use,
        limit: (descriptors.limit != u64::MAX).then_some(descriptors.limit),
    }
}
