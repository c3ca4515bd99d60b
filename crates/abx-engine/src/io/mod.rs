//! The one contract between the engine and the back ends that move its bytes.
//!
//! A back end owns the connections of one pool; the engine interprets their bytes.
//! It is pull-style: [`Io::wait`] lists *which* connections have something. The engine then
//! pulls with [`Io::receive`], reads the bytes where the back end has them, and never holds
//! them over the next call. Start at [`Io`].
//!
//! A layer that changes the bytes of connections is such a contract over another one: it
//! lists `Connected` when its handshake is over, and skips bytes that it has read. `tls/` is
//! one. A protocol that multiplexes requests, such as HTTP/2, is a
//! [`Protocol`](crate::protocol::Protocol) with an outbox.
//!
//! There are `epoll.rs` and TLS over it, and for tests `abx-twin` with virtual time. All pass the
//! same tests, in `tests/simulation/contract.rs`.

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
