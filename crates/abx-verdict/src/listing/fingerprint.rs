//! The properties of a machine on which throughput depends.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use abx_evidence::record::{Machine, Wait};

/// The largest relative difference of memory sizes of the same machine: the kernel's own share
/// of memory differs slightly from start to start.
const MEMORY_APART: f64 = 0.01;

/// The properties of a machine on which throughput depends, as far as they can be read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Fingerprint {
    /// The CPU's name.
    pub cpu_model: Option<String>,
    /// CPUs that abx was allowed to use.
    pub cpus: usize,
    /// Main memory.
    pub memory_bytes: Option<u64>,
    /// The kernel's release, such as `6.18`: its first two numbers.
    pub kernel: Option<String>,
    /// Whether it is a virtual machine.
    pub is_virtual: Option<bool>,
    /// Worker threads of the generator.
    pub threads: usize,
    /// CPUs of the subjects.
    pub subject_cpus: Vec<usize>,
    /// CPUs of the generator.
    pub generator_cpus: Vec<usize>,
    /// How the generator waited for responses; asleep if the record does not have it.
    pub wait: Wait,
}

impl Fingerprint {
    /// The fingerprint of a machine on which so many worker threads made the load.
    #[must_use]
    pub fn of_machine(machine: &Machine, threads: usize) -> Fingerprint {
        Fingerprint {
            cpu_model: machine.cpu_model.clone(),
            cpus: machine.cpus,
            memory_bytes: machine.memory_bytes,
            kernel: machine.kernel.as_deref().map(major_and_minor),
            is_virtual: machine.is_virtual,
            threads,
            subject_cpus: Vec::new(),
            generator_cpus: Vec::new(),
            wait: Wait::Asleep,
        }
    }

    /// Whether it is of the same machine, however threads and CPUs were divided.
    #[must_use]
    pub fn is_same_machine(&self, other: &Fingerprint) -> bool {
        is_same_memory(self.memory_bytes, other.memory_bytes)
            && self.cpu_model == other.cpu_model
            && self.cpus == other.cpus
            && self.kernel == other.kernel
            && self.is_virtual == other.is_virtual
    }
}

/// Whether two readings of a machine's memory are about the same.
#[must_use]
pub fn is_same_memory(bytes: Option<u64>, other: Option<u64>) -> bool {
    match (bytes, other) {
        (Some(bytes), Some(other)) => {
            bytes.abs_diff(other) as f64 <= MEMORY_APART * bytes.max(other) as f64
        }
        (bytes, other) => bytes == other,
    }
}

/// `6.18` of `6.18.5-amd64`.
fn major_and_minor(release: &str) -> String {
    let mut parts = release.split('.');
    let major = parts.next().unwrap_or_default();
    let rest = parts.next().unwrap_or_default();
    let minor: String = rest.chars().take_while(char::is_ascii_digit).collect();
    format!("{major}.{minor}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Machine {
        Machine {
            cpu_model: Some("A".to_owned()),
            cpus: 2,
            memory_bytes: Some(8_000_000_000),
            kernel: Some("6.18.5-amd64".to_owned()),
            is_virtual: Some(true),
            ..Machine::default()
        }
    }

    #[test]
    fn only_properties_that_change_throughput_make_another_machine() {
        // Method: each property changed alone, and changes without effect: a patch of the
        // kernel, half a percent of memory, and another governor.
        let before = Fingerprint::of_machine(&machine(), 1);
        let is_same = |change: fn(&mut Machine)| {
            let mut changed = machine();
            change(&mut changed);
            before.is_same_machine(&Fingerprint::of_machine(&changed, 2))
        };
        assert!(is_same(|_| ()));
        assert!(is_same(|machine| {
            machine.kernel = Some("6.18.9-cloud".to_owned());
            machine.memory_bytes = Some(8_040_000_000);
            machine.governor = Some("performance".to_owned());
        }));
        assert!(!is_same(|machine| machine.cpu_model = None));
        assert!(!is_same(|machine| machine.cpus = 4));
        assert!(!is_same(
            |machine| machine.memory_bytes = Some(9_000_000_000)
        ));
        assert!(!is_same(|machine| machine.memory_bytes = None));
        assert!(!is_same(|machine| machine.kernel = Some("6.1.0".to_owned())));
        assert!(!is_same(|machine| machine.is_virtual = Some(false)));
    }
}
