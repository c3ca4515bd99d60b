//! One subject in one block: started, found ready, watched, stopped.

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use abx_engine::{Patience, Stopper};
use abx_evidence::record::{BlockSubject, InUse, ListenerRecord};
use abx_sys::Nanos;
use abx_sys::limits::DescriptorLimit;
use abx_sys::ports::{FreePort, PortError};
use abx_sys::tree::ProcTree;

use crate::process::generated_files::GeneratedFiles;
use crate::process::keeper::{
    EndManner, FileContent, Keeper, KeeperError, KeeperPlan, ProcessEnd, ProcessState,
    SCRATCH_EMPTY, ScratchFile,
};
use crate::process::listener;
use crate::process::log_tail::SHOWN_LINES;
use crate::process::pending::{PENDING_FROM, Pending};
use crate::process::probe::Probe;
use crate::process::verify::{ReadinessOutcome, VerifyError, wait_ready};
use crate::study::GeneratedFile;
use crate::study::launch::Launch;
use crate::study::subject::Source;

/// Why a subject is not there to be loaded.
#[derive(Debug, thiserror::Error)]
pub enum SubjectProcessError {
    /// No port for it.
    #[error("no port for {name}: {source}")]
    Port {
        /// The subject.
        name: String,
        /// Why not.
        source: PortError,
    },
    /// It does not start.
    #[error("{name} does not start: {source}")]
    Start {
        /// The subject.
        name: String,
        /// Why not.
        source: KeeperError,
    },
    /// It ended before it was ready, or under load.
    #[error("{name} ended {when} ({how}){}", tail(.output))]
    Ended {
        /// The subject.
        name: String,
        /// Before or under what.
        when: &'static str,
        /// Its exit code or signal.
        how: String,
        /// The end of its output.
        output: String,
    },
    /// It was not ready in time.
    #[error(
        "{name} was not ready within {} ({why}). Does it listen on 127.0.0.1, and on \
         the port in {{port}}?{}", waited(*.within, *.is_budget), tail(.output)
    )]
    NotReady {
        /// The subject.
        name: String,
        /// How long it had.
        within: Duration,
        /// Whether the budget allowed no longer.
        is_budget: bool,
        /// What it did instead.
        why: String,
        /// The end of its output.
        output: String,
    },
    /// Somebody else answers on its port.
    #[error(
        "{name} was given port {port}, and another program listens there: its answers would be \
         measured instead{}", tail(.output)
    )]
    Foreign {
        /// The subject.
        name: String,
        /// Its port.
        port: u16,
        /// The end of its output.
        output: String,
    },
    /// It runs, and leaves requests unanswered.
    #[error(
        "{name} {how}: try it alone with `abx run`, with fewer connections (`-c`), and look at \
         its log"
    )]
    Unanswered {
        /// The subject.
        name: String,
        /// What it did, and what became of the requests.
        how: String,
    },
    /// Its answer is wrong.
    #[error("{0}")]
    Answer(#[from] VerifyError),
}

impl SubjectProcessError {
    /// Whether nothing is wrong with the subject: the person stopped abx.
    #[must_use]
    pub fn is_stop(&self) -> bool {
        match self {
            SubjectProcessError::Start { source, .. } => matches!(source, KeeperError::Stopped),
            SubjectProcessError::Answer(error) => error.is_stop(),
            _ => false,
        }
    }
}

/// How long a start had, and who set that.
fn waited(within: Duration, is_budget: bool) -> String {
    let time = match within.as_secs() {
        0 => format!("{} ms", within.as_millis()),
        seconds => format!("{seconds} s"),
    };
    match is_budget {
        true => format!("{time}, which is all that `--budget` left"),
        false => time,
    }
}

fn tail(output: &str) -> String {
    if output.is_empty() {
        String::new()
    } else {
        format!("; the end of its output:\n{output}")
    }
}

