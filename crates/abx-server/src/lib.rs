//! The reference server: a known subject, in several process models.
//!
//! It serves a page or files, and optionally echoes and broadcasts WebSocket messages, with or
//! without TLS. It injects faults of known size, so that measurements can be checked against the
//! truth. It is not a product: it has no log and no idle timeout. Start at [`ServerConfig`] and
//! [`serve`], which is one process, or [`supervise`], which keeps several.

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
/// `on_ready` is called once, with the listening address: for port 0 in the configuration, the
/// kernel chooses a port. `on_refusal` is called each time that the kernel refuses a connection,
/// mainly because descriptors ran out. Accepting is retried 50 ms later, or after a connection has
/// closed.
///
/// # Errors
/// [`ServeError`] if the configuration is contradictory, if its root or address cannot be used, or
/// if waiting for connections fails. An error of a connection ends only that connection.
pub fn serve(
    config: &ServerConfig,
    on_ready: impl FnOnce(ServerAddress),
    on_refusal: impl Fn(&io::Error),
) -> Result<(), ServeError> {
    let mut on_ready = Some(on_ready);
    let once = &mut |address| {
        if let Some(on_ready) = on_ready.take() {
            on_ready(address);
        }
    };
    run(config, once, &on_refusal)
}

/// [`serve`], compiled in this crate. With types of the caller's, the code of all models would be
/// optimised as little as the caller.
fn run(
    config: &ServerConfig,
    on_ready: &mut dyn FnMut(ServerAddress),
    on_refusal: &dyn Fn(&io::Error),
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
