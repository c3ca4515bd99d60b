//! Runs one command of an installation to its end, with its output in a log.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use abx_sys::process::{Process, Signal, spawn_tied};
use abx_sys::tree::descendants;

use super::interrupt::Interrupt;
use abx_study::program::find;

/// A command and its context.
pub struct LoggedCommand<'a> {
    /// The argument list, not empty.
    pub words: &'a [String],
    pub directory: &'a Path,
    /// The `PATH` in which its program is searched.
    pub path: &'a str,
    /// Variables that are added to the environment of abx.
    pub variables: &'a [(String, String)],
    /// Variables that are removed from the environment of abx.
    pub without: &'a [&'a str],
    /// When it is ended if it still runs.
    pub deadline: Option<Instant>,
    /// The file that its output is appended to.
    pub log: &'a Path,
}

/// Why a command did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    #[error("`{0}` is not on PATH, or not executable")]
    NoProgram(String),
    #[error("{0}")]
    Exit(ExitStatus),
    #[error("it could not be run: {0}")]
    Run(io::Error),
    #[error("{} cannot be written: {source}", path.display())]
    Log { path: PathBuf, source: io::Error },
    #[error("it took too long")]
    TooLong,
    #[error("stopped")]
    Interrupted,
}

/// How often abx checks whether a command has ended.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How long a command may take to end after a stop signal.
const END_WITHIN: Duration = Duration::from_secs(10);

impl LoggedCommand<'_> {
    /// Runs the command. It stays in abx's process group, so Ctrl-C reaches it too. If only abx
    /// receives a signal, abx ends the command. The command is killed if abx is killed.
    ///
    /// # Errors
    /// One [`CommandError`] for each way to fail.
    pub fn run(&self, interrupt: &Interrupt) -> Result<(), CommandError> {
        if interrupt.is_signalled() {
            return Err(CommandError::Interrupted);
        }
        let name = self.words.first().map_or("", String::as_str);
        let program = find(name, self.path.as_ref(), self.directory);
        let program = program.ok_or_else(|| CommandError::NoProgram(name.to_owned()))?;
        let (output, errors) = self.open_log().map_err(|source| CommandError::Log {
            path: self.log.to_owned(),
            source,
        })?;
        let mut command = Command::new(program);
        for name in self.without {
            command.env_remove(name);
        }
        command
            .args(&self.words[1..])
            .current_dir(self.directory)
            .env("PATH", self.path)
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors);
        let mut child = spawn_tied(&mut command).map_err(CommandError::Run)?;
        let status = wait(&mut child, interrupt, self.deadline).map_err(CommandError::Run)?;
        match status {
            Some(status) if status.success() => Ok(()),
            // The terminal's Ctrl-C reached both, and the command was faster.
            _ if interrupt.is_signalled() => Err(CommandError::Interrupted),
            Some(status) => Err(CommandError::Exit(status)),
            None => Err(CommandError::TooLong),
        }
    }

    fn open_log(&self) -> io::Result<(File, File)> {
        let mut log = File::options().create(true).append(true).open(self.log)?;
        writeln!(log, "$ {}", shell_words::join(self.words))?;
        Ok((log.try_clone()?, log))
    }
}

/// How the child ended; `None` if abx had to end it.
fn wait(
    child: &mut Child,
    interrupt: &Interrupt,
    deadline: Option<Instant>,
) -> io::Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        let is_late = deadline.is_some_and(|deadline| Instant::now() >= deadline);
        if interrupt.is_signalled() || is_late {
            end(child)?;
            return Ok(None);
        }
        sleep(LOOK_EVERY);
    }
}

/// Ends a child and all its descendants.
fn end(child: &mut Child) -> io::Result<()> {
    let mut family = frozen_family(child.id())?;
    for signal in [Signal::Term, Signal::Cont] {
        signal_each(&family, signal);
    }
    let deadline = Instant::now() + END_WITHIN;
    loop {
        let has_ended = child.try_wait()?.is_some();
        if has_ended && !family.iter().any(|process| process.is_alive()) {
            return Ok(());
        }
        if Instant::now() >= deadline {
            break;
        }
        sleep(LOOK_EVERY);
    }
    // More processes may have been started since.
    family.extend(self::family(child.id())?);
    signal_each(&family, Signal::Kill);
    // A command with more rights than abx continues all the same.
    let deadline = Instant::now() + END_WITHIN;
    while child.try_wait()?.is_none() && Instant::now() < deadline {
        sleep(LOOK_EVERY);
    }
    Ok(())
}

/// Signals processes. Those of other users, such as a build's `sudo make install`, cannot be
/// signalled. The others still have to end, and to continue if they were suspended.
fn signal_each(processes: &[Process], signal: Signal) {
    for process in processes {
        let _ = process.signal(signal);
    }
}

/// A process and all its descendants, suspended so that none can start another process and end
/// before abx sees that.
fn frozen_family(root: u32) -> io::Result<Vec<Process>> {
    let mut frozen: Vec<Process> = Vec::new();
    loop {
        let mut new = family(root)?;
        new.retain(|process| !frozen.contains(process));
        if new.is_empty() {
            return Ok(frozen);
        }
        signal_each(&new, Signal::Stop);
        frozen.extend(new);
    }
}

