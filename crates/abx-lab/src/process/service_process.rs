//! One start of a service: abx waits until it is ready, fills it with data, and checks it until its
//! stop. It is kept in the same way as a subject.

use std::io;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use abx_engine::{HttpVersion, Patience};
use abx_evidence::{ExpectedStatus, Shape};
use abx_sys::tree::ProcTree;
use abx_sys::{Nanos, ServerAddress};

use crate::process::kept_command::{CommandContext, CommandEnd};
use crate::process::log_tail::behind;
use crate::process::pending::Pending;
use crate::process::probe::Probe;
use crate::process::server_process::{ServerProcess, ServerProcessError, StartContext};
use crate::process::verify::{ReadinessLook, ReadinessOutcome, look, wait_ready};
use abx_study::RequestSpec;
use abx_study::placeholder::FilledWord;
use abx_study::service::{HealthCheck, StudyService};

/// How long one run of a command that checks a service may take.
const CHECK_WITHIN: Duration = Duration::from_secs(10);

/// Why a service is not available to the subjects.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    #[error("service {0}")]
    Process(#[from] ServerProcessError),
    #[error("service {name}: its `seed` failed ({how}){}", behind(.output))]
    Seed {
        name: String,
        how: String,
        output: String,
    },
    #[error("service {name} is no longer ready ({why})")]
    Unhealthy { name: String, why: String },
    #[error("stopped")]
    Stopped,
}

impl ServiceError {
    /// Whether nothing is wrong with the service: the user stopped abx.
    #[must_use]
    pub fn is_stop(&self) -> bool {
        match self {
            ServiceError::Process(error) => error.is_stop(),
            ServiceError::Stopped => true,
            ServiceError::Seed { .. } | ServiceError::Unhealthy { .. } => false,
        }
    }
}

/// A service that runs, is ready, and has its data.
pub struct ServiceProcess {
    process: ServerProcess,
    /// How long it took to fill the service with data.
    pub seed_s: Option<f64>,
}

impl ServiceProcess {
    /// Starts a service, waits until it is ready, and fills it.
    ///
    /// # Errors
    /// [`ServiceError`]; every process that was started is stopped again.
    pub fn start(
        service: &StudyService,
        start: &mut StartContext,
        deadline: Option<Nanos>,
    ) -> Result<ServiceProcess, ServiceError> {
        let mut process = ServiceProcess {
            process: ServerProcess::start(&service.name, &service.source, start)?,
            seed_s: None,
        };
        process.wait_ready(service, start, deadline)?;
        process.fill(service, start)?;
        Ok(process)
    }

    fn wait_ready(
        &mut self,
        service: &StudyService,
        start: &StartContext,
        deadline: Option<Nanos>,
    ) -> Result<(), ServiceError> {
        let within = service.launch().ready.within;
        let context = self.process.context(service.launch(), start);
        let mut look = |patience: Patience| look_at(service, &context, start, patience);
        let (stopper, on_pending) = (&start.stopper, start.on_pending);
        self.process
            .wait_until(within, &mut look, stopper, deadline, on_pending)?;
        if start.stopper.is_stopped() {
            Err(ServiceError::Stopped)
        } else {
            Ok(())
        }
    }

    /// Fills it with data, if the study has a command for it.
    fn fill(&mut self, service: &StudyService, start: &StartContext) -> Result<(), ServiceError> {
        let Some(seed) = &service.seed else {
            return Ok(());
        };
        (start.on_pending)(Pending::Seed {
            service: &service.name,
        });
        let began = Instant::now();
        let context = self.process.context(service.launch(), start);
        let ended = context.run(&seed.command, seed.within, start);
        (start.on_pending)(Pending::Over);
        let failed = |how, output| {
            let name = service.name.clone();
            Err(ServiceError::Seed { name, how, output })
        };
        match ended {
            Ok(CommandEnd::Well) => {
                self.seed_s = Some(began.elapsed().as_secs_f64());
                Ok(())
            }
            Ok(CommandEnd::Stopped) => Err(ServiceError::Stopped),
            Ok(CommandEnd::Failed { how, output }) => failed(how, output),
            Err(error) => failed(error.to_string(), String::new()),
        }
    }

