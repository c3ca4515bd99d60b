//! One start of a server, which is a subject in a block or a service: from the start and the wait
//! until it is ready to its stop.

pub mod family_roles;
mod generated_files;
mod invocation;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use abx_engine::{Patience, Stopper};
use abx_evidence::record::{BlockSubject, InUse, ListenerRecord, runs_container};
use abx_sys::ports::FreePort;
use abx_sys::tree::ProcTree;
use abx_sys::{Nanos, ServerAddress};

use crate::process::container;
use crate::process::keeper::{
    EndManner, FileContent, Keeper, KeeperError, KeeperPlan, KeptContainer, ProcessEnd,
    ProcessState, SCRATCH_EMPTY, ScratchFile, sweep_once,
};
use crate::process::kept_command::{CommandContext, temporary_files};
use crate::process::listener;
use crate::process::log_tail::SHOWN_LINES;
use crate::process::pending::{PENDING_FROM, Pending};
use crate::process::probe::Probe;
pub use crate::process::server_error::ServerProcessError;
pub use crate::process::start_context::StartContext;
use crate::process::verify::{ReadinessLook, ReadinessOutcome, look, wait_ready};
use abx_study::GeneratedFile;
use abx_study::launch::Launch;
use abx_study::placeholder::FilledWord;
use abx_study::service::leads;
use abx_study::subject::Source;
use family_roles::FamilyRoles;
use generated_files::GeneratedFiles;
use invocation::{Invocation, StartDetails};

/// A server that runs.
pub struct ServerProcess {
    name: String,
    pub address: ServerAddress,
    /// `None` for a server that abx leaves alone.
    keeper: Option<Keeper>,
    /// Reserved until the server has stopped.
    ports: Option<GivenPorts>,
    files: GeneratedFiles,
    /// The first process of its container, once the container was inspected.
    first_process: Option<u32>,
    started: Nanos,
    ready_s: Option<f64>,
}

/// The most that a server may print from its start to its end, which abx keeps in a file: an
/// access log of 10 million requests.
const OUTPUT_BYTES_MAX: u64 = 1_000_000_000;

struct GivenPorts {
    main: FreePort,
    /// Further ports by name.
    further: Vec<(String, FreePort)>,
}