/// A process and all its descendants.
fn family(root: u32) -> io::Result<Vec<Process>> {
    let below = descendants(root)?;
    let mut family: Vec<Process> = Process::find(root)?.into_iter().collect();
    family.extend(below.iter().map(|relative| relative.process));
    Ok(family)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::sync::atomic::Ordering;

    fn run(script: &str, folder: &Path, interrupt: &Interrupt) -> Result<(), CommandError> {
        let words = ["sh", "-c", script].map(str::to_owned);
        let variables = [("ABX_WORD".to_owned(), "from abx".to_owned())];
        let call = LoggedCommand {
            words: &words,
            directory: folder,
            path: "/usr/bin:/bin",
            variables: &variables,
            without: &[],
            deadline: None,
            log: &folder.join("log"),
        };
        call.run(interrupt)
    }

    #[test]
    fn a_command_has_its_environment_its_folder_and_its_log() {
        // Method: a script that prints all three, reads an empty input, and fails.
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path().canonicalize().unwrap();
        let interrupt = Interrupt::watch().unwrap();
        let script = "cat; echo $PATH; pwd >&2; echo $ABX_WORD; exit 3";
        let error = run(script, &here, &interrupt).unwrap_err();
        assert!(error.to_string().contains('3'), "{error}");
        let log = fs::read_to_string(here.join("log")).unwrap();
        let expected = format!(
            "$ sh -c '{script}'\n/usr/bin:/bin\n{}\nfrom abx\n",
            here.display()
        );
        assert_eq!(log, expected);
    }

    #[test]
    fn a_stopped_command_leaves_nothing_running() {
        // Method: a script with a child, which is stopped once both run. It can clean up, and
        // neither process is left.
        let folder = tempfile::tempdir().unwrap();
        let interrupt = Interrupt::watch().unwrap();
        let flag = interrupt.flag();
        let pids = folder.path().join("pids");
        let script = "trap 'echo > in_order; exit' TERM; sleep 600 & \
                      echo $$ $! > draft; mv draft pids; wait";
        let error = std::thread::scope(|scope| {
            let running = scope.spawn(|| run(script, folder.path(), &interrupt));
            let deadline = Instant::now() + Duration::from_secs(30);
            while !pids.exists() && Instant::now() < deadline {
                sleep(LOOK_EVERY);
            }
            flag.store(true, Ordering::Relaxed);
            running.join().unwrap().unwrap_err()
        });
        assert!(matches!(error, CommandError::Interrupted), "{error}");
        let pids = fs::read_to_string(pids).unwrap();
        let pids: Vec<u32> = pids
            .split_whitespace()
            .map(|pid| pid.parse().unwrap())
            .collect();
        assert_eq!(pids.len(), 2);
        for pid in pids {
            let process = Process::find(pid).unwrap();
            assert!(process.is_none_or(|process| !process.is_alive()));
        }
        assert!(folder.path().join("in_order").exists());
        let again = run("echo > started", folder.path(), &interrupt).unwrap_err();
        assert!(matches!(again, CommandError::Interrupted), "{again}");
        assert!(!folder.path().join("started").exists());
    }

    #[test]
    fn a_command_that_takes_too_long_is_ended_with_its_children() {
        // Method: a script that waits for a child, with a deadline that has passed, so that abx
        // ends it while it starts the child. The child must be gone.
        let folder = tempfile::tempdir().unwrap();
        let interrupt = Interrupt::watch().unwrap();
        let words = ["sh", "-c", "sleep 600 & echo $! > pid; wait"].map(str::to_owned);
        let call = LoggedCommand {
            words: &words,
            directory: folder.path(),
            path: "/usr/bin:/bin",
            variables: &[],
            without: &[],
            deadline: Some(Instant::now()),
            log: &folder.path().join("log"),
        };
        let error = call.run(&interrupt).unwrap_err();
        assert!(matches!(error, CommandError::TooLong), "{error}");
        let pid = fs::read_to_string(folder.path().join("pid")).unwrap_or_default();
        if let Ok(pid) = pid.trim().parse() {
            let process = Process::find(pid).unwrap();
            assert!(process.is_none_or(|process| !process.is_alive()));
        }
    }

    #[test]
    fn variables_of_abx_can_be_removed() {
        // Method: a script that prints a variable that cargo sets, kept and removed.
        let folder = tempfile::tempdir().unwrap();
        let interrupt = Interrupt::watch().unwrap();
        let words = ["sh", "-c", "echo ${CARGO_MANIFEST_DIR-none}"].map(str::to_owned);
        let log = folder.path().join("log");
        let run = |without: &[&str]| {
            let call = LoggedCommand {
                words: &words,
                directory: folder.path(),
                path: "/usr/bin:/bin",
                variables: &[],
                without,
                deadline: None,
                log: &log,
            };
            call.run(&interrupt).unwrap();
            let text = fs::read_to_string(&log).unwrap();
            text.lines().last().unwrap().to_owned()
        };
        assert_eq!(run(&[]), env!("CARGO_MANIFEST_DIR"));
        assert_eq!(run(&["CARGO_MANIFEST_DIR"]), "none");
    }

    #[test]
    fn a_missing_program_is_named() {
        // Method: a name that no program has.
        let folder = tempfile::tempdir().unwrap();
        let interrupt = Interrupt::watch().unwrap();
        let words = ["abx-has-no-such-program".to_owned()];
        let call = LoggedCommand {
            words: &words,
            directory: folder.path(),
            path: "/usr/bin",
            variables: &[],
            without: &[],
            deadline: None,
            log: &folder.path().join("log"),
        };
        let message = call.run(&interrupt).unwrap_err().to_string();
        assert!(message.contains("`abx-has-no-such-program`"), "{message}");
    }
}
