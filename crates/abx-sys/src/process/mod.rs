//! One process: what /proc says of it, its CPU clock, signals that cannot hit a
//! stranger, and the few calls that a keeper of processes needs.

pub mod descriptors;
pub mod limits;
pub mod programs;
pub mod tree;

use std::collections::HashSet;
use std::ffi::CStr;
use std::fmt;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Resource, Rlimit, WaitOptions, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};

use crate::Nanos;
use crate::kernel_files::read_lossy;

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
    /// The name of its program, cut by the kernel to 15 bytes; `None` when it is gone.
    #[must_use]
    pub fn name(self) -> Option<String> {
        let name = read_lossy(format!("/proc/{}/comm", self.pid)).ok()?;
        Some(name.trim_end().to_owned())
    }

    /// The process that has this number now, `None` when there is none.
    ///
    /// # Errors
    /// What the kernel says when /proc cannot be read.
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
    /// Answers whether it was there to be signalled.
    ///
    /// # Errors
    /// What the kernel says, no permission before all.
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

/// What abx takes from /proc/PID/stat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessStat {
    /// The kernel's letter: `R` runs, `S` sleeps, `Z` has ended and waits to be reaped.
    pub state: char,
    pub parent: u32,
    /// Its process group; 0 for one whose leader is outside of this PID namespace.
    pub group: u32,
    /// Its session; 0 for one whose leader is outside of this PID namespace.
    pub session: u32,
    /// Time in user mode, in clock ticks; [`process_cpu`] is finer.
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
    /// Takes the line apart; `None` when it is not such a line.
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
            user_ticks: number(14)?,
            system_ticks: number(15)?,
            children_user_ticks: number(16)?,
            children_system_ticks: number(17)?,
            threads: field(20)?.parse().ok()?,
            start_ticks: number(22)?,
        })
    }

    /// Reads the line of one process, `None` when there is no such process.
    ///
    /// # Errors
    /// What the kernel says (no permission, no descriptor left), `InvalidData`
    /// for a line that is not understood.
    pub fn read(pid: u32) -> io::Result<Option<ProcessStat>> {
        let path = format!("/proc/{pid}/stat");
        let Some(text) = if_there(read_lossy(&path))? else {
            return Ok(None);
        };
        match ProcessStat::parse(&text) {
            Some(stat) => Ok(Some(stat)),
            None => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("{path} is not understood: is /proc that of a Linux kernel?"),
            )),
        }
    }

    /// The process that this line speaks of.
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

    /// Whether it was stopped by a signal, and goes on by another.
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

/// CPU time that a process has used, all its threads, user and kernel, without
/// its children; `None` when there is no such process.
#[must_use]
#[allow(unsafe_code)]
pub fn process_cpu(pid: u32) -> Option<Nanos> {
    let pid = libc::pid_t::try_from(pid).ok().filter(|pid| *pid > 0)?;
    let mut clock: libc::clockid_t = 0;
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: Both calls only write to the one live value whose pointer they get.
    let failed = unsafe {
        libc::clock_getcpuclockid(pid, &raw mut clock) != 0
            || libc::clock_gettime(clock, &raw mut time) != 0
    };
    let seconds = u64::try_from(time.tv_sec).ok()?;
    let nanoseconds = u64::try_from(time.tv_nsec).ok()?;
    (!failed).then(|| Nanos(seconds * 1_000_000_000 + nanoseconds))
}

/// Processor time that this process has used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OwnCpu {
    pub user: Nanos,
    pub system: Nanos,
}

/// Processor time of this process so far, over all of its threads.
#[must_use]
#[allow(unsafe_code)]
pub fn own_cpu() -> OwnCpu {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: The call only writes to the one live value whose pointer it gets, and all
    // zeros, which is what a failure leaves, is a value of this type too.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    let nanos = |time: libc::timeval| {
        Nanos(time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_usec.unsigned_abs() * 1_000)
    };
    OwnCpu {
        user: nanos(usage.ru_utime),
        system: nanos(usage.ru_stime),
    }
}

