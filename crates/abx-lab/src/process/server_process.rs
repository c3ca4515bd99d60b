//! One start of a server, a subject's in a block or a service's: started, found ready,
//! watched, stopped.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use abx_engine::{Patience, Stopper};
use abx_evidence::record::{BlockSubject, InUse, ListenerRecord};
use abx_sys::Nanos;
use abx_sys::ports::{FreePort, PortError};
use abx_sys::tree::ProcTree;

use crate::process::generated_files::GeneratedFiles;
use crate::process::keeper::{
    EndManner, FileContent, Keeper, KeeperError, KeeperPlan, ProcessEnd, ProcessState,
    SCRATCH_EMPTY, ScratchFile,
};
use crate::process::kept_command::Surroundings;
use crate::process::listener;
use crate::process::log_tail::{SHOWN_LINES, behind};
use crate::process::pending::{PENDING_FROM, Pending};
use crate::process::probe::Probe;
pub use crate::process::start_context::StartContext;
use crate::process::verify::{ReadinessLook, ReadinessOutcome, VerifyError, look, wait_ready};
use crate::study::GeneratedFile;
use crate::study::launch::Launch;
use crate::study::placeholder::FilledWord;
use crate::study::service::leads;
use crate::study::subject::Source;

/// Why a server is not there.
#[derive(Debug, thiserror::Error)]
pub enum ServerProcessError {
    /// No port for it.
    #[error("no port for {name}: {source}")]
    Port {
        /// The server.
        name: String,
        /// Why not.
        source: PortError,
    },
    /// It does not start.
    #[error("{name} does not start: {source}")]
    Start {
        /// The server.
        name: String,
        /// Why not.
        source: KeeperError,
    },
    /// It ended before it was ready, or under load.
    #[error("{name} ended {when} ({how}){}", behind(.output))]
    Ended {
        /// The server.
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
         the port in {{port}}?{}", waited(*.within, *.is_budget), behind(.output)
    )]
    NotReady {
        /// The server.
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
         measured instead{}", behind(.output)
    )]
    Foreign {
        /// The server.
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
        /// The server.
        name: String,
        /// What it did, and what became of the requests.
        how: String,
    },
    /// Its answer is wrong.
    #[error("{0}")]
    Answer(#[from] VerifyError),
}

