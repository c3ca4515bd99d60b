//! The machine, as far as it explains a measurement.
//!
//! The host's name is left out on purpose: records are passed on.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::kernel_files::read_lossy;
use crate::net::ports;

/// The machine on which a record was made; `None` is "could not be read".
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The name of the CPU.
    pub cpu_model: Option<String>,
    /// How many CPUs are online.
    pub cpus: Option<u32>,
    pub memory_bytes: Option<u64>,
    pub kernel: Option<String>,
    /// Whether the CPU reports that it is a virtual machine's (x86 only).
    pub virtualised: Option<bool>,
    /// The kernel's clock source; `tsc` is fast, `hpet` and `acpi_pm` are slow.
    pub clocksource: Option<String>,
    /// The longest accept queue that a server can request.
    pub somaxconn: Option<u32>,
    /// How many connections of a listener may be half open.
    pub tcp_max_syn_backlog: Option<u32>,
    /// The ports that outgoing connections are given, both ends included.
    pub ip_local_port_range: Option<(u16, u16)>,
    /// The governor of CPU 0's frequency.
    pub cpu_governor: Option<String>,
}

impl Machine {
    /// Reads /proc and /sys.
    #[must_use]
    pub fn read() -> Machine {
        let cpu_info = read_lossy("/proc/cpuinfo").unwrap_or_default();
        let memory = read_lossy("/proc/meminfo").unwrap_or_default();
        Machine {
            cpu_model: value_of(&cpu_info, "model name").map(str::to_owned),
            cpus: count_of(&cpu_info, "processor"),
            memory_bytes: memory_bytes(&memory),
            kernel: word("/proc/sys/kernel/osrelease"),
            virtualised: virtualised(&cpu_info),
            clocksource: word("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            somaxconn: number("/proc/sys/net/core/somaxconn"),
            tcp_max_syn_backlog: number("/proc/sys/net/ipv4/tcp_max_syn_backlog"),
            ip_local_port_range: ports::local_port_range()
                .ok()
                .map(RangeInclusive::into_inner),
            cpu_governor: word("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        }
    }
}

/// An id that processes with the same loopback addresses share: a boot of a kernel and one of its
/// network namespaces. `None` if it cannot be read.
#[must_use]
pub fn loopback() -> Option<String> {
    let boot = word("/proc/sys/kernel/random/boot_id")?;
    let network = std::fs::read_link("/proc/self/ns/net").ok()?;
    Some(format!("{boot} {}", network.display()))
}

/// The first `name : value` of a text in which names may be followed by tabs.
pub(crate) fn value_of<'text>(text: &'text str, name: &str) -> Option<&'text str> {
    values_of(text, name).next()
}

fn values_of<'text>(text: &'text str, name: &str) -> impl Iterator<Item = &'text str> {
    text.lines().filter_map(move |line| {
        let (key, value) = line.split_once(':')?;
        (key.trim_end() == name).then_some(value.trim())
    })
}

fn count_of(text: &str, name: &str) -> Option<u32> {
    let count = u32::try_from(values_of(text, name).count()).ok()?;
    (count > 0).then_some(count)
}

fn memory_bytes(text: &str) -> Option<u64> {
    let kibibytes = value_of(text, "MemTotal")?.strip_suffix("kB")?.trim_end();
    kibibytes.parse::<u64>().ok()?.checked_mul(1024)
}

fn virtualised(text: &str) -> Option<bool> {
    let flags = value_of(text, "flags")?;
    Some(
        flags
            .split_ascii_whitespace()
            .any(|flag| flag == "hypervisor"),
    )
}

pub(crate) fn word(path: &str) -> Option<String> {
    let text = read_lossy(path).ok()?;
    let word = text.trim();
    (!word.is_empty()).then(|| word.to_owned())
}

fn number(path: &str) -> Option<u32> {
    word(path)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CPU_INFO: &str = "processor\t: 0\nmodel name\t: A (R) 9: fast\nflags\t\t: fpu hypervisor\n\n\
        processor\t: 1\nmodel name\t: B\nflags\t\t: fpu\n";

    #[test]
    fn values_are_found_whatever_surrounds_them() {
        // Method: a value with a colon in it, and flags that only contain the word.
        assert_eq!(value_of(CPU_INFO, "model name"), Some("A (R) 9: fast"));
        assert_eq!(count_of(CPU_INFO, "processor"), Some(2));
        assert_eq!(virtualised(CPU_INFO), Some(true));
        assert_eq!(virtualised("flags : nohypervisor"), Some(false));
        assert_eq!(virtualised("Features : fp"), None);
        assert_eq!(memory_bytes("MemTotal:       2048 kB\n"), Some(2_097_152));
        assert_eq!(memory_bytes("MemTotal: 2048 MB\n"), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in any::<String>()) {
            // Method: any text at all, alone and behind a known name.
            let _ = count_of(&text, "processor");
            let _ = virtualised(&format!("flags: {text}"));
            let _ = memory_bytes(&format!("MemTotal: {text} kB"));
        }
    }

    #[test]
    fn this_machine_is_understood() {
        // Method: what every Linux has must be there.
        let machine = Machine::read();
        assert!(machine.cpus.is_some());
        assert!(machine.memory_bytes.is_some());
        assert!(machine.kernel.is_some());
        assert!(machine.ip_local_port_range.is_some());
    }
}
