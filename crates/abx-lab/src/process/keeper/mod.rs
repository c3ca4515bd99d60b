//! Keeps one server under test.
//!
//! abx starts itself again as a *guardian*, in a process group of its own, and the guardian starts
//! itself again as a *keeper*. The keeper starts the server, adopts the processes that the server
//! forks, and ends them all on request or when its pipe closes.
//!
//! Each of the three cleans up when the others are killed: the pipe of a keeper that is left alone
//! closes. The guardian adopts the processes of a killed keeper, and abx adopts them if the
//! guardian is gone too. The three have different names, since people kill by name.
//!
//! [`Keeper`] is the handle in abx, [`keep`] the body of the other two.

mod container;
mod family;
mod first_report;
mod guard;
mod keep;
mod lost;
mod orphans;
mod protocol;
mod role;
mod scratch;
mod wakes;

use std::io::{self, BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::Duration;

use abx_sys::Nanos;
use abx_sys::process::{Exit, Process, ProcessStat, adopt_orphans};
use serde::{Deserialize, Serialize};

use crate::process::log_tail::log_tail;
pub use abx_study::launch::Stop;
pub use container::KeptContainer;
pub(crate) use container::wait_within;
#[cfg(test)]
pub(crate) use container::write_program;
use first_report::{FirstReport, first_report};
use lost::{STOP_GRACE, end_what_is_left};
pub use protocol::{FileContent, KeeperPlan, SCRATCH_EMPTY, ScratchFile};
use protocol::{KeeperCommand, KeeperReport, KeeperRole, StartFailure};
pub use role::keep;
pub(crate) use scratch::sweep_once;

/// How long a keeper may be silent before the command runs. It reports its progress with files, so
/// they may take longer than this.
const SILENCE_MAX: Duration = Duration::from_secs(10);

/// Why a command is not running under a keeper.
#[derive(Debug, thiserror::Error)]
pub enum KeeperError {
    #[error(
        "cannot start the keeper {}: {source}; the limits of this machine are `ulimit -u`, `ulimit \
         -v` and `pids.max` of the control group: raise one, or end other programs",
        program.display()
    )]
    NoKeeper {
        /// The program that should have become the keeper.
        program: PathBuf,
        source: io::Error,
    },
    #[error(
        "the keeper of `{command}` did not report within {} s whether it started: is the machine \
         overloaded, or out of memory?",
        SILENCE_MAX.as_secs()
    )]
    Silent { command: String },
    #[error(
        "the files for `{command}` are incomplete: {made} of {bytes} bytes, and none for {} s: is \
         the disk overloaded? TMPDIR sets where abx makes them",
        SILENCE_MAX.as_secs()
    )]
    Stalled {
        command: String,
        /// Bytes of the files that exist.
        made: u64,
        /// Bytes of all files.
        bytes: u64,
    },
    #[error("stopped")]
    Stopped,
    #[error(
        "command `{command}` not found: install it, or write its full path in the subject's \
         `command`; a script also needs the program that its first line names"
    )]
    CommandNotFound { command: String },
    #[error("command `{command}` may not be executed: is it a program, and executable (chmod +x)?")]
    PermissionDenied { command: String },
    #[error("cannot start `{command}`: {why}")]
    CannotStart {
        command: String,
        /// The failed action, with its file or setting.
        why: String,
    },
}

/// Whether the server runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessState {
    /// It runs, possibly in the background.
    Running,
    Exited(Exit),
    /// The keeper is gone without a report, so it was killed.
    Lost,
}

/// How a kept command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessEnd {
    /// How the command itself ended, `None` if that was not seen.
    pub exit: Option<Exit>,
    pub manner: EndManner,
}

/// What ended a kept command and all that it had started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndManner {
    /// It had ended before abx requested that.
    ByItself,
    /// Everything ended in time after the stop signal.
    WhenTold,
    /// This many processes did not end in time and were killed.
    Killed(usize),
    /// The keeper did not respond; it and its processes were killed.
    KeeperLost,
}

