//! The reference server: a known subject, in several process models.
//!
//! It answers with one page or with files, echoes and spreads WebSocket
//! messages if told to, and can be given faults of known size, so that a measurement can be checked against the truth. It is no
//! product: no TLS, no log, no idle timeout. Start at [`ServerConfig`] and [`serve`].

mod config;
mod content;
mod fault;
mod files;
mod model_event;
mod model_null;
mod model_thread;
mod reception;
mod rooms;
mod talk;
mod work;

pub use config::{BACKLOG, Content, Model, Nagle, Sending, ServeError, ServerConfig, WebSocket};
pub use fault::{Faults, Frames, Stall};
pub use work::Work;

use std::convert::Infallible;
use std::net::SocketAddr;

use content::Site;

/// Listens and answers until the process ends.
///
/// `on_ready` is called once, with the address that is listened on: port 0 in
/// the configuration lets the kernel choose one.
///
/// # Errors
/// [`ServeError`] when the configuration contradicts itself, when its root or
/// address cannot be used, or when the kernel ends the wait for connections.
/// Trouble with one connection ends that connection only.
pub fn serve(
    config: &ServerConfig,
    on_ready: impl FnOnce(SocketAddr),
) -> Result<Infallible, ServeError> {
    config.check()?;
    let site = Site::open(config)?;
    match config.model {
        Model::Event => model_event::run(config, site, on_ready),
        Model::Thread => model_thread::run(config, site, on_ready),
        Model::Null => model_null::run(config, &site, on_ready),
    }
}
