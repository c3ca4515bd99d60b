//! Why a study cannot continue.

use abx_engine::EngineError;

use crate::process::server_process::ServerProcessError;
use crate::process::service_process::ServiceError;
use crate::process::verify::VerifyError;

/// Why a study cannot continue.
#[derive(Debug, thiserror::Error)]
pub enum Abort {
    #[error("stopped")]
    Interrupted,
    #[error("{error}")]
    Subject {
        name: String,
        error: Box<ServerProcessError>,
    },
    #[error("{error}")]
    Service {
        name: String,
        error: Box<ServiceError>,
    },
    /// A service ended while subjects were loaded: the measurements meanwhile are of subjects
    /// without it.
    #[error("{error}")]
    ServiceDied {
        name: String,
        error: Box<ServiceError>,
    },
    /// A machine that generated part of the load was lost. The others can continue, but the load is
    /// a different one from here on.
    #[error("abx lost a machine that generated part of the load")]
    LoadLost,
    #[error("{0}")]
    Responses(Box<VerifyError>),
    #[error(
        "cannot find a rate for the load `{load}`: a subject gave no correct response; try each \
         alone with `abx run`"
    )]
    NoRate { load: String },
    #[error(
        "the budget was used up before a block was complete: give more time (`--budget`), or \
         measure fewer subjects or loads"
    )]
    Budget,
    #[error("{0}")]
    Engine(#[from] EngineError),
}

impl Abort {
    /// An error of the subject of this name, or [`Abort::Interrupted`] if the user stopped abx.
    pub fn subject(name: &str, error: impl Into<ServerProcessError>) -> Abort {
        let error = error.into();
        if error.is_stop() {
            Abort::Interrupted
        } else {
            Abort::Subject {
                name: name.to_owned(),
                error: Box::new(error),
            }
        }
    }

    /// An error of the service of this name, or [`Abort::Interrupted`] if the user stopped abx.
    pub fn service(name: &str, error: ServiceError) -> Abort {
        if error.is_stop() {
            Abort::Interrupted
        } else {
            Abort::Service {
                name: name.to_owned(),
                error: Box::new(error),
            }
        }
    }
}
