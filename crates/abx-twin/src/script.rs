//! Scripts of a peer's connections, real or simulated.

use std::net::SocketAddr;
use std::sync::Arc;

/// One step of a peer on one connection. After the last step it waits for the client to close.
#[derive(Clone)]
pub enum PeerStep {
    /// Receives this many bytes.
    Await(usize),
    /// Receives this many bytes and sends them back.
    Echo(usize),
    /// Receives one of these requests and sends its response. None is a prefix of another.
    Choose(Arc<[Choice]>),
    /// A worker serves the request; takes time in simulations only.
    Work,
    Send(Arc<[u8]>),
    /// Sends these bytes endlessly, always faster than they are received.
    Flood(Arc<[u8]>),
    Close,
    Reset,
    /// Goes back to the first step.
    Again,
}

/// A request, and its response.
pub type Choice = (Vec<u8>, Arc<[u8]>);

/// The steps of each connection, by its number in the order of accepting.
pub type PeerScript = Box<dyn Fn(usize) -> Vec<PeerStep> + Send + Sync>;

/// An address on which nothing listens, neither in this machine's tests nor in simulations.
pub const UNUSED_ADDRESS: SocketAddr = SocketAddr::new(
    std::net::IpAddr::V4(std::net::Ipv4Addr::new(127, 0, 0, 77)),
    1,
);
