//! Keeping one server under test.
//!
//! abx starts itself again as a *keeper*, in a process group of its own. The
//! keeper starts the server, adopts whatever the server forks, and ends all of
//! it when told or when its pipe from abx closes, which also happens when abx
//! is killed. [`Keeper`] is the handle in abx, [`keep`] the keeper's own body.

mod keep;
mod protocol;
mod scratch;

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::Duration;

use abx_sys::Nanos;
use abx_sys::process::{Exit, Signal};
use abx_sys::tree::{Relative, descendants};
use serde::{Deserialize, Serialize};

use crate::process::log_tail::log_tail;
pub use crate::study::launch::Stop;
pub use keep::keep;
pub use protocol::{FileContent, KeeperPlan, SCRATCH_EMPTY, ScratchFile};
use protocol::{KeeperReport, StartFailure};

/// How much longer than its plan's `within` a keeper may take to end its tree.
const STOP_GRACE: Duration = Duration::from_secs(10);
/// How long a keeper may take to start the command.
const START_WITHIN: Duration = Duration::from_secs(10);
/// For a lost keeper's tree that forks while it is being killed.
const KILL_ROUNDS_MAX: usize = 100;

/// Why a command is not running under a keeper.
#[derive(Debug, thiserror::Error)]
pub enum KeeperError {
    /// The keeper itself could not be started.
    #[error("cannot start the keeper {}: {source}", program.display())]
    NoKeeper {
        /// The program that should have become the keeper.
        program: PathBuf,
        /// What the kernel says.
        source: io::Error,
    },
    /// The keeper ended or was silent before it told how the start went.
    #[error(
        "the keeper of `{command}` did not tell within {} s whether it started: is the machine \
         overloaded, or out of memory?",
        START_WITHIN.as_secs()
    )]
    Silent {
        /// The command that should run.
        command: String,
    },
    /// There is no such command.
    #[error(
        "command `{command}` not found: install it, or write its full path in the subject's \
         `command`; a script also needs the program that its first line names"
    )]
    CommandNotFound {
        /// The command as it was given.
        command: String,
    },
    /// The command is there but may not be executed.
    #[error(
        "command `{command}` may not be executed: is it a program, and is it marked so (chmod +x)?"
    )]
    PermissionDenied {
        /// The command as it was given.
        command: String,
    },
    /// Something else that the command needs could not be had.
    #[error("cannot start `{command}`: {why}")]
    CannotStart {
        /// The command as it was given.
        command: String,
        /// What failed, on which file or setting.
        why: String,
    },
}

/// Whether the server runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessState {
    /// It runs. A server that went into the background runs, too.
    Running,
    /// It has ended by itself.
    Exited(Exit),
    /// The keeper is gone without a word, somebody must have killed it.
    Lost,
}

/// How the life of a kept command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessEnd {
    /// How the command itself ended, `None` when nobody saw it.
    pub exit: Option<Exit>,
    /// What it took to end it.
    pub manner: EndManner,
}

/// What it took to end a kept command and all that it had started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndManner {
    /// It had ended before it was told to stop.
    ByItself,
    /// Everything ended in time after the stop signal.
    WhenTold,
    /// So many processes did not end in time and were killed.
    Killed(usize),
    /// The keeper did not answer; it and what it kept were killed.
    KeeperLost,
}

/// A command that runs under its keeper; stopped when dropped.
#[derive(Debug)]
pub struct Keeper {
    child: Child,
    /// Closed to make the keeper stop.
    pipe: Option<ChildStdin>,
    reports: Receiver<KeeperReport>,
    plan: KeeperPlan,
    /// Where this command's part of the log file begins.
    output_start: u64,
    exited: Option<Exit>,
    /// How many processes the keeper had to kill, once it has finished.
    killed: Option<usize>,
    ending: Option<ProcessEnd>,
}

impl Keeper {
    /// Starts `program` with `arguments` as a keeper (it must call [`keep`]) and
    /// waits until the plan's command runs.
    ///
    /// Running is not ready: it may still fail a moment later, see [`Keeper::state`].
    ///
    /// # Errors
    /// [`KeeperError`]; nothing is left running then.
    pub fn start(
        program: &Path,
        arguments: &[&str],
        plan: &KeeperPlan,
    ) -> Result<Keeper, KeeperError> {
        let command = plan.program.clone();
        let mut keeper =
            Keeper::launch(program, arguments, plan).map_err(|source| KeeperError::NoKeeper {
                program: program.to_owned(),
                source,
            })?;
        match keeper.hand_over_plan()? {
            Some(KeeperReport::Started { .. }) => Ok(keeper),
            Some(KeeperReport::Failed { why }) => Err(match why {
                StartFailure::CommandNotFound => KeeperError::CommandNotFound { command },
                StartFailure::PermissionDenied => KeeperError::PermissionDenied { command },
                StartFailure::Other(why) => KeeperError::CannotStart { command, why },
            }),
            _ => Err(KeeperError::Silent { command }),
        }
    }

