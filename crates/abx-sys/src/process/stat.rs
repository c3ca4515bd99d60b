//! A process, and its line in /proc/PID/stat.

use std::io;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags};

use super::signal::Signal;
use crate::Nanos;
use crate::kernel_files::{if_there, read_lossy};

/// One process of this machine since its boot.
///
/// The kernel gives a number again after its process has gone, so the start
/// time belongs to the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Process {
    pub pid: u32,
    /// When it started, in clock ticks since boot.
    pub start_ticks: u64,
}

impl Process {
    /// The name of its program, cut by the kernel to 15 bytes; `None` if it has ended.
    #[must_use]
    pub fn name(self) -> Option<String> {
        let name = read_lossy(format!("/proc/{}/comm", self.pid)).ok()?;
        Some(name.trim_end().to_owned())
    }

    /// The process that has this number now; `None` if there is none.
    ///
    /// # Errors
    /// The kernel's error if /proc cannot be read.
    pub fn find(pid: u32) -> io::Result<Option<Process>> {
        let stat = ProcessStat::read(pid)?;
        Ok(stat.map(|stat| stat.process(pid)))
    }

    /// Whether this very process still runs. One that has ended but was not yet
    /// reaped by its parent does not run; one that cannot be read may.
    #[must_use]
    pub fn is_alive(self) -> bool {
        match ProcessStat::read(self.pid) {
            Ok(Some(stat)) => stat.start_ticks == self.start_ticks && !stat.is_dead(),
            Ok(None) => false,
            Err(_) => true,
        }
    }

    /// Sends a signal to this very process and to no other that got its number.
    ///
    /// Returns whether it was there to be signalled.
    ///
    /// # Errors
    /// The kernel's error, above all no permission.
    pub fn signal(self, signal: Signal) -> io::Result<bool> {
        let Some(pid) = raw_pid(self.pid) else {
            return Ok(false);
        };
        // The descriptor holds on to the process; only then is its name checked.
        let held = match rustix::process::pidfd_open(pid, PidfdFlags::empty()) {
            Ok(held) => held,
            Err(Errno::SRCH) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        if !self.is_alive() {
            return Ok(false);
        }
        match rustix::process::pidfd_send_signal(&held, signal.into()) {
            Ok(()) => Ok(true),
            Err(Errno::SRCH) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

/// The values that abx reads from /proc/PID/stat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessStat {
    /// The kernel's letter: `R` runs, `S` sleeps, `Z` has ended and waits to be reaped.
    pub state: char,
    pub parent: u32,
    /// Its process group; 0 for one whose leader is outside of this PID namespace.
    pub group: u32,
    /// Its session; 0 for one whose leader is outside of this PID namespace.
    pub session: u32,
    /// Page faults of it and of the children that it has reaped, with and without the disk.
    pub page_faults: u64,
    /// Time in user mode, in clock ticks; [`crate::process::process_cpu`] is finer.
    pub user_ticks: u64,
    /// Time in the kernel, in clock ticks.
    pub system_ticks: u64,
    /// User time of the children that it has reaped, and of theirs, in clock ticks.
    pub children_user_ticks: u64,
    /// Kernel time of the children that it has reaped, and of theirs, in clock ticks.
    pub children_system_ticks: u64,
    /// How many threads it has.
    pub threads: u32,
    /// When it started, in clock ticks since boot.
    pub start_ticks: u64,
}

impl ProcessStat {
    /// Parses the line; `None` for a line of another form.
    #[must_use]
    pub fn parse(text: &str) -> Option<ProcessStat> {
        // The command's name may itself hold spaces and parentheses, but nothing
        // after it does: the last one closes it.
        let (_, rest) = text.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        // The manual counts the process number as 1 and the name as 2.
        let field = |manual: usize| fields.get(manual - 3).copied();
        let number = |manual: usize| field(manual)?.parse::<u64>().ok();
        Some(ProcessStat {
            state: field(3)?.chars().next()?,
            parent: field(4)?.parse().ok()?,
            group: field(5)?.parse().ok()?,
            session: field(6)?.parse().ok()?,
            page_faults: (10..14)
                .map(number)
                .try_fold(0, |sum: u64, faults| sum.checked_add(faults?))?,
            user_ticks: number(14)?,
            system_ticks: number(15)?,
            children_user_ticks: number(16)?,
            children_system_ticks: number(17)?,
            threads: field(20)?.parse().ok()?,
            start_ticks: number(22)?,
        })
    }

    /// Reads the line of one process; `None` if there is no such process.
    ///
    /// # Errors
    /// The kernel's error (no permission, no descriptor left), `InvalidData`
    /// for a line that is not understood.
    pub fn read(pid: u32) -> io::Result<Option<ProcessStat>> {
        let path = format!("/proc/{pid}/stat");
        let Some(text) = if_there(read_lossy(&path))? else {
            return Ok(None);
        };
        match ProcessStat::parse(&text) {
            Some(stat) => Ok(Some(stat)),
            None if is_released(&text) => Ok(None),
            None => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                not_understood(&path, &text),
            )),
        }
    }

    /// The process that this line is about.
    #[must_use]
    pub fn process(&self, pid: u32) -> Process {
        Process {
            pid,
            start_ticks: self.start_ticks,
        }
    }

    /// CPU time of the children that it has reaped, in steps of a clock tick.
    #[must_use]
    pub fn reaped_cpu(&self) -> Nanos {
        let ticks = self
            .children_user_ticks
            .saturating_add(self.children_system_ticks);
        let tick = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
        Nanos(ticks.saturating_mul(tick))
    }

    /// Whether it was stopped by a signal, and continues on another.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.state == 'T'
    }