impl ServerProcess {
    /// Starts a server under this name, or notes the address at which it runs already.
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
                (address.into(), Some((keeper, ports)), files)
            }
        };
        let (keeper, ports) = kept.unzip();
        let started = keeper.as_ref().map_or_else(Nanos::now, Keeper::since);
        Ok(ServerProcess {
            name: name.to_owned(),
            address,
            keeper,
            ports,
            files,
            first_process: None,
            started,
            ready_s: None,
        })
    }

    /// Drops the files that abx made for it from memory, and counts the pages that stayed; `None`
    /// if that is not possible.
    pub fn drop_files(&mut self) -> Option<InUse> {
        self.files.drop_from_memory().ok().flatten()
    }

    /// Waits until its response is correct, at most for the time of its readiness rule and not
    /// beyond the deadline.
    ///
    /// # Errors
    /// [`ServerProcessError::Ended`], [`ServerProcessError::NotReady`], [`ServerProcessError::Foreign`],
    /// [`ServerProcessError::Response`].
    pub fn wait_ready(
        &mut self,
        source: &Source,
        probe: &Probe,
        stopper: &Stopper,
        deadline: Option<Nanos>,
        on_pending: &dyn Fn(Pending),
    ) -> Result<(), ServerProcessError> {
        let Source::Command(launch) = source else {
            // It runs already; verification will check its response.
            return Ok(());
        };
        let (name, address) = (self.name.clone(), self.address);
        let mut look = |patience: Patience| look(&name, address, probe, patience);
        let within = launch.ready.within;
        self.wait_until(within, &mut look, stopper, deadline, on_pending)
    }

    /// Waits until a check of it succeeds, at most for `at_most` from its start and not beyond the
    /// deadline.
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
                    advice: self.port_advice().into(),
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
        self.look_into_container()?;
        let listens = self
            .tree()
            .and_then(|mut tree| tree.listens_at(self.address).ok());
        if listens == Some(false) {
            // A server that has ended meanwhile does not listen either.
            self.check()?;
            return Err(ServerProcessError::Foreign {
                name: self.name.clone(),
                port: self.address.port(),
                advice: self.foreign_advice(),
                output: self.output(),
            });
        }
        Ok(())
    }

    /// Notes its container's first process, and checks that this runs on the given processors.
    fn look_into_container(&mut self) -> Result<(), ServerProcessError> {
        let Some((container, keeper)) = self.container().zip(self.keeper.as_ref()) else {
            return Ok(());
        };
        let cpus = keeper.plan().cpus.as_deref().unwrap_or_default();
        let first =
            container::look_into(container, cpus).map_err(|why| ServerProcessError::Container {
                name: self.name.clone(),
                why,
            })?;
        self.first_process = Some(first);
        Ok(())
    }

    fn container(&self) -> Option<&KeptContainer> {
        self.keeper.as_ref()?.plan().container.as_ref()
    }

    fn container_tree(&self, container: &KeptContainer) -> Option<ProcTree> {
        let first = self
            .first_process
            .or_else(|| container::first_process(container).ok())?;
        ProcTree::of_container(first).ok()
    }

    fn port_advice(&self) -> String {
        let Some(container) = self.container() else {
            return "Does it listen on 127.0.0.1, and on the port in {port}?".to_owned();
        };
        let tree = self.container_tree(container);
        let ports = tree.and_then(|mut tree| tree.listening_ports().ok());
        container::port_advice(&ports.unwrap_or_default())
    }

    /// Why the listener may be another process.
    fn foreign_advice(&self) -> &'static str {
        let plan = self.keeper.as_ref().map(Keeper::plan);
        let is_container = plan.is_some_and(|plan| {
            let words = std::iter::once(&plan.program).chain(&plan.arguments);
            plan.container.is_none() && runs_container(&words.cloned().collect::<Vec<_>>())
        });
        if is_container {
            ". Processes in a container do not belong to the command that runs it: write \
                 image:NAME in place of that command"
        } else {
            ""
        }
    }

    /// Its placeholders, as a service.
    #[must_use]
    pub fn leads(&self) -> Vec<FilledWord> {
        let dir = scratch(&self.name, self.address.port()).join(SCRATCH_EMPTY);
        let ports = self
            .ports
            .as_ref()
            .map_or_else(Vec::new, GivenPorts::numbers);
        leads(&self.name, &ports, &dir.to_string_lossy())
    }

    /// The context of a command that uses it: its placeholders and its environment.
    #[must_use]
    pub fn context(&self, launch: &Launch, start: &StartContext) -> CommandContext {
        let ports = self.ports.iter().flat_map(GivenPorts::words);
        CommandContext {
            address: self.address,
            scratch: scratch(&self.name, self.address.port()),
            words: ports.chain(start.services.iter().cloned()).collect(),
            launch: launch.clone(),
        }
    }

    /// The roles of its processes; `None` for a server that abx leaves alone, or if they cannot be
    /// seen.
    #[must_use]
    pub fn roles(&self, worker: Option<&str>) -> Option<FamilyRoles> {
        let keeper = self.keeper.as_ref()?;
        match self.container() {
            None => FamilyRoles::of(keeper.process_id(), worker).ok(),
            Some(container) => {
                let first = self.container_tree(container)?.root().pid;
                FamilyRoles::of_container(first, worker).ok()
            }
        }
    }

    /// Stops it and starts it again on the same port, without waiting until it is ready. A server
    /// that abx leaves alone is left alone.
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
            self.first_process = None;
        }
        Ok(())
    }

    /// From its start until it was ready, in seconds; `None` before that.
    #[must_use]
    pub fn ready_s(&self) -> Option<f64> {
        self.ready_s
    }

    /// Its processes, if they can be seen.
    #[must_use]
    pub fn tree(&self) -> Option<ProcTree> {
        match (self.container(), &self.keeper) {
            (Some(container), _) => self.container_tree(container),
            (None, Some(keeper)) => ProcTree::new(keeper.process_id()).ok(),
            (None, None) => listener::tree(self.address),
        }
    }

    /// Checks that it still runs, if abx keeps it, and that it leaves room on the disk.
    ///
    /// # Errors
    /// [`ServerProcessError::Ended`], [`ServerProcessError::Output`].
    pub fn check(&mut self) -> Result<(), ServerProcessError> {
        let Some(keeper) = &mut self.keeper else {
            return Ok(());
        };
        if keeper.state() != ProcessState::Running {
            return Err(self.ended("under load"));
        }
        let bytes = keeper.output_bytes();
        if bytes > OUTPUT_BYTES_MAX {
            return Err(ServerProcessError::Output {
                name: self.name.clone(),
                bytes,
                output: self.output(),
            });
        }
        Ok(())
    }

    /// Stops it, if abx keeps it, and returns how it ended.
    #[must_use]
    pub fn stop(mut self) -> BlockSubject {
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
            died: false,
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

    /// The end of its output; empty for a server that abx leaves alone.
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
    /// Reserves the ports that a launch requests.
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
        let mut further = Vec::with_capacity(launch.ports.len());
        for name in &launch.ports {
            further.push((name.clone(), port()?));
        }
        Ok(GivenPorts { main, further })
    }

    /// All ports, the main one without a name.
    fn numbers(&self) -> Vec<(Option<&str>, u16)> {
        let further = self.further.iter();
        std::iter::once((None, self.main.number()))
            .chain(further.map(|(name, port)| (Some(name.as_str()), port.number())))
            .collect()
    }

    /// The placeholders of the further ports, with their values.
    fn words(&self) -> impl Iterator<Item = FilledWord> {
        let further = self.further.iter();
        further.map(|(name, port)| (format!("port.{name}"), port.number().to_string()))
    }
}