/// What every start needs beside the subject itself.
pub struct StartContext<'a> {
    /// The program that becomes a keeper when given `keeper_arguments`.
    pub program: &'a Path,
    /// See `program`.
    pub keeper_arguments: &'a [&'a str],
    /// Processors of the subjects.
    pub cpus: &'a [usize],
    /// File descriptors that a subject may have.
    pub descriptors: DescriptorLimit,
    /// Files that are made for every subject.
    pub files: &'a [GeneratedFile],
    /// What made files are drawn from.
    pub seed: u64,
    /// Whether what it starts may go on when its main process fails.
    pub outlives_main: bool,
    /// Ends the start, too.
    pub stopper: Stopper,
    /// Draws a number below the given one.
    pub draw: &'a mut dyn FnMut(u32) -> u32,
    /// Told what is waited for.
    pub on_pending: &'a dyn Fn(Pending),
}

/// A subject that runs.
pub struct SubjectProcess {
    name: String,
    /// Where it listens.
    pub address: SocketAddr,
    /// `None` for a server that abx leaves alone.
    keeper: Option<Keeper>,
    /// Given to nobody else until the server has stopped.
    _port: Option<FreePort>,
    files: GeneratedFiles,
    started: Instant,
    ready_s: Option<f64>,
}

impl SubjectProcess {
    /// Starts a server under this name, or takes note of where it runs.
    ///
    /// # Errors
    /// [`SubjectProcessError::Port`], [`SubjectProcessError::Folder`], [`SubjectProcessError::Start`].
    pub fn start(
        name: &str,
        source: &Source,
        start: &mut StartContext,
    ) -> Result<SubjectProcess, SubjectProcessError> {
        let (address, kept, files) = match source {
            Source::Address(target) => (target.address, None, GeneratedFiles::default()),
            Source::Command(launch) => {
                let (port, keeper, files) = start_kept(name, launch, start)?;
                let address = SocketAddr::from(([127, 0, 0, 1], port.number()));
                (address, Some((keeper, port)), files)
            }
        };
        let (keeper, port) = kept.unzip();
        Ok(SubjectProcess {
            name: name.to_owned(),
            address,
            keeper,
            _port: port,
            files,
            started: Instant::now(),
            ready_s: None,
        })
    }

    /// Drops the files that abx made for it from memory, and counts the pages that
    /// stayed; `None` where that cannot be done.
    pub fn drop_files(&mut self) -> Option<InUse> {
        self.files.drop_from_memory().ok().flatten()
    }

    /// Waits until it answers rightly, at most as long as it may take and not beyond
    /// the deadline.
    ///
    /// # Errors
    /// [`SubjectProcessError::Ended`], [`SubjectProcessError::NotReady`], [`SubjectProcessError::Foreign`],
    /// [`SubjectProcessError::Answer`].
    pub fn wait_ready(
        &mut self,
        source: &Source,
        probe: &Probe,
        stopper: &Stopper,
        deadline: Option<Nanos>,
        on_pending: &dyn Fn(Pending),
    ) -> Result<(), SubjectProcessError> {
        let Source::Command(launch) = source else {
            // It runs already; verification will tell what it answers.
            return Ok(());
        };
        let waited = self.started.elapsed();
        let left = launch.ready.within.saturating_sub(waited);
        let left = deadline.map_or(left, |deadline| {
            left.min(deadline.since(Nanos::now()).into())
        });
        let within = (waited + left).min(launch.ready.within);
        let keeper = &mut self.keeper;
        let gone = || {
            let state = keeper.as_mut().map(Keeper::state);
            !matches!(state, Some(ProcessState::Running)) || stopper.is_stopped()
        };
        let (name, started) = (&self.name, self.started);
        let on_wait = |_| {
            let waited = started.elapsed();
            if waited >= PENDING_FROM {
                let (subject, at_most) = (name.as_str(), within);
                on_pending(Pending::Ready {
                    subject,
                    waited,
                    at_most,
                });
            }
        };
        let patience = Patience {
            timeout: left,
            stopper: Some(stopper),
            on_wait: Some(&on_wait),
        };
        let ready = wait_ready(name, self.address, probe, patience, gone);
        on_pending(Pending::Over);
        match ready {
            None if stopper.is_stopped() => return Ok(()),
            None => return Err(self.ended("before it was ready")),
            Some(ReadinessOutcome::Late(why)) => {
                return Err(SubjectProcessError::NotReady {
                    name: self.name.clone(),
                    within,
                    is_budget: within < launch.ready.within,
                    why,
                    output: self.output(),
                });
            }
            Some(ReadinessOutcome::Wrong(wrong)) => return Err(wrong.into()),
            Some(ReadinessOutcome::Ready(first)) => {
                self.ready_s = Some(first.duration_since(self.started).as_secs_f64());
            }
        }
        let is_its_own = self
            .tree()
            .and_then(|mut tree| tree.listens_at(self.address).ok());
        if is_its_own == Some(false) {
            return Err(SubjectProcessError::Foreign {
                name: self.name.clone(),
                port: self.address.port(),
                output: self.output(),
            });
        }
        Ok(())
    }

