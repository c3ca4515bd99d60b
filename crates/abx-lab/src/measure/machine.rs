//! Where a measurement was made, for the record.

use abx_evidence::record::Machine;
use abx_sys::limits::DescriptorLimit;

/// What this machine says of itself.
#[must_use]
pub fn describe(cpus: usize, descriptors: DescriptorLimit) -> Machine {
    let machine = abx_sys::machine::Machine::read();
    Machine {
        cpu_model: machine.cpu_model,
        cpus,
        memory_bytes: machine.memory_bytes,
        kernel: machine.kernel,
        is_virtual: machine.virtualised,
        clocksource: machine.clocksource,
        somaxconn: machine.somaxconn,
        local_ports: machine.ip_local_port_range,
        governor: machine.cpu_governor,
        descriptors_max: Some(descriptors.hard),
    }
}
