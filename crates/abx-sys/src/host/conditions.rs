//! The present conditions for programs on this machine: the memory, time
//! sources and CPUs that the kernel provides, and the waits for them.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::host::machine::{value_of, word};
use crate::host::throttling;
use crate::kernel_files::read_lossy;

/// What changes from hour to hour, and what a person may set; `None` is "could
/// not be read".
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Conditions {
    /// Memory that programs could still get without swapping.
    pub memory_available_bytes: Option<u64>,
    /// The sources of time that the kernel would accept.
    pub clocksources: Option<Vec<String>>,
    /// How the frequencies of these CPUs are chosen, each way once.
    pub governors: Option<Vec<String>>,
    /// For how long an idle CPU waits awake before it is given back to the host
    /// of a virtual machine, in ns at most; `None` if that is unknown.
    pub halt_poll_ns: Option<u64>,
    /// How many CPUs' time the control group may use.
    pub quota: Option<Quota>,
    /// How much programs waited for each resource lately.
    pub pressure: Option<Pressure>,
}

/// How many CPUs' time a control group may use before it is throttled.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quota {
    /// All CPU time.
    Unlimited,
    /// This many CPUs' time: 1.5 is one and a half.
    Cpus(f64),
}

/// The share of the last ten seconds in which some program waited: 0.1 is a tenth.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Pressure {
    pub cpu: f64,
    pub memory: f64,
    pub io: f64,
}

impl Conditions {
    /// Reads /proc and /sys; frequencies are those of these CPUs.
    #[must_use]
    pub fn read(cpus: &[usize]) -> Conditions {
        let memory = read_lossy("/proc/meminfo").unwrap_or_default();
        let sources = word("/sys/devices/system/clocksource/clocksource0/available_clocksource");
        Conditions {
            memory_available_bytes: available_bytes(&memory),
            clocksources: sources.map(|text| words(&text)),
            governors: governors(cpus),
            halt_poll_ns: halt_poll_ns(),
            quota: quota().ok(),
            pressure: pressure(),
        }
    }
}

fn halt_poll_ns() -> Option<u64> {
    let governor = word("/sys/devices/system/cpu/cpuidle/current_governor")?;
    let most = word("/sys/module/haltpoll/parameters/guest_halt_poll_ns")?;
    // The setting exists even if another governor is in use.
    (governor == "haltpoll").then(|| most.parse().ok())?
}

fn words(text: &str) -> Vec<String> {
    text.split_ascii_whitespace().map(str::to_owned).collect()
}

fn available_bytes(text: &str) -> Option<u64> {
    let kibibytes = value_of(text, "MemAvailable")?.strip_suffix("kB")?;
    kibibytes.trim_end().parse::<u64>().ok()?.checked_mul(1024)
}

fn governors(cpus: &[usize]) -> Option<Vec<String>> {
    let governors = cpus.iter().map(|cpu| {
        word(&format!(
            "/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor"
        ))
    });
    let governors: Option<BTreeSet<String>> = governors.collect();
    let governors = governors.filter(|governors| !governors.is_empty())?;
    Some(governors.into_iter().collect())
}