    /// The keeper's process number; `None` of a server that abx leaves alone.
    #[must_use]
    pub fn keeper_id(&self) -> Option<u32> {
        self.keeper.as_ref().map(Keeper::process_id)
    }

    /// Stops it and starts it again on the same port, without waiting until it is ready.
    /// What abx leaves alone is left alone.
    ///
    /// # Errors
    /// [`SubjectProcessError::Start`].
    pub fn restart(
        &mut self,
        launch: &Launch,
        start: &mut StartContext,
    ) -> Result<(), SubjectProcessError> {
        if let Some(keeper) = self.keeper.take() {
            let _ = keeper.stop();
            let (keeper, files) = keep(&self.name, launch, self.address.port(), start)?;
            (self.keeper, self.files) = (Some(keeper), files);
        }
        Ok(())
    }

    /// Its processes, when they can be seen.
    #[must_use]
    pub fn tree(&self) -> Option<ProcTree> {
        match &self.keeper {
            Some(keeper) => ProcTree::new(keeper.process_id()).ok(),
            None => listener::tree(self.address),
        }
    }

    /// Whether it still runs, as far as abx keeps it.
    ///
    /// # Errors
    /// [`SubjectProcessError::Ended`].
    pub fn check(&mut self) -> Result<(), SubjectProcessError> {
        let state = self.keeper.as_mut().map(Keeper::state);
        match state {
            None | Some(ProcessState::Running) => Ok(()),
            Some(ProcessState::Exited(_) | ProcessState::Lost) => Err(self.ended("under load")),
        }
    }

    /// Stops it, when abx keeps it, and says how it ended.
    #[must_use]
    pub fn stop(mut self, died: bool) -> BlockSubject {
        let listener = match self.keeper {
            None => self.tree().and_then(|tree| listener_record(&tree)),
            Some(_) => None,
        };
        let end = match self.keeper.take().map(Keeper::stop) {
            None => "left running".to_owned(),
            Some(ending) => describe(&ending),
        };
        BlockSubject {
            port: self.address.port(),
            ready_s: self.ready_s,
            cpu_s: None,
            rss_bytes_max: None,
            end,
            died,
            listener,
        }
    }

    fn ended(&mut self, when: &'static str) -> SubjectProcessError {
        let state = self.keeper.as_mut().map(Keeper::state);
        let how = match state {
            Some(ProcessState::Exited(exit)) => exit.to_string(),
            _ => "its keeper was killed".to_owned(),
        };
        SubjectProcessError::Ended {
            name: self.name.clone(),
            when,
            how,
            output: self.output(),
        }
    }

    fn output(&self) -> String {
        let keeper = self.keeper.as_ref();
        keeper.map_or(String::new(), |keeper| keeper.output_tail(SHOWN_LINES))
    }
}