/// The folder of a start on this port. Each start has its own, so that it contains nothing from an
/// earlier one.
fn scratch(name: &str, port: u16) -> PathBuf {
    std::env::temp_dir().join(format!("abx-{}-{name}-{port}", std::process::id()))
}

/// The environment of every server, unless the study sets another.
fn usual_environment(
    launch: &Launch,
    port: u16,
    padding_bytes: usize,
    directory: &Path,
) -> Vec<(String, String)> {
    let mut usual = vec![
        ("PORT".to_owned(), port.to_string()),
        ("ABX_PADDING".to_owned(), "x".repeat(padding_bytes)),
    ];
    // A container has temporary files of its own, which are removed with it.
    if launch.image.is_none() {
        usual.push(temporary_files(directory));
    }
    usual
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
    sweep_once();
    let port = ports.main.number();
    let scratch = scratch(name, port);
    let directory = scratch.join(SCRATCH_EMPTY);
    let words: Vec<FilledWord> = ports
        .words()
        .chain(start.services.iter().cloned())
        .collect();
    let mut filled = launch.fill(port, &directory, &words);
    let templates = std::mem::take(&mut filled.templates).into_iter();
    let details = StartDetails {
        name,
        port,
        directory: &directory,
        words: &words,
        cpus: start.cpus,
        descriptors: start.descriptors,
        usual: usual_environment(launch, port, padding, &directory),
    };
    let invocation = Invocation::of(launch, filled, details).map_err(|no_engine| {
        let source = KeeperError::CommandNotFound {
            command: no_engine.sought,
        };
        does_not_start(name, source)
    })?;
    let random = (0..)
        .zip(start.files)
        .map(|(index, file)| random_file(file, start.seed.wrapping_add(index)));
    let written = templates.map(|template| ScratchFile {
        path: template.target,
        content: FileContent::Text(template.text),
    });
    let plan = KeeperPlan {
        program: invocation.program,
        arguments: invocation.arguments,
        directory: launch.start_folder(),
        environment: invocation.environment,
        cpus: Some(start.cpus.to_vec()),
        descriptors: Some(start.descriptors),
        log: scratch.join("log"),
        scratch: Some(scratch),
        files: random.chain(written).collect(),
        stop: launch.stop,
        container: invocation.container,
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
    let keeper = keeper.map_err(|source| does_not_start(name, source))?;
    Ok((keeper, GeneratedFiles::within(&directory, start.files)))
}

fn does_not_start(name: &str, source: KeeperError) -> ServerProcessError {
    let name = name.to_owned();
    ServerProcessError::Start { name, source }
}

/// Each file has its own seed, which counts on from the study's.
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
