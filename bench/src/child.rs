//! Runs children on one processor each, and measures their resources.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The output and the cost of a child.
#[derive(Debug, Clone)]
pub struct Ended {
    pub stdout: String,
    pub stderr: String,
    /// How the child failed, if it did.
    pub failure: Option<String>,
    /// User and system time of all threads, in µs.
    pub cpu_us: f64,
    /// Peak resident memory in bytes. The kernel starts from the memory of the parent process, so
    /// this is never below [`memory_floor`].
    pub memory_bytes: u64,
}

/// The processors that this process may use.
///
/// # Errors
/// The error of the kernel.
pub fn processors() -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU)
        .filter(|cpu| set.is_set(*cpu))
        .collect())
}

/// Moves this thread to one processor; children that it starts begin there.
///
/// # Errors
/// The error of the kernel.
pub fn pin(cpu: usize) -> io::Result<()> {
    let mut set = CpuSet::new();
    set.set(cpu);
    Ok(sched_setaffinity(None, &set)?)
}

/// Peak resident memory of this process in bytes; 0 if it cannot be read.
pub fn memory_floor() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

/// Runs a command to its end, or kills it after `longest`. Its output goes to files in `folder`,
/// so that this process sleeps meanwhile.
///
/// # Errors
/// If the command cannot be started or waited for.
pub fn run(mut command: Command, folder: &Path, longest: Duration) -> io::Result<Ended> {
    let (stdout, stderr) = (folder.join("stdout"), folder.join("stderr"));
    let mut child = command
        .stdin(Stdio::null())
        .stdout(File::create(&stdout)?)
        .stderr(File::create(&stderr)?)
        .spawn()?;
    let pid = Pid::from_child(&child);
    let handle = pidfd_open(pid, PidfdFlags::empty())?;
    let limit = Timespec {
        tv_sec: i64::try_from(longest.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(longest.subsec_nanos()),
    };
    let mut watched = [PollFd::from_borrowed_fd(handle.as_fd(), PollFlags::IN)];
    let has_ended = poll(&mut watched, Some(&limit))? > 0;
    if !has_ended {
        child.kill()?;
    }
    let (status, used) = wait(pid)?;
    let failure = match (
        has_ended,
        libc::WIFEXITED(status),
        libc::WEXITSTATUS(status),
    ) {
        (false, ..) => Some(format!("no end within {} s", longest.as_secs())),
        (true, true, 0) => None,
        (true, true, code) => Some(format!("exit code {code}")),
        (true, false, _) => Some(format!("signal {}", libc::WTERMSIG(status))),
    };
    let micros = |time: libc::timeval| time.tv_sec as f64 * 1e6 + time.tv_usec as f64;
    Ok(Ended {
        stdout: String::from_utf8_lossy(&std::fs::read(stdout)?).into_owned(),
        stderr: String::from_utf8_lossy(&std::fs::read(stderr)?).into_owned(),
        failure,
        cpu_us: micros(used.ru_utime) + micros(used.ru_stime),
        memory_bytes: u64::try_from(used.ru_maxrss).unwrap_or(0) * 1024,
    })
}

/// Reaps a child and returns its resource usage, for which there is no safe interface.
#[allow(unsafe_code)]
fn wait(pid: Pid) -> io::Result<(libc::c_int, libc::rusage)> {
    let mut status = 0;
    let mut used = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: Both pointers are to live values of the types that the call writes, and the child
        // belongs to this process and was not reaped before.
        let reaped =
            unsafe { libc::wait4(pid.as_raw_pid(), &raw mut status, 0, used.as_mut_ptr()) };
        if reaped == pid.as_raw_pid() {
            // SAFETY: All zeroes are a valid `rusage`, and the call has filled it.
            return Ok((status, unsafe { used.assume_init() }));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, longest: Duration) -> Ended {
        let name = format!("abx-bench-{}-{}", std::process::id(), script.len());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let ended = run(command, &folder, longest).unwrap();
        std::fs::remove_dir_all(folder).unwrap();
        ended
    }

    #[test]
    fn output_failure_and_cost_of_a_child_are_returned() {
        // Method: a shell that prints, computes a little and fails.
        let script =
            "echo out; echo err >&2; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; exit 3";
        let ended = shell(script, Duration::from_secs(60));
        assert_eq!(
            (ended.stdout.as_str(), ended.stderr.as_str()),
            ("out\n", "err\n")
        );
        assert_eq!(ended.failure.as_deref(), Some("exit code 3"));
        assert!(ended.cpu_us > 0.0 && ended.memory_bytes > 0);
    }

    #[test]
    fn a_child_beyond_the_time_limit_is_killed() {
        // Method: a sleep far beyond the limit.
        let ended = shell("exec sleep 600", Duration::from_millis(100));
        assert!(
            ended
                .failure
                .is_some_and(|failure| failure.starts_with("no end"))
        );
    }
}