fn listener_record(tree: &ProcTree) -> Option<ListenerRecord> {
    let root = tree.root();
    Some(ListenerRecord {
        process_id: root.pid,
        name: root.name()?,
    })
}

fn start_kept(
    name: &str,
    launch: &Launch,
    start: &mut StartContext,
) -> Result<(FreePort, Keeper, GeneratedFiles), SubjectProcessError> {
    let no_port = |source| SubjectProcessError::Port {
        name: name.to_owned(),
        source,
    };
    let candidates = abx_sys::ports::candidates().map_err(no_port)?;
    let free = abx_sys::ports::free_port(candidates, start.draw).map_err(no_port)?;
    let (keeper, files) = keep(name, launch, free.number(), start)?;
    Ok((free, keeper, files))
}

/// Starts a server on a port.
fn keep(
    name: &str,
    launch: &Launch,
    port: u16,
    start: &mut StartContext,
) -> Result<(Keeper, GeneratedFiles), SubjectProcessError> {
    // The length of the environment moves the stack, and with it the speed.
    let padding = usize::try_from((start.draw)(4096)).unwrap_or_default();
    // A folder for each start, so that nothing of the last one is found in it.
    let scratch = format!("abx-{}-{name}-{port}", std::process::id());
    let scratch = std::env::temp_dir().join(scratch);
    let directory = scratch.join(SCRATCH_EMPTY);
    let filled = launch.fill(port, &directory);
    let mut words = filled.command.into_iter();
    let usual = [
        ("PORT".to_owned(), port.to_string()),
        ("ABX_PADDING".to_owned(), "x".repeat(padding)),
    ];
    let made = (0..).zip(start.files);
    let made = made.map(|(place, file)| random_file(file, start.seed.wrapping_add(place)));
    let written = filled.templates.into_iter().map(|template| ScratchFile {
        path: template.target,
        content: FileContent::Text(template.text),
    });
    let plan = KeeperPlan {
        program: words.next().unwrap_or_default(),
        arguments: words.collect(),
        directory: launch.start_folder(),
        environment: usual.into_iter().chain(filled.environment).collect(),
        cpus: Some(start.cpus.to_vec()),
        descriptors: Some(start.descriptors),
        log: scratch.join("log"),
        scratch: Some(scratch),
        files: made.chain(written).collect(),
        stop: launch.stop,
        outlives_main: start.outlives_main,
    };
    let all_bytes = plan.files.iter().map(|file| file.content.bytes()).sum();
    let is_stopped = || start.stopper.is_stopped();
    let on_made = |made_bytes| {
        (start.on_pending)(Pending::Files {
            subject: name,
            made_bytes,
            all_bytes,
        });
    };
    let (program, arguments) = (start.program, start.keeper_arguments);
    let keeper = Keeper::start(program, arguments, &plan, &is_stopped, &on_made);
    (start.on_pending)(Pending::Over);
    let keeper = keeper.map_err(|source| SubjectProcessError::Start {
        name: name.to_owned(),
        source,
    })?;
    Ok((keeper, GeneratedFiles::within(&directory, start.files)))
}

/// Each file has bytes of its own: the seeds count on from the study's.
fn random_file(file: &GeneratedFile, seed: u64) -> ScratchFile {
    ScratchFile {
        path: file.path.clone(),
        content: FileContent::Random {
            seed,
            bytes: file.bytes,
        },
    }
}

fn describe(ending: &ProcessEnd) -> String {
    let exit = ending
        .exit
        .map_or("end not seen".to_owned(), |exit| exit.to_string());
    match ending.manner {
        EndManner::ByItself => format!("by itself: {exit}"),
        EndManner::WhenTold => format!("when told: {exit}"),
        EndManner::Killed(count) => {
            format!("killed ({count} processes), since it did not end in time: {exit}")
        }
        EndManner::KeeperLost => "killed, its keeper was gone".to_owned(),
    }
}
