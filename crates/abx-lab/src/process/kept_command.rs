//! A command that prepares something for a study and ends, such as one that fills a database. It
//! runs under a keeper, so nothing of it outlives abx.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use abx_sys::ServerAddress;
use abx_sys::process::Exit;

use crate::process::keeper::{Keeper, KeeperError, KeeperPlan, ProcessState, SCRATCH_EMPTY};
use crate::process::log_tail::SHOWN_LINES;
use crate::process::start_context::StartContext;
use abx_study::launch::Launch;
use abx_study::placeholder::FilledWord;

/// How often abx checks whether the command has ended.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// The context of a command that uses a running server.
pub struct CommandContext {
    pub address: ServerAddress,
    /// The folder of the server's start.
    pub scratch: PathBuf,
    /// The values of placeholders, by their dotted names.
    pub words: Vec<FilledWord>,
    /// How the server is started.
    pub launch: Launch,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandEnd {
    /// With exit code 0.
    Well,
    Failed {
        how: String,
        /// The end of its output.
        output: String,
    },
    Stopped,
}

/// Makes a process put its temporary files in its own folder, which is removed after it.
pub fn temporary_files(directory: &Path) -> (String, String) {
    (
        "TMPDIR".to_owned(),
        directory.to_string_lossy().into_owned(),
    )
}

impl CommandContext {
    /// Runs a command until it has ended or its time is over, and then ends the processes that
    /// remain.
    ///
    /// # Errors
    /// [`KeeperError`] when it does not start.
    pub fn run(
        &self,
        command: &[String],
        within: Duration,
        start: &StartContext,
    ) -> Result<CommandEnd, KeeperError> {
        let began = Instant::now();
        let launch = Launch {
            command: command.to_vec(),
            templates: Vec::new(),
            ..self.launch.clone()
        };
        let dir = self.scratch.join(SCRATCH_EMPTY);
        let filled = launch.fill(self.address.port(), &dir, &self.words);
        let mut words = filled.command.into_iter();
        let plan = KeeperPlan {
            program: words.next().unwrap_or_default(),
            arguments: words.collect(),
            directory: self.launch.start_folder(),
            environment: std::iter::once(temporary_files(&dir))
                .chain(filled.environment)
                .collect(),
            cpus: Some(start.cpus.to_vec()),
            descriptors: Some(start.descriptors),
            log: self.scratch.join("log-beside"),
            scratch: None,
            files: Vec::new(),
            stop: Launch::STOP,
            container: None,
            outlives_main: false,
        };
        let is_stopped = || start.stopper.is_stopped();
        let (program, arguments) = (start.program, start.keeper_arguments);
        let keeper = Keeper::start(program, arguments, &plan, &is_stopped, &|_| {});
        let mut keeper = match keeper {
            Err(KeeperError::Stopped) => return Ok(CommandEnd::Stopped),
            keeper => keeper?,
        };
        let how = loop {
            match keeper.state() {
                ProcessState::Exited(Exit::Code(0)) => return Ok(CommandEnd::Well),
                ProcessState::Exited(exit) => break exit.to_string(),
                ProcessState::Lost => break "its keeper was killed".to_owned(),
                ProcessState::Running if is_stopped() => return Ok(CommandEnd::Stopped),
                ProcessState::Running if began.elapsed() >= within => {
                    break format!("it did not end within {} s", within.as_secs_f64());
                }
                ProcessState::Running => std::thread::sleep(LOOK_EVERY),
            }
        };
        Ok(CommandEnd::Failed {
            how,
            output: keeper.output_tail(SHOWN_LINES),
        })
    }
}
