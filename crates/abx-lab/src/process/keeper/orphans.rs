//! Ends processes of a start whose abx, guardian and keeper were all killed at once. No process was
//! left to adopt them, so a later run recognizes them by marks that only they have.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use abx_sys::process::{Process, Signal};
use abx_sys::tree::descendants;

use super::container::KeptContainer;
use super::family::{KILL_PAUSE, KILL_PAUSE_MAX};
use super::protocol::SCRATCH_EMPTY;

/// How long to wait for the kernel, which cannot end everything at once.
const END_WITHIN: Duration = Duration::from_secs(10);
/// This many looks in a row must find nothing, since a process may fork during a look.
const EMPTY_LOOKS: usize = 3;
/// The lowest bits of a descriptor's flags: 0 if the descriptor is read-only.
const ACCESS_MODE: u32 = 0o3;

/// Kills all processes of the start with this folder and container, whose keeper must have ended.
/// Returns whether none is left.
pub fn end_orphans(scratch: &Path, container: Option<&KeptContainer>) -> bool {
    let name = container.map(|container| container.name.as_str());
    let deadline = Instant::now() + END_WITHIN;
    let mut pause = KILL_PAUSE;
    while Instant::now() < deadline {
        let orphans = frozen(scratch, name, deadline);
        if orphans.is_empty() {
            return true;
        }
        for orphan in orphans {
            // A process that may not be signalled turns up again until the time is over.
            let _ = orphan.signal(Signal::Kill);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(KILL_PAUSE_MAX);
    }
    false
}

/// All processes of the start, suspended.
///
/// SUBTLE: Only its parent shows that a process without a mark belongs to the start, such as a
/// worker whose title has replaced its environment. No such process may start between a look and
/// the end of its parent.
fn frozen(scratch: &Path, name: Option<&str>, deadline: Instant) -> HashSet<Process> {
    let mut frozen = HashSet::new();
    let mut empty_looks = 0;
    while empty_looks < EMPTY_LOOKS && Instant::now() < deadline {
        let mut new = orphans(scratch, name).unwrap_or_default();
        new.retain(|process| !frozen.contains(process));
        if new.is_empty() {
            empty_looks += 1;
            std::thread::sleep(KILL_PAUSE);
            continue;
        }
        empty_looks = 0;
        for process in &new {
            let _ = process.signal(Signal::Stop);
        }
        frozen.extend(new);
    }
    frozen
}

/// The processes that have a mark of this start, and all processes below them.
fn orphans(scratch: &Path, name: Option<&str>) -> io::Result<HashSet<Process>> {
    let marks = Marks::of(scratch, name)?;
    let mut orphans = HashSet::new();
    for entry in fs::read_dir("/proc")?.flatten() {
        let pid = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        let Some(pid) = pid.filter(|pid| *pid != std::process::id()) else {
            continue;
        };
        // Before its marks are read: afterwards another process may have its number.
        let Some(process) = Process::find(pid)? else {
            continue;
        };
        if !marks.has(pid) || !process.is_alive() {
            continue;
        }
        let below = descendants(pid).unwrap_or_default();
        orphans.extend(below.into_iter().map(|relative| relative.process));
        orphans.insert(process);
    }
    Ok(orphans)
}

/// The marks that only processes of one start have.
struct Marks<'a> {
    /// `TMPDIR` as its keeper set it.
    variable: Vec<u8>,
    /// Device and inode of the files in its folder, to which the output of its commands goes.
    files: HashSet<(u64, u64)>,
    /// The mount namespace of this process, in which the folder's path is valid.
    namespace: Option<std::path::PathBuf>,
    /// The container's name, which is an argument of its monitor. Podman gives the monitor no other
    /// mark, and forgets it if it is killed before the container has started.
    name: Option<&'a str>,
}

