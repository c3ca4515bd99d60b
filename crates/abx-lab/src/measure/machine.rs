//! Where a measurement was made, for the record.

use abx_evidence::record::{Machine, MachineRole};
use abx_sys::limits::DescriptorLimit;

use crate::process::listener::is_here;
use abx_study::subject::Source;

/// The properties and roles of this machine. It generates the load, and hosts the subjects that abx
/// starts or that listen at one of its addresses.
pub fn describe<'a>(
    cpus: &[usize],
    descriptors: DescriptorLimit,
    subjects: impl IntoIterator<Item = &'a Source>,
) -> Machine {
    let machine = abx_sys::machine::Machine::read();
    Machine {
        cpu_model: machine.cpu_model,
        cpus: cpus.len(),
        cores: abx_sys::cpus::known_cores(cpus),
        memory_bytes: machine.memory_bytes,
        kernel: machine.kernel,
        is_virtual: machine.virtualised,
        clocksource: machine.clocksource,
        somaxconn: machine.somaxconn,
        local_ports: machine.ip_local_port_range,
        governor: machine.cpu_governor,
        descriptors_max: Some(descriptors.hard),
        roles: roles(subjects),
    }
}

fn roles<'a>(subjects: impl IntoIterator<Item = &'a Source>) -> Vec<MachineRole> {
    let has_subjects = subjects.into_iter().any(|source| match source {
        Source::Command(_) => true,
        Source::Address(target) => is_here(target.address),
    });
    if has_subjects {
        vec![MachineRole::Subjects, MachineRole::Generator]
    } else {
        vec![MachineRole::Generator]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use abx_study::launch::Launch;
    use abx_study::subject::Target;

    #[test]
    fn a_server_elsewhere_is_not_on_this_machine() {
        // Method: a server that abx starts, one on loopback, and one at an address that is reserved
        // for documentation, alone and together with the one on loopback.
        let at = |url| Source::Address(Target::parse(url).unwrap());
        let started = Source::Command(Launch::new(vec!["server".to_owned()]));
        let (here, elsewhere) = (at("http://127.0.0.2:1/"), at("http://192.0.2.1:1/"));
        let both = [MachineRole::Subjects, MachineRole::Generator];
        assert_eq!(roles([&started]), both);
        assert_eq!(roles([&here]), both);
        assert_eq!(roles([&elsewhere]), both[1..]);
        assert_eq!(roles([&elsewhere, &here]), both);
    }
}
