//! The one contract between the engine and the back ends that move its bytes.
//!
//! A back end owns the connections of one pool; the engine interprets their bytes.
//! The engine pulls: [`Io::wait`] lists *which* connections are ready. The engine then
//! calls [`Io::receive`], reads the bytes where the back end has them, and never holds
//! them over the next call. Start at [`Io`].
//!
//! A layer that changes the bytes of connections, such as `tls/`, implements the contract over
//! another back end: it lists `Connected` when its handshake is over, and skips bytes that it has
//! read. A protocol that multiplexes requests, such as HTTP/2, is a
//! [`Protocol`](crate::protocol::Protocol) with an outbox.
//!
//! The back ends are `epoll.rs`, TLS over it, and, for tests, `abx-twin` with virtual time. All of
//! them pass the tests in `tests/simulation/contract.rs`.

mod busy_wait;
mod contract;
mod epoll;
mod pause;
mod tls;
mod turn;
mod wake;

pub(crate) use contract::is_cut_off;
pub use contract::{Awaits, Awake, Handshake, Io, Ready, Received, Token};
pub use epoll::EpollIo;
pub(crate) use pause::{PauseWatch, paused_ns};
pub use tls::TlsPlanError;
#[cfg(any(test, fuzzing))]
pub use tls::fuzz as tls_fuzz;
pub(crate) use tls::remedy;
pub use tls::{Tls, TlsClient};
pub use turn::{CutTurns, TURN_BYTES, Turn};