/// A command that runs under its keeper. It is stopped when this is dropped.
#[derive(Debug)]
pub struct Keeper {
    guardian: Child,
    /// The guardian, and the keeper once it has reported its number.
    processes: Vec<Process>,
    /// Closed to make the keeper stop.
    pipe: Option<ChildStdin>,
    reports: Receiver<KeeperReport>,
    plan: KeeperPlan,
    /// The text that identifies this start in its scratch folder.
    owner: String,
    since: Nanos,
    until: Option<Nanos>,
    /// Where this command's part of the log file begins.
    output_start: u64,
    exited: Option<Exit>,
    /// How many processes the keeper had to kill, once it has finished.
    killed: Option<usize>,
    /// Whether the guardian has reported that the keeper was killed.
    is_lost: bool,
    ending: Option<ProcessEnd>,
}

impl Keeper {
    /// Starts `program` with `arguments` as a keeper (it must call [`keep`]) and
    /// waits until the plan's command runs.
    ///
    /// Running is not ready: it may still fail a moment later, see [`Keeper::state`]. The wait ends
    /// early when `is_stopped` returns true.
    ///
    /// # Errors
    /// [`KeeperError`]; nothing is left running then.
    pub fn start(
        program: &Path,
        arguments: &[&str],
        plan: &KeeperPlan,
        is_stopped: &dyn Fn() -> bool,
        on_made: &dyn Fn(u64),
    ) -> Result<Keeper, KeeperError> {
        let command = plan.program.clone();
        let mut keeper =
            Keeper::launch(program, arguments, plan).map_err(|source| KeeperError::NoKeeper {
                program: program.to_owned(),
                source,
            })?;
        keeper.hand_over_plan()?;
        match first_report(&keeper.reports, SILENCE_MAX, is_stopped, on_made) {
            FirstReport::Started {
                keeper: number,
                since,
            } => {
                keeper.note_keeper(number);
                keeper.since = since;
                Ok(keeper)
            }
            FirstReport::Failed(why) => Err(match why {
                StartFailure::CommandNotFound => KeeperError::CommandNotFound { command },
                StartFailure::PermissionDenied => KeeperError::PermissionDenied { command },
                StartFailure::NoKeeper(why) => KeeperError::NoKeeper {
                    program: program.to_owned(),
                    source: io::Error::other(why),
                },
                StartFailure::Other(why) => KeeperError::CannotStart { command, why },
            }),
            FirstReport::Silent { made: None } => Err(KeeperError::Silent { command }),
            FirstReport::Silent { made: Some(made) } => Err(KeeperError::Stalled {
                command,
                made,
                bytes: plan.files.iter().map(|file| file.content.bytes()).sum(),
            }),
            FirstReport::Stopped => Err(KeeperError::Stopped),
        }
    }

    fn launch(program: &Path, arguments: &[&str], plan: &KeeperPlan) -> io::Result<Keeper> {
        let output_start = std::fs::metadata(&plan.log).map_or(0, |log| log.len());
        adopt_orphans()?;
        let mut guardian = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // So that a terminal's Ctrl-C reaches abx alone.
            .process_group(0)
            .spawn()?;
        let pipe = guardian.stdin.take();
        let stdout = guardian.stdout.take().expect("standard output is a pipe");
        let reports = match read_reports(stdout) {
            Ok(reports) => reports,
            Err(error) => {
                // It has no plan yet, so it has started nothing.
                let _ = guardian.kill();
                let _ = guardian.wait();
                return Err(error);
            }
        };
        Ok(Keeper {
            processes: Process::find(guardian.id())?.into_iter().collect(),
            guardian,
            pipe,
            reports,
            plan: plan.clone(),
            // Process numbers repeat, and each PID namespace has its own.
            owner: format!("{} {}", std::process::id(), Nanos::now().0),
            since: Nanos::now(),
            until: None,
            output_start,
            exited: None,
            killed: None,
            is_lost: false,
            ending: None,
        })
    }

    /// Notes the keeper's number, if it is the guardian's child: all processes below it may be
    /// killed.
    fn note_keeper(&mut self, number: u32) {
        let stat = ProcessStat::read(number).ok().flatten();
        let is_ours = |stat: &ProcessStat| stat.parent == self.guardian.id();
        let keeper = stat.filter(is_ours).map(|stat| stat.process(number));
        self.processes.extend(keeper);
    }

