//! Where a measurement was made, for the record.

use abx_evidence::record::{Machine, MachineRole};
use abx_sys::limits::DescriptorLimit;

use crate::process::listener::is_here;
use abx_study::subject::Source;

/// Properties that this machine reports. It makes the load, and hosts the subjects that abx starts
/// or that listen at one of its addresses.
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
    let mut subjects = subjects.into_iter();
    let has_subjects = subjects.any(|source| match source {
        Source::Command(_) => true,
        Source::Address(target) => is_here(target.address),
    });
    let subjects = has_subjects.then_some(MachineRole::Subjects);
    subjects
        .into_iter()
        .chain([MachineRole::Generator])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use abx_study::launch::Launch;
    use abx_study::subject::Target;

    #[test]
    fn a_server_elsewhere_is_not_on_this_machine() {
        // Method: one that abx starts, one on loopback, and one at an unused address, alone and
        // beside one that is here.
        let at = |url| Source::Address(Target::parse(url).unwrap());
        let kept = Source::Command(Launch::new(vec!["server".to_owned()]));
        let (here, elsewhere) = (at("http://127.0.0.2:1/"), at("http://192.0.2.1:1/"));
        let both = [MachineRole::Subjects, MachineRole::Generator];
        assert_eq!(roles([&kept]), both);
        assert_eq!(roles([&here]), both);
        assert_eq!(roles([&elsewhere]), both[1..]);
        assert_eq!(roles([&elsewhere, &here]), both);
    }
}