/// The signals that abx sends: to stop a server, or to see what it makes of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
#[allow(missing_docs, reason = "the names are the kernel's")]
pub enum Signal {
    Term,
    Int,
    Quit,
    Hup,
    Usr1,
    Usr2,
    Winch,
    Kill,
    Segv,
    Abrt,
    Stop,
    Cont,
}

impl Signal {
    /// Its name, without `SIG`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Signal::Term => "TERM",
            Signal::Int => "INT",
            Signal::Quit => "QUIT",
            Signal::Hup => "HUP",
            Signal::Usr1 => "USR1",
            Signal::Usr2 => "USR2",
            Signal::Winch => "WINCH",
            Signal::Kill => "KILL",
            Signal::Segv => "SEGV",
            Signal::Abrt => "ABRT",
            Signal::Stop => "STOP",
            Signal::Cont => "CONT",
        }
    }
}

impl From<Signal> for rustix::process::Signal {
    fn from(signal: Signal) -> rustix::process::Signal {
        use rustix::process::Signal as Kernel;
        match signal {
            Signal::Term => Kernel::TERM,
            Signal::Int => Kernel::INT,
            Signal::Quit => Kernel::QUIT,
            Signal::Hup => Kernel::HUP,
            Signal::Usr1 => Kernel::USR1,
            Signal::Usr2 => Kernel::USR2,
            Signal::Winch => Kernel::WINCH,
            Signal::Kill => Kernel::KILL,
            Signal::Segv => Kernel::SEGV,
            Signal::Abrt => Kernel::ABORT,
            Signal::Stop => Kernel::STOP,
            Signal::Cont => Kernel::CONT,
        }
    }
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    Code(i32),
    Signal(i32),
}

impl fmt::Display for Exit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exit::Code(code) => write!(formatter, "exit code {code}"),
            Exit::Signal(signal) => write!(formatter, "signal {signal}"),
        }
    }
}

/// What asking for ended children gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaped {
    /// This child has ended and is gone now.
    Ended {
        /// Its number, free for others from now on.
        pid: u32,
        exit: Exit,
    },
    /// There are children, none of them has ended.
    NoneYet,
    NoChild,
}

/// Takes one ended child of the calling process away, without waiting.
///
/// This takes any child: not for programs that wait for a [`Child`] of their own.
///
/// # Errors
/// What the kernel says; not seen.
pub fn reap() -> io::Result<Reaped> {
    match rustix::process::wait(WaitOptions::NOHANG) {
        Ok(Some((pid, status))) => Ok(Reaped::Ended {
            pid: pid.as_raw_nonzero().get().unsigned_abs(),
            exit: match (status.exit_status(), status.terminating_signal()) {
                (Some(code), _) => Exit::Code(code),
                (None, signal) => Exit::Signal(signal.unwrap_or_default()),
            },
        }),
        Ok(None) => Ok(Reaped::NoneYet),
        Err(Errno::CHILD) => Ok(Reaped::NoChild),
        Err(error) => Err(error.into()),
    }
}

/// Makes the calling process the parent of every descendant whose own parent ends.
///
/// # Errors
/// What the kernel says; not seen.
pub fn adopt_orphans() -> io::Result<()> {
    let this = rustix::process::getpid();
    Ok(rustix::process::set_child_subreaper(Some(this))?)
}

/// Processes that came to the calling one by [`adopt_orphans`], with all that is below them.
///
/// They are told from children of its own by their session, since what [`spawn_kept`] has
/// started is in another one, and so is whatever descends from it; and by `group`, a
/// process group that only those share who are to be found.
///
/// # Errors
/// What the kernel says when /proc cannot be read.
pub fn adopted(group: u32) -> io::Result<Vec<Process>> {
    let this = std::process::id();
    // From /proc, since a session is no process number where its leader is outside of the
    // PID namespace, as it is in many containers.
    let process_stat = ProcessStat::read(this)?.ok_or(io::ErrorKind::NotFound)?;
    let is_elsewhere = |pid| {
        let stat = ProcessStat::read(pid).ok().flatten();
        stat.is_some_and(|stat| stat.session != process_stat.session || stat.group == group)
    };
    let mut processes = Vec::new();
    let mut numbers = HashSet::new();
    for relative in tree::descendants(this)? {
        let pid = relative.process.pid;
        let is_child = relative.parent == this;
        if numbers.contains(&relative.parent) || is_child && is_elsewhere(pid) {
            numbers.insert(pid);
            processes.push(relative.process);
        }
    }
    Ok(processes)
}