    /// Gives the keeper its plan. If the keeper is gone, its missing report will show that.
    fn hand_over_plan(&mut self) -> Result<(), KeeperError> {
        let command = KeeperCommand {
            role: KeeperRole::Guardian,
            plan: self.plan.clone(),
            owner: self.owner.clone(),
        };
        match self.pipe.as_mut().map(|pipe| command.write(pipe)) {
            Some(Err(error)) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(KeeperError::CannotStart {
                    command: self.plan.program.clone(),
                    why: format!("its plan cannot be handed over: {error}"),
                })
            }
            _ => Ok(()),
        }
    }

    /// The keeper's process number: the root of the server's
    /// [`ProcTree`](abx_sys::ProcTree).
    #[must_use]
    pub fn process_id(&self) -> u32 {
        self.processes
            .last()
            .map_or(self.guardian.id(), |keeper| keeper.pid)
    }

    /// The plan that it executes.
    #[must_use]
    pub fn plan(&self) -> &KeeperPlan {
        &self.plan
    }

    /// The moment at which the command was started.
    #[must_use]
    pub fn since(&self) -> Nanos {
        self.since
    }

    /// The moment at which the command ended, once [`Keeper::state`] has reported its end.
    #[must_use]
    pub fn until(&self) -> Option<Nanos> {
        self.until
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
            (None, TryRecvError::Empty) if !self.is_lost => ProcessState::Running,
            (None, _) => ProcessState::Lost,
        }
    }

    /// The last lines that the command has printed on standard output and standard error, made
    /// harmless for a terminal. Empty without output, or if the log file cannot be read.
    #[must_use]
    pub fn output_tail(&self, lines: usize) -> String {
        log_tail(&self.plan.log, self.output_start, lines).unwrap_or_default()
    }

    /// How many bytes the command has printed; 0 if the log file cannot be read.
    #[must_use]
    pub fn output_bytes(&self) -> u64 {
        let log = std::fs::metadata(&self.plan.log);
        log.map_or(0, |log| log.len().saturating_sub(self.output_start))
    }

    /// Ends the command and all that it has started, and waits for that: at most for the plan's
    /// `within` and ten seconds.
    #[must_use]
    pub fn stop(mut self) -> ProcessEnd {
        self.finish()
    }

    fn note(&mut self, report: &KeeperReport) {
        match report {
            KeeperReport::Exited { exit, at_ns } => {
                self.exited = Some(*exit);
                self.until = Some(Nanos(*at_ns));
            }
            KeeperReport::Finished { killed } => self.killed = Some(*killed),
            KeeperReport::Lost => self.is_lost = true,
            KeeperReport::Making { .. }
            | KeeperReport::Started { .. }
            | KeeperReport::Failed { .. } => {}
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
                end_what_is_left(&self.processes, self.guardian.id());
                if let Some(container) = &self.plan.container {
                    container.remove();
                }
                EndManner::KeeperLost
            }
        };
        // The guardian has closed its standard output or was killed, so this is short.
        let _ = self.guardian.wait();
        // If guardian and keeper were killed, only abx can still do it.
        scratch::clear(&self.plan, &self.owner);
        let ending = ProcessEnd {
            exit: self.exited,
            manner,
        };
        self.ending = Some(ending);
        ending
    }

    /// Reads the remaining reports until the keeper ends or its time is over.
    fn wait_for_the_end(&mut self) {
        let grace = match self.plan.container {
            None => STOP_GRACE,
            Some(_) => STOP_GRACE + KeptContainer::STOP_GRACE,
        };
        let within = self.plan.stop.within.saturating_add(grace);
        let deadline = Nanos::now().plus(within.into());
        while let Ok(report) = self
            .reports
            .recv_timeout(deadline.since(Nanos::now()).into())
        {
            self.note(&report);
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Reads a keeper's reports on a thread of its own, so that no thread with other work ever waits
/// for a pipe.
fn read_reports(stdout: ChildStdout) -> io::Result<Receiver<KeeperReport>> {
    let (sender, reports) = channel();
    std::thread::Builder::new()
        .name("keeper-reports".to_owned())
        .spawn(move || {
            for line in BufReader::new(stdout).lines() {
                // A line that is not a report counts as silence, as a lost keeper does.
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