    /// Checks that it is still ready, and waits for that as long as at its start.
    pub fn check_health(
        &mut self,
        service: &StudyService,
        start: &StartContext,
    ) -> Result<(), ServiceError> {
        self.check()?;
        let context = self.process.context(service.launch(), start);
        let mut look = |patience: Patience| look_at(service, &context, start, patience);
        let patience = Patience {
            timeout: service.launch().ready.within,
            stopper: Some(&start.stopper),
            on_wait: None,
        };
        let gone = || self.process.check().is_err() || start.stopper.is_stopped();
        let unhealthy = |why| {
            let name = service.name.clone();
            Err(ServiceError::Unhealthy { name, why })
        };
        match wait_ready(patience, &mut look, gone) {
            _ if start.stopper.is_stopped() => Err(ServiceError::Stopped),
            Some(ReadinessOutcome::Ready(_)) => Ok(()),
            Some(ReadinessOutcome::Late(why)) => unhealthy(why),
            Some(ReadinessOutcome::Wrong(wrong)) => unhealthy(wrong.to_string()),
            None => self.check(),
        }
    }

    /// Checks that it still runs.
    ///
    /// # Errors
    /// [`ServiceError::Process`].
    pub fn check(&mut self) -> Result<(), ServiceError> {
        Ok(self.process.check()?)
    }

    /// Its processes, if they can be seen.
    #[must_use]
    pub fn tree(&self) -> Option<ProcTree> {
        self.process.tree()
    }

    #[must_use]
    pub fn port(&self) -> u16 {
        self.process.address.port()
    }

    /// From its start until it was ready, in seconds.
    #[must_use]
    pub fn ready_s(&self) -> Option<f64> {
        self.process.ready_s()
    }

    /// Its placeholders.
    #[must_use]
    pub fn leads(&self) -> Vec<FilledWord> {
        self.process.leads()
    }

    pub fn stop(self) {
        let _ = self.process.stop();
    }
}

fn connect(address: ServerAddress, within: Duration) -> io::Result<()> {
    match address {
        ServerAddress::Tcp(address) => TcpStream::connect_timeout(&address, within).map(drop),
        ServerAddress::Unix(path) => UnixStream::connect(path.as_path()).map(drop),
    }
}

/// Checks once whether a service is ready.
fn look_at(
    service: &StudyService,
    context: &CommandContext,
    start: &StartContext,
    patience: Patience,
) -> ReadinessLook {
    let address = context.address;
    match &service.health {
        HealthCheck::Port => match connect(address, patience.timeout) {
            Ok(()) => ReadinessLook::Right,
            Err(error) => {
                ReadinessLook::NotYet(format!("its port accepts no connections: {error}"))
            }
        },
        HealthCheck::Request => {
            let rule = &service.launch().ready;
            let request = RequestSpec {
                path: rule.path.clone(),
                ..RequestSpec::default()
            };
            let probe = Probe {
                request: request.plan(HttpVersion::Http11, &address.to_string(), None),
                status: rule.status.map(ExpectedStatus::from).unwrap_or_default(),
                is_logged: false,
                shape: Shape::Request,
                seed: 0,
                tls: None,
            };
            look(&service.name, address, &probe, patience)
        }
        HealthCheck::Command(command) => {
            let within = CHECK_WITHIN.min(patience.timeout);
            match context.run(command, within, start) {
                Ok(CommandEnd::Well) => ReadinessLook::Right,
                Ok(CommandEnd::Stopped) => ReadinessLook::NotYet("stopped".to_owned()),
                Ok(CommandEnd::Failed { how, output }) => {
                    let line = output.lines().last().unwrap_or_default();
                    ReadinessLook::NotYet(format!("its `check` failed ({how}): {line}"))
                }
                Err(error) => ReadinessLook::NotYet(format!("its `check`: {error}")),
            }
        }
    }
}
