//! The reference server: a known subject, in several process models.
//!
//! It serves one page or files, echoes and broadcasts WebSocket messages if configured
//! to, over TLS or not, and injects faults of known size, so that a measurement can be checked against
//! the truth. It is not a product: no log, no idle timeout. Start at
//! [`ServerConfig`] and [`serve`], which is one process, or [`supervise`], which keeps several.

mod admission;
mod config;
mod connection;
mod connection_table;
mod content;
mod faults;
mod listener;
mod models;
mod supervisor;
mod tls;
mod websocket;

pub use config::{
    BACKLOG, Content, Feature, MAX_THREADS, Model, Nagle, ProcessRole, SendMethod, ServeError,
    ServerConfig, WebSocketSupport,
};
pub use faults::planted_costs::PlantedCosts;
pub use faults::work::Work;
pub use faults::{Faults, Frames, Stall};
pub use supervisor::{WorkerEvent, supervise};
pub use tls::{CertificateFault, ServerCertificate};

use std::io;

use abx_sys::ServerAddress;
use content::ServedContent;

/// Listens and responds until the process ends; a worker that receives SIGTERM returns when its
/// last connection is closed.
///
/// `on_ready` is called once, with the address that is listened on: port 0 in
/// the configuration lets the kernel choose one. `on_refusal` is called each time
/// that the kernel refuses a connection, for want of descriptors above all; those
/// that wait are tried again 50 ms later, or when one has been closed.
///
/// # Errors
/// [`ServeError`] when the configuration contradicts itself, when its root or
/// address cannot be used, or when the kernel ends the wait for connections.
/// Trouble with one connection ends that connection only.
pub fn serve(
    config: &ServerConfig,
    on_ready: impl FnOnce(ServerAddress),
    on_refusal: impl Fn(&io::Error),
) -> Result<(), ServeError> {
    config.check()?;
    let site = ServedContent::open(config)?;
    match config.model {
        Model::Event => models::event::run(config, site, on_ready, on_refusal),
        Model::Thread => models::thread::run(config, site, on_ready, on_refusal),
        Model::ThreadPerRequest => {
            models::thread_per_request::run(config, site, on_ready, on_refusal)
        }
        Model::Hybrid => models::hybrid::run(config, site, on_ready, on_refusal),
        Model::Prefork => models::prefork::run(config, site, on_ready, on_refusal),
        Model::Null => models::null::run(config, &site, on_ready, on_refusal),
    }
}
