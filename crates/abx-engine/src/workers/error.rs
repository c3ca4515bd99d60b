//! The errors of the engine.

use std::io;

use abx_wire::{http1, websocket};

use crate::io::TlsPlanError;

/// Why the engine cannot continue. A subject's behaviour is never an error.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("{what} is 0: give at least 1")]
    Zero { what: &'static str },
    #[error("the request cannot be sent: {0}")]
    Request(#[from] http1::RequestError),
    #[error("the WebSocket handshake cannot be sent: {0}")]
    Opening(#[from] websocket::OpeningError),
    #[error("cannot use TLS: {0}")]
    Tls(#[from] TlsPlanError),
    #[error("a load of {load} needs {needs}")]
    Shape {
        /// Its kind of traffic, in the plural.
        load: &'static str,
        needs: &'static str,
    },
    #[error("placeholders work only in HTTP requests, not in WebSocket ones: leave them out")]
    Placeholders,
    #[error("a replay needs {0}")]
    Replay(&'static str),
    #[error(
        "a load of {connections} connections has no part {} of {of}: each part needs a \
         connection", .number + 1
    )]
    Part {
        /// Its number, from 0.
        number: u32,
        /// The requested number of parts.
        of: u32,
        /// How many connections the load has.
        connections: u32,
    },
    #[error("{0}")]
    ForeignCpu(Box<dyn std::error::Error + Send + Sync>),
    #[error("the system refused {what}: {source}")]
    System {
        what: &'static str,
        source: io::Error,
    },
    /// A worker thread has ended, which is a defect of abx.
    #[error("a worker thread has died: this is a defect of abx, please report it")]
    WorkerDied,
}

impl EngineError {
    /// Whether the plan is at fault, so that no machine could make the load.
    #[must_use]
    pub fn is_of_load(&self) -> bool {
        match self {
            EngineError::Zero { .. }
            | EngineError::Request(_)
            | EngineError::Opening(_)
            | EngineError::Tls(_)
            | EngineError::Shape { .. }
            | EngineError::Placeholders
            | EngineError::Replay(_)
            | EngineError::Part { .. } => true,
            EngineError::ForeignCpu(_) | EngineError::System { .. } | EngineError::WorkerDied => {
                false
            }
        }
    }

    /// The error for a thread that the kernel refused.
    #[must_use]
    pub fn no_thread(source: io::Error) -> EngineError {
        EngineError::System {
            what: "a thread (raise `ulimit -u`, `ulimit -v`, or `pids.max` of the control group)",
            source,
        }
    }
}