/// Gives the calling process another name, as `ps` and those who kill by name know it:
/// 15 bytes at most. To be called on the first thread.
///
/// # Errors
/// What the kernel says; not seen.
pub fn set_name(name: &CStr) -> io::Result<()> {
    Ok(rustix::thread::set_name(name)?)
}

/// Has the calling process die of the signals of a crash, SIGSEGV and SIGBUS, also where
/// another process sends one. The standard library has a handler for them that tells of a full
/// stack, and takes the first one that it cannot explain for nothing. No core file is left.
#[allow(unsafe_code)]
pub fn die_of_crashes() {
    let limit = getrlimit(Resource::Core);
    let none = Rlimit {
        current: Some(0),
        ..limit
    };
    // Lowering a limit is refused to nobody.
    let _ = setrlimit(Resource::Core, none);
    for signal in [libc::SIGSEGV, libc::SIGBUS] {
        // SAFETY: No handler of ours is behind these signals, and the default needs none.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// Starts a command in its own session, to be killed when its keeper ends.
///
/// SUBTLE: The kernel ties this to the thread that calls, not to its process:
/// call it on a thread that lives as long as the process.
///
/// # Errors
/// As [`Command::spawn`].
#[allow(unsafe_code)]
pub fn spawn_kept(command: &mut Command) -> io::Result<Child> {
    let keeper = rustix::process::getpid();
    let prepare = move || {
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
        // A keeper that ended before the line above will send no signal.
        if rustix::process::getppid() != Some(keeper) {
            return Err(Errno::SRCH.into());
        }
        rustix::process::setsid()?;
        Ok(())
    };
    // SAFETY: Between fork and exec the closure makes plain system calls on a
    // copied number: no allocation, no lock, no descriptor.
    unsafe { command.pre_exec(prepare) }.spawn()
}

/// What a read gave, `None` when its process has gone.
pub(crate) fn if_there<T>(response: io::Result<T>) -> io::Result<Option<T>> {
    match response {
        Ok(value) => Ok(Some(value)),
        Err(error)
            if error.kind() == io::ErrorKind::NotFound
                || error.raw_os_error() == Some(libc::ESRCH) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn raw_pid(pid: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(pid).ok()?)
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use proptest::prelude::*;

    use super::*;

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
            user_ticks: 11,
            system_ticks: 12,
            children_user_ticks: 13,
            children_system_ticks: 14,
            threads: 5,
            start_ticks: 8804,
        };
        assert_eq!(stat, expected);
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

    #[test]
    fn the_clock_of_a_process_runs_with_its_work() {
        // Method: work until the clock has moved; a clock that stood still would hang.
        let before = process_cpu(std::process::id()).unwrap();
        while process_cpu(std::process::id()).unwrap() == before {}
        let mine = own_cpu();
        while own_cpu() == mine {}
        assert!(own_cpu().user >= mine.user && own_cpu().system >= mine.system);
        assert_eq!(process_cpu(0), None);
        assert_eq!(process_cpu(u32::MAX), None);
    }

    #[test]
    fn a_kept_command_leads_its_own_session() {
        // Method: the shell prints its number and its session from /proc.
        let mut command = Command::new("sh");
        command
            .args(["-c", "cut -d' ' -f1,6 /proc/$$/stat"])
            .stdout(Stdio::piped());
        let child = spawn_kept(&mut command).unwrap();
        let pid = child.id();
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(text.trim(), format!("{pid} {pid}"));
    }
}