    /// Whether it has ended.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        matches!(self.state, 'Z' | 'X' | 'x')
    }
}

/// Whether the kernel wrote the line of a process that was reaped after its file was opened:
/// the group and session are then -1.
fn is_released(text: &str) -> bool {
    let fields = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    matches!(fields[..], [_, _, "-1", "-1", ..])
}

/// The message for a line of another shape, on one line and bounded.
fn not_understood(path: &str, text: &str) -> String {
    const LETTERS: usize = 400;
    let line: String = text.trim_end().escape_debug().take(LETTERS).collect();
    format!("{path} cannot be parsed: is /proc that of a Linux kernel? It has `{line}`")
}

fn raw_pid(pid: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(pid).ok()?)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;
    use crate::process::process_cpu;

    const LINE: &str = "812 (a ) R (b) S 7 811 810 0 -1 4194560 500 900 0 3 11 12 13 14 \
        20 0 5 0 8804 3133440 413 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0\n";

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        // Method: a command called "a ) R (b", every field read with another value.
        let stat = ProcessStat::parse(LINE).unwrap();
        let expected = ProcessStat {
            state: 'S',
            parent: 7,
            group: 811,
            session: 810,
            page_faults: 1_403,
            user_ticks: 11,
            system_ticks: 12,
            children_user_ticks: 13,
            children_system_ticks: 14,
            threads: 5,
            start_ticks: 8804,
        };
        assert_eq!(stat, expected);
    }

    #[test]
    fn a_process_reaped_during_the_read_has_ended_and_invalid_lines_are_shown() {
        // Method: the kernel's line of a process that has neither group nor session any
        // more; then lines of another shape, one with a line end and one that is too long.
        let released = "812 (a) b) X 0 -1 -1 0 -1 4227084 0 0 0 0 0 0 0 0 20 0 0 0 8804 0 0\n";
        assert_eq!(ProcessStat::parse(released), None);
        assert!(is_released(released));
        for other in [LINE, "", "812 (a) X", "812 (-1 -1 -1"] {
            assert!(!is_released(other), "{other}");
        }
        let message = not_understood("/proc/7/stat", "7 (a\nb) ?\n");
        assert!(
            message.starts_with("/proc/7/stat cannot be parsed"),
            "{message}"
        );
        assert!(message.ends_with("It has `7 (a\\nb) ?`"), "{message}");
        assert!(not_understood("/proc/7/stat", &"x".repeat(9_000)).len() < 600);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in any::<String>(), cut in 0..LINE.len()) {
            // Method: any text at all, and the real line cut anywhere.
            let _ = ProcessStat::parse(&text);
            let _ = ProcessStat::parse(&LINE[..cut]);
            let _ = ProcessStat::parse(&format!("1 ({text}) S 1"));
        }
    }

    #[test]
    fn another_start_time_is_another_process() {
        // Method: this process, and a stranger that had its number earlier.
        let this = Process::find(std::process::id()).unwrap().unwrap();
        let earlier = Process {
            start_ticks: this.start_ticks - 1,
            ..this
        };
        assert!(this.is_alive());
        assert!(!earlier.is_alive());
        assert!(!earlier.signal(Signal::Kill).unwrap());
    }

    #[test]
    fn a_zombie_is_not_alive_and_still_has_its_clock() {
        // Method: a child that is killed and not yet waited for.
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let process = Process::find(child.id()).unwrap().unwrap();
        assert!(process.signal(Signal::Kill).unwrap());
        while process.is_alive() {
            std::thread::yield_now();
        }
        assert!(process_cpu(process.pid).is_some());
        child.wait().unwrap();
        assert_eq!(process_cpu(process.pid), None);
        assert_eq!(Process::find(process.pid).unwrap(), None);
    }
}
