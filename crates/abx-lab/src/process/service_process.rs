//! One start of a service: started, found ready and filled with data; looked after until
//! it is stopped. It is kept in the same way as a subject.

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

/// How long one run of a command may take that looks whether a service is ready.
const CHECK_WITHIN: Duration = Duration::from_secs(10);

/// Why a service is not there for the subjects.
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
    /// Whether nothing is wrong with the service: the person stopped abx.
    #[must_use]
    pub fn is_stop(&self) -> bool {
        match self {
            ServiceError::Process(error) => error.is_stop(),
            ServiceError::Stopped => true,
            ServiceError::Seed { .. } | ServiceError::Unhealthy { .. } => false,
        }
    }
}

/// A service that runs, ready and filled.
pub struct ServiceProcess {
    process: ServerProcess,
    /// How long filling it took.
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
        let process = ServerProcess::start(&service.name, &service.source, start)?;
        let mut started = ServiceProcess {
            process,
            seed_s: None,
        };
        started.wait_ready(service, start, deadline)?;
        started.fill(service, start)?;
        Ok(started)
    }

    fn wait_ready(
        &mut self,
        service: &StudyService,
        start: &StartContext,
        deadline: Option<Nanos>,
    ) -> Result<(), ServiceError> {
        let within = service.launch().ready.within;
        let around = self.process.context(service.launch(), start);
        let mut look = |patience: Patience| see(service, &around, start, patience);
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
        let around = self.process.context(service.launch(), start);
        let ended = around.run(&seed.command, seed.within, start);
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

    /// Whether it is still as it was when it was ready; waits for that as long as for
    /// its start.
    pub fn check_health(
        &mut self,
        service: &StudyService,
        start: &StartContext,
    ) -> Result<(), ServiceError> {
        self.check()?;
        let around = self.process.context(service.launch(), start);
        let mut look = |patience: Patience| see(service, &around, start, patience);
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

    /// Whether it still runs.
    ///
    /// # Errors
    /// [`ServiceError::Process`].
    pub fn check(&mut self) -> Result<(), ServiceError> {
        Ok(self.process.check()?)
    }

    /// Its processes, when they can be seen.
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

/// One look whether a service is ready.
fn see(
    service: &StudyService,
    around: &CommandContext,
    start: &StartContext,
    patience: Patience,
) -> ReadinessLook {
    let address = around.address;
    match &service.health {
        HealthCheck::Port => match connect(address, patience.timeout) {
            Ok(()) => ReadinessLook::Right,
            Err(error) => ReadinessLook::NotYet(format!("its port takes no connection: {error}")),
        },
        HealthCheck::Request => {
            let rule = &service.launch().ready;
            let request_spec = RequestSpec {
                path: rule.path.clone(),
                ..RequestSpec::default()
            };
            let probe = Probe {
                request: request_spec.plan(HttpVersion::Http11, &address.to_string(), None),
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
            match around.run(command, within, start) {
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