impl Marks<'_> {
    fn of<'a>(scratch: &Path, name: Option<&'a str>) -> io::Result<Marks<'a>> {
        let mut variable = b"TMPDIR=".to_vec();
        variable.extend(scratch.join(SCRATCH_EMPTY).as_os_str().as_encoded_bytes());
        let files = fs::read_dir(scratch)?
            .flatten()
            .filter_map(|entry| entry.metadata().ok())
            .filter(|file| file.is_file())
            .map(|file| (file.dev(), file.ino()))
            .collect();
        Ok(Marks {
            variable,
            files,
            namespace: fs::read_link("/proc/self/ns/mnt").ok(),
            name,
        })
    }

    /// Whether a process has a mark. A process of another user cannot be read, and has none.
    fn has(&self, pid: u32) -> bool {
        self.is_in_environment(pid)
            || self.is_in_arguments(pid)
            || [1, 2].iter().any(|number| self.is_written(pid, *number))
    }

    fn is_in_arguments(&self, pid: u32) -> bool {
        let Some(name) = self.name else {
            return false;
        };
        let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        arguments.split(|byte| *byte == 0).any(|argument| {
            let value = argument.strip_prefix(b"--name=").unwrap_or(argument);
            value == name.as_bytes()
        })
    }

    fn is_in_environment(&self, pid: u32) -> bool {
        let Ok(environment) = fs::read(format!("/proc/{pid}/environ")) else {
            return false;
        };
        let mut variables = environment.split(|byte| *byte == 0);
        variables.any(|variable| variable == self.variable)
            && fs::read_link(format!("/proc/{pid}/ns/mnt")).ok() == self.namespace
    }

    /// Whether a process prints into a file of the folder: other programs may only read it.
    fn is_written(&self, pid: u32, number: u32) -> bool {
        let Ok(file) = fs::metadata(format!("/proc/{pid}/fd/{number}")) else {
            return false;
        };
        let is_ours = self.files.contains(&(file.dev(), file.ino()));
        is_ours && is_for_writing(pid, number)
    }
}

fn is_for_writing(pid: u32, number: u32) -> bool {
    let info = fs::read_to_string(format!("/proc/{pid}/fdinfo/{number}")).unwrap_or_default();
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
    flags.is_some_and(|flags| flags & ACCESS_MODE != 0)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// A process that ends with its test, even if the test fails.
    struct Sleeper(Child);

    impl Sleeper {
        fn is_alive(&mut self) -> bool {
            self.0.try_wait().unwrap().is_none()
        }
    }

    impl Drop for Sleeper {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn only_processes_with_a_mark_of_the_start_are_ended() {
        // Method: a shell with a child that has the variable; a process that prints into the log;
        // one that has the container's name as an argument; and others that read the log, have the
        // folder of another start, run in the folder, or have a longer name.
        let folder = tempfile::tempdir().unwrap();
        let scratch = folder.path().join("abx-1-one-80");
        fs::create_dir_all(scratch.join(SCRATCH_EMPTY)).unwrap();
        let log = File::create(scratch.join("log")).unwrap();
        let sleep = || {
            let mut command = Command::new("sleep");
            command.arg("600").env_remove("TMPDIR");
            command
        };
        let start = |command: &mut Command| Sleeper(command.spawn().unwrap());
        let directory = scratch.join(SCRATCH_EMPTY);
        let mut shell = Command::new("sh");
        shell
            .args(["-c", "sleep 600 & wait"])
            .env("TMPDIR", &directory);
        let named = |word: &str| {
            let mut command = Command::new("sh");
            command
                .args(["-c", "read line", "monitor", "-n", word])
                .stdin(Stdio::piped())
                .env_remove("TMPDIR");
            command
        };
        let mut ours = [
            start(&mut shell),
            start(sleep().stderr(log)),
            start(&mut named("abx-1-one-80-0f")),
        ];
        let mut others = [
            start(&mut named("abx-1-one-80-0f1")),
            start(sleep().stdout(File::open(scratch.join("log")).unwrap())),
            start(sleep().env("TMPDIR", folder.path())),
            start(sleep().current_dir(&directory)),
        ];
        let container = KeptContainer {
            engine: "podman".to_owned(),
            name: "abx-1-one-80-0f".to_owned(),
        };
        assert!(end_orphans(&scratch, Some(&container)));
        assert!(ours.iter_mut().all(|child| !child.is_alive()));
        assert!(others.iter_mut().all(Sleeper::is_alive));
        assert!(orphans(&scratch, Some(&container.name)).unwrap().is_empty());
    }
}
