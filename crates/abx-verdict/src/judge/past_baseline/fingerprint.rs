//! What must be the same of a machine so that figures of two days may be compared.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use abx_evidence::record::{Machine, Measured, Settings, Wait};

/// The kernel's own share of memory differs a little from start to start, so
/// sizes closer than this are the same machine's.
const MEMORY_APART: f64 = 0.01;

/// What a throughput owes to its machine, as far as it can be read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Fingerprint {
    /// The processor's name.
    pub cpu_model: Option<String>,
    /// Processors that abx was allowed to use.
    pub cpus: usize,
    /// Main memory.
    pub memory_bytes: Option<u64>,
    /// The kernel's release, such as `6.18`: its first two numbers.
    pub kernel: Option<String>,
    /// Whether it is a virtual machine.
    pub is_virtual: Option<bool>,
    /// Worker threads of the generator.
    pub threads: usize,
    /// Processors of the subjects.
    pub subject_cpus: Vec<usize>,
    /// Processors of the generator.
    pub generator_cpus: Vec<usize>,
    /// How the generator waited for responses; asleep where it is not said.
    pub wait: Wait,
}

/// A key that is not the same on both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Its name, as in the record.
    pub key: String,
    pub then: String,
    pub now: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let Difference { key, then, now } = self;
        write!(out, "`{key}` was {then} and is {now}")
    }
}

impl Fingerprint {
    /// That of a study.
    #[must_use]
    pub fn of(record: &Measured) -> Fingerprint {
        let Settings {
            threads,
            subject_cpus,
            generator_cpus,
            waiting,
            ..
        } = &record.settings;
        Fingerprint {
            subject_cpus: subject_cpus.clone(),
            generator_cpus: generator_cpus.clone(),
            wait: waiting.wait,
            ..Fingerprint::of_machine(&record.machine, *threads)
        }
    }

    /// That of a machine on which so many worker threads made the load.
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

    /// Whether it is of the same machine, however threads and processors were divided there.
    #[must_use]
    pub fn is_same_machine(&self, other: &Fingerprint) -> bool {
        let bare = |fingerprint: &Fingerprint| Fingerprint {
            threads: 0,
            subject_cpus: Vec::new(),
            generator_cpus: Vec::new(),
            wait: Wait::default(),
            ..fingerprint.clone()
        };
        bare(self).differences(&bare(other)).is_empty()
    }

    /// What is not the same now, in the order of the record's keys.
    #[must_use]
    pub fn differences(&self, now: &Fingerprint) -> Vec<Difference> {
        let is_same_memory = match (self.memory_bytes, now.memory_bytes) {
            (Some(then), Some(now)) => {
                let apart = then.abs_diff(now) as f64;
                apart <= MEMORY_APART * then.max(now) as f64
            }
            (then, now) => then == now,
        };
        let looks = [
            (
                "cpu_model",
                texts(self, now, |fingerprint| text(&fingerprint.cpu_model)),
            ),
            (
                "cpus",
                texts(self, now, |fingerprint| fingerprint.cpus.to_string()),
            ),
            (
                "memory_bytes",
                texts(self, now, |fingerprint| text(&fingerprint.memory_bytes)),
            ),
            (
                "kernel",
                texts(self, now, |fingerprint| text(&fingerprint.kernel)),
            ),
            (
                "is_virtual",
                texts(self, now, |fingerprint| text(&fingerprint.is_virtual)),
            ),
            (
                "threads",
                texts(self, now, |fingerprint| fingerprint.threads.to_string()),
            ),
            (
                "subject_cpus",
                texts(self, now, |fingerprint| {
                    format!("{:?}", fingerprint.subject_cpus)
                }),
            ),
            (
                "generator_cpus",
                texts(self, now, |fingerprint| {
                    format!("{:?}", fingerprint.generator_cpus)
                }),
            ),
            (
                "wait",
                texts(self, now, |fingerprint| fingerprint.wait.name().to_owned()),
            ),
        ];
        let differing = looks.into_iter().filter(|(key, [then, now])| {
            then != now && !(*key == "memory_bytes" && is_same_memory)
        });
        differing
            .map(|(key, [then, now])| Difference {
                key: key.to_owned(),
                then,
                now,
            })
            .collect()
    }
}

/// The same of both, as text.
fn texts(
    then: &Fingerprint,
    now: &Fingerprint,
    text: impl Fn(&Fingerprint) -> String,
) -> [String; 2] {
    [text(then), text(now)]
}

fn text(value: &Option<impl ToString>) -> String {
    let known = value.as_ref().map(ToString::to_string);
    known.unwrap_or_else(|| "not known".to_owned())
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
    fn only_what_changes_a_throughput_is_looked_at() {
        // Method: each part changed alone, and what may change: a patch of the
        // kernel, half a percent of memory, and everything else of a machine.
        let then = Fingerprint::of_machine(&machine(), 1);
        let differing = |change: fn(&mut Machine)| {
            let mut other = machine();
            change(&mut other);
            let differences = then.differences(&Fingerprint::of_machine(&other, 1));
            differences
                .into_iter()
                .map(|difference| difference.key)
                .collect::<Vec<_>>()
        };
        assert_eq!(differing(|_| ()), [""; 0]);
        let harmless = |this_machine: &mut Machine| {
            this_machine.kernel = Some("6.18.9-cloud".to_owned());
            this_machine.memory_bytes = Some(8_040_000_000);
            this_machine.governor = Some("performance".to_owned());
        };
        assert_eq!(differing(harmless), [""; 0]);
        assert_eq!(differing(|machine| machine.cpu_model = None), ["cpu_model"]);
        assert_eq!(differing(|machine| machine.cpus = 4), ["cpus"]);
        let more = |this_machine: &mut Machine| this_machine.memory_bytes = Some(9_000_000_000);
        assert_eq!(differing(more), ["memory_bytes"]);
        assert_eq!(
            differing(|machine| machine.memory_bytes = None),
            ["memory_bytes"]
        );
        let older = |this_machine: &mut Machine| this_machine.kernel = Some("6.1.0".to_owned());
        assert_eq!(differing(older), ["kernel"]);
        assert_eq!(
            differing(|machine| machine.is_virtual = Some(false)),
            ["is_virtual"]
        );
        let threads = then.differences(&Fingerprint::of_machine(&machine(), 2));
        assert_eq!(threads[0].to_string(), "`threads` was 1 and is 2");
    }

    #[test]
    fn a_machine_is_the_same_however_it_was_divided() {
        // Method: other threads, other processors for either side, and another way to wait;
        // then another processor.
        let whole = Fingerprint::of_machine(&machine(), 1);
        let divided = Fingerprint {
            threads: 2,
            subject_cpus: vec![0],
            generator_cpus: vec![1],
            wait: Wait::Awake,
            ..whole.clone()
        };
        assert_eq!(whole.differences(&divided).len(), 4);
        assert!(whole.is_same_machine(&divided));
        let other = Fingerprint {
            cpu_model: Some("B".to_owned()),
            ..whole.clone()
        };
        assert!(!whole.is_same_machine(&other));
    }

    #[test]
    fn a_kernel_is_its_first_two_numbers() {
        // Method: releases as systems print them, and text that is none.
        let table = [
            ("6.18.5", "6.18"),
            ("6.1.0-40-amd64", "6.1"),
            ("5.15-rc1", "5.15"),
            ("7", "7."),
            ("", "."),
        ];
        for (release, expected) in table {
            assert_eq!(major_and_minor(release), expected);
        }
    }
}