    fn launch(program: &Path, arguments: &[&str], plan: &KeeperPlan) -> io::Result<Keeper> {
        let output_start = std::fs::metadata(&plan.log).map_or(0, |log| log.len());
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // So that a terminal's Ctrl-C reaches abx alone.
            .process_group(0)
            .spawn()?;
        let pipe = child.stdin.take();
        let stdout = child.stdout.take().expect("standard output is a pipe");
        let reports = match read_reports(stdout) {
            Ok(reports) => reports,
            Err(error) => {
                // It has no plan yet, so there is nothing but itself.
                let _ = child.kill();
                let _ = child.wait();
                return Err(error);
            }
        };
        Ok(Keeper {
            child,
            pipe,
            reports,
            plan: plan.clone(),
            output_start,
            exited: None,
            killed: None,
            ending: None,
        })
    }

    /// Gives the keeper its plan and waits for the first report, `None` when there is none.
    fn hand_over_plan(&mut self) -> Result<Option<KeeperReport>, KeeperError> {
        let mut line =
            serde_json::to_vec(&self.plan).map_err(|error| KeeperError::CannotStart {
                command: self.plan.program.clone(),
                why: format!("its plan cannot be handed over: {error}"),
            })?;
        line.push(b'\n');
        let is_written = self
            .pipe
            .as_mut()
            .is_some_and(|pipe| pipe.write_all(&line).is_ok());
        let report = is_written.then(|| self.reports.recv_timeout(START_WITHIN).ok());
        Ok(report.flatten())
    }

    /// The keeper's process number: the root of the server's
    /// [`ProcTree`](abx_sys::ProcTree).
    #[must_use]
    pub fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// Whether the server runs, without waiting.
    pub fn state(&mut self) -> ProcessState {
        let silence = loop {
            match self.reports.try_recv() {
                Ok(report) => self.note(&report),
                Err(silence) => break silence,
            }
        };
        match (self.exited, silence) {
            (Some(exit), _) => ProcessState::Exited(exit),
            (None, TryRecvError::Empty) => ProcessState::Running,
            (None, TryRecvError::Disconnected) => ProcessState::Lost,
        }
    }

    /// The last lines that the command has printed, on standard output and
    /// standard error, made harmless for a terminal. Empty when there are none
    /// or the log file cannot be read.
    #[must_use]
    pub fn output_tail(&self, lines: usize) -> String {
        log_tail(&self.plan.log, self.output_start, lines).unwrap_or_default()
    }

    /// Ends the command and all that it has started. Waits for that, at most
    /// the plan's `within` and ten seconds.
    #[must_use]
    pub fn stop(mut self) -> ProcessEnd {
        self.finish()
    }

    fn note(&mut self, report: &KeeperReport) {
        match report {
            KeeperReport::Exited(exit) => self.exited = Some(*exit),
            KeeperReport::Finished { killed } => self.killed = Some(*killed),
            KeeperReport::Started { .. } | KeeperReport::Failed { .. } => {}
        }
    }

    fn finish(&mut self) -> ProcessEnd {
        if let Some(ending) = self.ending {
            return ending;
        }
        let ended_before = matches!(self.state(), ProcessState::Exited(_));
        drop(self.pipe.take());
        self.wait_for_the_end();
        let manner = match self.killed {
            Some(_) if ended_before => EndManner::ByItself,
            Some(0) => EndManner::WhenTold,
            Some(killed) => EndManner::Killed(killed),
            None => {
                self.kill_all();
                EndManner::KeeperLost
            }
        };
        // It has closed its standard output or was killed, so this is short.
        let _ = self.child.wait();
        let ending = ProcessEnd {
            exit: self.exited,
            manner,
        };
        self.ending = Some(ending);
        ending
    }

    /// Takes in what the keeper still has to say, until it ends or its time is over.
    fn wait_for_the_end(&mut self) {
        let within = self.plan.stop.within.saturating_add(STOP_GRACE);
        let deadline = Nanos::now().plus(within.into());
        while let Ok(report) = self
            .reports
            .recv_timeout(deadline.since(Nanos::now()).into())
        {
            self.note(&report);
        }
    }

    /// Children first: without their keeper they could no longer be found.
    fn kill_all(&mut self) {
        for _ in 0..KILL_ROUNDS_MAX {
            let left = descendants(self.child.id()).unwrap_or_default();
            let is_killed =
                |relative: &&Relative| matches!(relative.process.signal(Signal::Kill), Ok(true));
            if left.iter().filter(is_killed).count() == 0 {
                break;
            }
        }
        let _ = self.child.kill();
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Reads a keeper's reports on a thread of its own, which sleeps in between,
/// so that nobody who has other work ever waits for a pipe.
fn read_reports(stdout: ChildStdout) -> io::Result<Receiver<KeeperReport>> {
    let (sender, reports) = channel();
    std::thread::Builder::new()
        .name("keeper-reports".to_owned())
        .spawn(move || {
            for line in BufReader::new(stdout).lines() {
                // What is not a report counts as silence, as a lost keeper does.
                let Some(report) = line.ok().and_then(|line| serde_json::from_str(&line).ok())
                else {
                    return;
                };
                if sender.send(report).is_err() {
                    return;
                }
            }
        })?;
    Ok(reports)
}