/// The lowest limit of this process's group and the groups above it, in both versions of control
/// groups.
///
/// # Errors
/// The kernel's error; `Unsupported` without control groups for CPUs.
fn quota() -> io::Result<Quota> {
    let groups = read_lossy("/proc/self/cgroup")?;
    let folders = throttling::folders(&groups, &read_lossy("/proc/self/mountinfo")?);
    if folders.is_empty() {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let mut least = Quota::Unlimited;
    for folder in folders {
        // Neither the root nor a group without the controller has a limit or a file.
        let text = read_lossy(folder.join("cpu.max")).or_else(|_| first_version(&folder));
        least = match (least, parse_quota(&text.unwrap_or_default())) {
            (least, None | Some(Quota::Unlimited)) => least,
            (Quota::Cpus(least), Some(Quota::Cpus(cpus))) => Quota::Cpus(least.min(cpus)),
            (Quota::Unlimited, Some(limit)) => limit,
        };
    }
    Ok(least)
}

/// The limit of a group of version 1, as version 2 states it.
fn first_version(folder: &Path) -> io::Result<String> {
    let quota = read_lossy(folder.join("cpu.cfs_quota_us"))?;
    let period = read_lossy(folder.join("cpu.cfs_period_us"))?;
    let quota = match quota.trim() {
        "-1" => "max",
        quota => quota,
    };
    Ok(format!("{quota} {}", period.trim()))
}

/// Parses the text of `cpu.max`: time in µs, or `max`, and a period.
fn parse_quota(text: &str) -> Option<Quota> {
    let (time, period) = text.trim().split_once(' ')?;
    if time == "max" {
        return Some(Quota::Unlimited);
    }
    let (time, period) = (time.parse::<u32>().ok()?, period.parse::<u32>().ok()?);
    (period > 0).then(|| Quota::Cpus(f64::from(time) / f64::from(period)))
}

fn pressure() -> Option<Pressure> {
    let waited = |what: &str| parse_pressure(&read_lossy(format!("/proc/pressure/{what}")).ok()?);
    Some(Pressure {
        cpu: waited("cpu")?,
        memory: waited("memory")?,
        io: waited("io")?,
    })
}

/// The share of the last ten seconds in which some program waited.
fn parse_pressure(text: &str) -> Option<f64> {
    let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
    let mut fields = some.split_ascii_whitespace();
    let percent = fields.find_map(|field| field.strip_prefix("avg10="))?;
    let share = percent.parse::<f64>().ok()? / 100.0;
    share.is_finite().then_some(share)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn texts_of_the_kernel_are_read() {
        // Method: a text of each kind as Linux writes it, and invalid ones.
        let some = "some avg10=12.50 avg60=1.00 avg300=0.00 total=3\nfull avg10=99.00 total=0\n";
        assert_eq!(parse_pressure(some), Some(0.125));
        assert_eq!(parse_pressure("full avg10=99.00 total=0\n"), None);
        assert_eq!(parse_quota("max 100000\n"), Some(Quota::Unlimited));
        assert_eq!(parse_quota("150000 100000\n"), Some(Quota::Cpus(1.5)));
        assert_eq!(parse_quota("1 0\n"), None);
        assert_eq!(available_bytes("MemAvailable:   2 kB\n"), Some(2_048));
        assert_eq!(available_bytes("MemFree:        2 kB\n"), None);
    }

    #[test]
    fn a_limit_of_version_1_is_read_like_one_of_version_2() {
        // Method: the files of a group with a limit of two CPUs, without one, and no files.
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        let limit = || parse_quota(&first_version(folder.path()).unwrap());
        assert!(first_version(folder.path()).is_err());
        put("cpu.cfs_period_us", "100000\n");
        put("cpu.cfs_quota_us", "200000\n");
        assert_eq!(limit(), Some(Quota::Cpus(2.0)));
        put("cpu.cfs_quota_us", "-1\n");
        assert_eq!(limit(), Some(Quota::Unlimited));
    }

    #[test]
    fn a_cpu_without_a_governor_makes_all_of_them_unknown() {
        // Method: a CPU that no machine has, and no CPUs.
        assert_eq!(governors(&[1_000_000]), None);
        assert_eq!(governors(&[]), None);
    }

    #[test]
    fn this_machine_is_understood() {
        // Method: what every Linux has must be there.
        let conditions = Conditions::read(&[0]);
        assert!(conditions.memory_available_bytes.is_some());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in any::<String>()) {
            // Method: any text at all, alone and behind a known name.
            let _ = parse_pressure(&format!("some avg10={text}"));
            let _ = parse_quota(&text);
            let _ = available_bytes(&format!("MemAvailable: {text} kB"));
        }
    }
}
