//! Children of the calling process: started, adopted, and reaped when they have ended.

use std::collections::HashSet;
use std::fmt;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use rustix::io::Errno;
use rustix::process::WaitOptions;
use serde::{Deserialize, Serialize};

use super::stat::{Process, ProcessStat};
use super::tree;

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

/// The result of [`reap`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaped {
    /// This child has ended and was reaped.
    Ended {
        /// Its number, free for others from now on.
        pid: u32,
        exit: Exit,
    },
    /// There are children, none of them has ended.
    NoneYet,
    NoChild,
}

/// Reaps one ended child of the calling process, without waiting.
///
/// This reaps any child, so it is not for programs that wait for a [`Child`] themselves.
///
/// # Errors
/// The kernel's error; not seen.
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
/// The kernel's error; not seen.
pub fn adopt_orphans() -> io::Result<()> {
    let this = rustix::process::getpid();
    Ok(rustix::process::set_child_subreaper(Some(this))?)
}

/// Processes that the calling one has adopted by [`adopt_orphans`], with their descendants.
///
/// They differ from children of its own by their session, since what [`spawn_kept`] has
/// started is in another one, and so is whatever descends from it; and by `group`, a
/// process group that only the processes to find share.
///
/// # Errors
/// The kernel's error if /proc cannot be read.
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

/// Starts a command in its own session, to be killed when its keeper ends.
///
/// SUBTLE: The kernel ties this to the thread that calls, not to its process:
/// call it on a thread that runs as long as the process.
///
/// # Errors
/// As [`Command::spawn`].
#[allow(unsafe_code)]
pub fn spawn_kept(command: &mut Command) -> io::Result<Child> {
    let keeper = rustix::process::getpid();
    let prepare = move || {
        tie(keeper)?;
        rustix::process::setsid()?;
        Ok(())
    };
    // SAFETY: Between fork and exec the closure makes plain system calls on a
    // copied number: no allocation, no lock, no descriptor.
    unsafe { command.pre_exec(prepare) }.spawn()
}

/// Starts a command to be killed when the calling thread ends. It stays in the process group, so
/// that a terminal's Ctrl-C reaches both. What it starts itself is not killed with it.
///
/// # Errors
/// As [`Command::spawn`].
#[allow(unsafe_code)]
pub fn spawn_tied(command: &mut Command) -> io::Result<Child> {
    let parent = rustix::process::getpid();
    // SAFETY: As in `spawn_kept`.
    unsafe { command.pre_exec(move || tie(parent)) }.spawn()
}

/// Makes the kernel kill the calling process when the thread that started it ends.
fn tie(parent: rustix::process::Pid) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    // A parent that ended before the line above will send no signal.
    if rustix::process::getppid() != Some(parent) {
        return Err(Errno::SRCH.into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use super::*;

    #[test]
    fn a_tied_command_ends_with_the_thread_that_started_it() {
        // Method: a thread that starts a long sleep and ends.
        let start = || spawn_tied(Command::new("sleep").arg("600")).unwrap();
        let mut child = std::thread::spawn(start).join().unwrap();
        let status = child.wait().unwrap();
        assert_eq!(
            std::os::unix::process::ExitStatusExt::signal(&status),
            Some(9)
        );
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