impl ServerProcessError {
    /// Whether nothing is wrong with the subject: the person stopped abx.
    #[must_use]
    pub fn is_stop(&self) -> bool {
        match self {
            ServerProcessError::Start { source, .. } => matches!(source, KeeperError::Stopped),
            ServerProcessError::Answer(error) => error.is_stop(),
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

/// A server that runs.
pub struct ServerProcess {
    name: String,
    /// Where it listens.
    pub address: SocketAddr,
    /// `None` for a server that abx leaves alone.
    keeper: Option<Keeper>,
    /// Given to nobody else until the server has stopped; the further ones have names.
    ports: Option<GivenPorts>,
    files: GeneratedFiles,
    started: Nanos,
    ready_s: Option<f64>,
}

/// The ports of a server.
struct GivenPorts {
    main: FreePort,
    further: Vec<(String, FreePort)>,
}

impl ServerProcess {
    /// Starts a server under this name, or takes note of where it runs.
    ///
    /// # Errors
    /// [`ServerProcessError::Port`], [`ServerProcessError::Folder`], [`ServerProcessError::Start`].
    pub fn start(
        name: &str,
        source: &Source,
        start: &mut StartContext,
    ) -> Result<ServerProcess, ServerProcessError> {
        let (address, kept, files) = match source {
            Source::Address(target) => (target.address, None, GeneratedFiles::default()),
            Source::Command(launch) => {
                let ports = GivenPorts::of(name, launch, start)?;
                let (keeper, files) = keep(name, launch, &ports, start)?;
                let address = SocketAddr::from(([127, 0, 0, 1], ports.main.number()));
                (address, Some((keeper, ports)), files)
            }
        };
        let (keeper, ports) = kept.unzip();
        let started = { keeper.as_ref() }.map_or_else(Nanos::now, Keeper::since);
        Ok(ServerProcess {
            name: name.to_owned(),
            address,
            keeper,
            ports,
            files,
            started,
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
    /// [`ServerProcessError::Ended`], [`ServerProcessError::NotReady`], [`ServerProcessError::Foreign`],
    /// [`ServerProcessError::Answer`].
    pub fn wait_ready(
        &mut self,
        source: &Source,
        probe: &Probe,
        stopper: &Stopper,
        deadline: Option<Nanos>,
        on_pending: &dyn Fn(Pending),
    ) -> Result<(), ServerProcessError> {
        let Source::Command(launch) = source else {
            // It runs already; verification will tell what it answers.
            return Ok(());
        };
        let (name, address) = (self.name.clone(), self.address);
        let mut look = |patience: Patience| look(&name, address, probe, patience);
        let within = launch.ready.within;
        self.wait_until(within, &mut look, stopper, deadline, on_pending)
    }

    /// Waits until a look at it is right, at most so long from its start and not beyond
    /// the deadline.
    ///
    /// # Errors
    /// As [`ServerProcess::wait_ready`].
    pub fn wait_until(
        &mut self,
        at_most: Duration,
        look: &mut dyn FnMut(Patience) -> ReadinessLook,
        stopper: &Stopper,
        deadline: Option<Nanos>,
        on_pending: &dyn Fn(Pending),
    ) -> Result<(), ServerProcessError> {
        let waited: Duration = Nanos::now().since(self.started).into();
        let left = at_most.saturating_sub(waited);
        let left = deadline.map_or(left, |deadline| {
            left.min(deadline.since(Nanos::now()).into())
        });
        let within = (waited + left).min(at_most);
        let keeper = &mut self.keeper;
        let gone = || {
            let state = keeper.as_mut().map(Keeper::state);
            !matches!(state, Some(ProcessState::Running)) || stopper.is_stopped()
        };
        let (name, started) = (&self.name, self.started);
        let on_wait = |_| {
            let waited: Duration = Nanos::now().since(started).into();
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
        let ready = wait_ready(patience, look, gone);
        on_pending(Pending::Over);
        match ready {
            None if stopper.is_stopped() => return Ok(()),
            None => return Err(self.ended("before it was ready")),
            Some(ReadinessOutcome::Late(why)) => {
                return Err(ServerProcessError::NotReady {
                    name: self.name.clone(),
                    within,
                    is_budget: within < at_most,
                    why,
                    output: self.output(),
                });
            }
            Some(ReadinessOutcome::Wrong(wrong)) => {
                return Err(wrong.with_output(|| self.output()).into());
            }
            Some(ReadinessOutcome::Ready(first)) => {
                self.ready_s = Some(first.since(self.started).as_secs_f64());
            }
        }
        let is_its_own = self
            .tree()
            .and_then(|mut tree| tree.listens_at(self.address).ok());
        if is_its_own == Some(false) {
            return Err(ServerProcessError::Foreign {
                name: self.name.clone(),
                port: self.address.port(),
                output: self.output(),
            });
        }
        Ok(())
    }

    /// What leads to it, as a service.
    #[must_use]
    pub fn leads(&self) -> Vec<FilledWord> {
        let dir = scratch(&self.name, self.address.port()).join(SCRATCH_EMPTY);
        let ports = self
            .ports
            .as_ref()
            .map_or_else(Vec::new, GivenPorts::numbers);
        leads(&self.name, &ports, &dir.to_string_lossy())
    }

    /// What a command beside it is given: its placeholders and its environment.
    #[must_use]
    pub fn surroundings(&self, launch: &Launch, start: &StartContext) -> Surroundings {
        let ports = self.ports.iter().flat_map(GivenPorts::words);
        Surroundings {
            address: self.address,
            scratch: scratch(&self.name, self.address.port()),
            words: ports.chain(start.services.iter().cloned()).collect(),
            launch: launch.clone(),
        }
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
    /// [`ServerProcessError::Start`].
    pub fn restart(
        &mut self,
        launch: &Launch,
        start: &mut StartContext,
    ) -> Result<(), ServerProcessError> {
        if let (Some(keeper), Some(ports)) = (self.keeper.take(), &self.ports) {
            let _ = keeper.stop();
            let (keeper, files) = keep(&self.name, launch, ports, start)?;
            (self.keeper, self.files) = (Some(keeper), files);
        }
        Ok(())
    }

    /// From its start until it was ready, in seconds; `None` before that.
    #[must_use]
    pub fn ready_s(&self) -> Option<f64> {
        self.ready_s
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
    /// [`ServerProcessError::Ended`].
    pub fn check(&mut self) -> Result<(), ServerProcessError> {
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
            failed_start: None,
        }
    }

    fn ended(&mut self, when: &'static str) -> ServerProcessError {
        let state = self.keeper.as_mut().map(Keeper::state);
        let how = match state {
            Some(ProcessState::Exited(exit)) => exit.to_string(),
            _ => "its keeper was killed".to_owned(),
        };
        ServerProcessError::Ended {
            name: self.name.clone(),
            when,
            how,
            output: self.output(),
        }
    }

    /// The end of what it has printed; empty of a server that abx leaves alone.
    #[must_use]
    pub fn output(&self) -> String {
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

impl GivenPorts {
    /// As many as a launch asks for.
    fn of(
        name: &str,
        launch: &Launch,
        start: &mut StartContext,
    ) -> Result<GivenPorts, ServerProcessError> {
        let mut port = || {
            let candidates = abx_sys::ports::candidates();
            candidates
                .and_then(|range| abx_sys::ports::free_port(range, start.draw))
                .map_err(|source| ServerProcessError::Port {
                    name: name.to_owned(),
                    source,
                })
        };
        let main = port()?;
        let further = launch.ports.iter();
        Ok(GivenPorts {
            main,
            further: further
                .map(|name| Ok((name.clone(), port()?)))
                .collect::<Result<_, ServerProcessError>>()?,
        })
    }

    /// All of them, the main one without a name.
    fn numbers(&self) -> Vec<(Option<&str>, u16)> {
        let further = self.further.iter();
        std::iter::once((None, self.main.number()))
            .chain(further.map(|(name, port)| (Some(name.as_str()), port.number())))
            .collect()
    }

    /// What the names of the further ones stand for in its own texts.
    fn words(&self) -> impl Iterator<Item = FilledWord> {
        let further = self.further.iter();
        further.map(|(name, port)| (format!("port.{name}"), port.number().to_string()))
    }
}

/// The folder of a start on this port: one for each, so that nothing of the last one is
/// found in it.
fn scratch(name: &str, port: u16) -> PathBuf {
    let scratch = format!("abx-{}-{name}-{port}", std::process::id());
    std::env::temp_dir().join(scratch)
}

/// Starts a server on its ports.
fn keep(
    name: &str,
    launch: &Launch,
    ports: &GivenPorts,
    start: &mut StartContext,
) -> Result<(Keeper, GeneratedFiles), ServerProcessError> {
    // The length of the environment moves the stack, and with it the speed.
    let padding = usize::try_from((start.draw)(4096)).unwrap_or_default();
    let port = ports.main.number();
    let scratch = scratch(name, port);
    let directory = scratch.join(SCRATCH_EMPTY);
    let words: Vec<FilledWord> = ports
        .words()
        .chain(start.services.iter().cloned())
        .collect();
    let filled = launch.fill(port, &directory, &words);
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
    let keeper = keeper.map_err(|source| ServerProcessError::Start {
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
