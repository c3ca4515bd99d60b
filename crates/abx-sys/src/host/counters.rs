//! Counters that the kernel keeps: CPU time of the machine, forks, and how long a
//! thread ran and waited to run.
//!
//! All of them only grow, so a value has a meaning only relative to an earlier one.

use std::collections::BTreeMap;
use std::io;

use crate::Nanos;
use crate::kernel_files::read_lossy;

/// How many clock ticks make a second (100 nearly everywhere).
#[must_use]
pub fn ticks_per_second() -> u64 {
    rustix::param::clock_ticks_per_second()
}

/// The use of one CPU since boot, in clock ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuTicks {
    /// Programs, guests of a virtual machine included.
    pub user: u64,
    pub nice: u64,
    /// The kernel, on behalf of programs.
    pub system: u64,
    pub idle: u64,
    /// Nothing, while a program waited for a disk.
    pub iowait: u64,
    pub irq: u64,
    /// Work put off by interrupts; most of loopback's TCP.
    pub softirq: u64,
    /// Wanted to run, but the host gave the CPU to another guest.
    pub steal: u64,
}

impl CpuTicks {
    /// The ticks since `earlier`. The kernel may take idle time back; that counts as zero.
    #[must_use]
    pub fn since(self, earlier: CpuTicks) -> CpuTicks {
        CpuTicks {
            user: self.user.saturating_sub(earlier.user),
            nice: self.nice.saturating_sub(earlier.nice),
            system: self.system.saturating_sub(earlier.system),
            idle: self.idle.saturating_sub(earlier.idle),
            iowait: self.iowait.saturating_sub(earlier.iowait),
            irq: self.irq.saturating_sub(earlier.irq),
            softirq: self.softirq.saturating_sub(earlier.softirq),
            steal: self.steal.saturating_sub(earlier.steal),
        }
    }

    /// Ticks in which this machine worked, without stolen ones.
    #[must_use]
    pub fn busy(self) -> u64 {
        [self.user, self.nice, self.system, self.irq, self.softirq]
            .into_iter()
            .fold(0, u64::saturating_add)
    }
}

/// The values that abx reads from /proc/stat.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MachineCounters {
    pub cpus: BTreeMap<usize, CpuTicks>,
    /// How many processes and threads were started since boot.
    pub forks: u64,
}

impl MachineCounters {
    /// Reads /proc/stat.
    ///
    /// # Errors
    /// The kernel's error; `InvalidData` for a text without the counters.
    pub fn read() -> io::Result<MachineCounters> {
        MachineCounters::parse(&read_lossy("/proc/stat")?)
            .ok_or_else(|| not_understood("/proc/stat"))
    }

    /// Parses the text of /proc/stat; `None` if a counter is missing.
    #[must_use]
    pub fn parse(text: &str) -> Option<MachineCounters> {
        let mut cpus = BTreeMap::new();
        let mut forks = None;
        for line in text.lines() {
            let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
            if name == "processes" {
                forks = rest.trim().parse().ok();
            } else if let Some(cpu) = name.strip_prefix("cpu").and_then(|cpu| cpu.parse().ok()) {
                cpus.insert(cpu, parse_ticks(rest)?);
            }
        }
        Some(MachineCounters {
            cpus,
            forks: forks?,
        })
    }
}

fn parse_ticks(text: &str) -> Option<CpuTicks> {
    let mut numbers = text.split_ascii_whitespace().map(str::parse::<u64>);
    let mut next = || numbers.next()?.ok();
    Some(CpuTicks {
        user: next()?,
        nice: next()?,
        system: next()?,
        idle: next()?,
        iowait: next()?,
        irq: next()?,
        softirq: next()?,
        steal: next()?,
    })
}

/// How long a thread ran and how long it was ready but had no CPU.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ThreadSchedule {
    /// Time on a CPU. The kernel brings it up to date at its clock tick only, so
    /// it may lag by some milliseconds; for the calling thread
    /// [`thread_cpu`](crate::thread_cpu) is exact.
    pub run: Nanos,
    /// Time in a run queue, exact.
    pub wait: Nanos,
}

impl ThreadSchedule {
    /// Parses the text of a schedstat file.
    #[must_use]
    pub fn parse(text: &str) -> Option<ThreadSchedule> {
        let mut numbers = text.split_ascii_whitespace().map(str::parse::<u64>);
        Some(ThreadSchedule {
            run: Nanos(numbers.next()?.ok()?),
            wait: Nanos(numbers.next()?.ok()?),
        })
    }
}

/// The scheduler's counters of the calling thread.
///
/// # Errors
/// `NotFound` on a kernel that was built without it; `InvalidData` for a text
/// that is not understood.
pub fn thread_schedstat() -> io::Result<ThreadSchedule> {
    let path = "/proc/thread-self/schedstat";
    ThreadSchedule::parse(&read_lossy(path)?).ok_or_else(|| not_understood(path))
}

fn not_understood(path: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("{path} cannot be parsed: is /proc that of a Linux kernel?"),
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const STAT: &str = "cpu  9 9 9 9 9 9 9 9 0 0\n\
        cpu0 1 2 3 4 5 6 7 8 0 0\n\
        cpu11 10 20 30 40 50 60 70 80 0 0\n\
        intr 148186 0 0\nctxt 275301\nbtime 17\nprocesses 5262\nprocs_running 1\n";

    #[test]
    fn every_cpu_is_read_and_the_sum_is_not_one_of_them() {
        // Method: a short text with two CPUs, all fields different.
        let counters = MachineCounters::parse(STAT).unwrap();
        assert_eq!(counters.forks, 5262);
        assert_eq!(counters.cpus.keys().copied().collect::<Vec<_>>(), [0, 11]);
        let added = counters.cpus[&11].since(counters.cpus[&0]);
        assert_eq!(
            (added.user, added.idle, added.softirq, added.steal),
            (9, 36, 63, 72)
        );
        assert_eq!(counters.cpus[&0].busy(), 1 + 2 + 3 + 6 + 7);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in any::<String>(), cut in 0..STAT.len()) {
            // Method: any text, real texts cut anywhere, and odd text behind known names.
            let _ = MachineCounters::parse(&text);
            let _ = MachineCounters::parse(&STAT[..cut]);
            let _ = MachineCounters::parse(&format!("cpu0 {text}\nprocesses {text}"));
            let _ = ThreadSchedule::parse(&text);
        }
    }

    #[test]
    fn this_machine_is_understood() {
        // Method: read the real files; values are the machine's, so only their presence is claimed.
        assert!(!MachineCounters::read().unwrap().cpus.is_empty());
        assert!(ticks_per_second() > 0);
        thread_schedstat().unwrap();
    }
}
