//! Makes HTTP and WebSocket load on pinned threads and fills tallies.
//!
//! An [`Engine`] owns worker threads. [`Engine::open`] gives a pool of
//! connections to one subject, [`Engine::slice`] loads it for a while and says
//! what came back, [`Engine::close`] ends it. Nothing of the world stops a
//! slice with an error: refusals, resets, timeouts and wrong answers are
//! outcomes. [`probe()`] and [`probe_websocket()`] ask once, outside of any load.
//!
//! The way of one request: `Slot` (when is it due, where is it) → `wire` (bytes
//! to events) → `Sample` → `Tally`. Bytes move through one contract, `Io`. The budget per request is no allocation, no
//! lock, no string: one send, one receive, and its share of one wait.

mod any_pool;
mod backend;
mod check;
mod conversation;
#[cfg(feature = "counts")]
#[doc(hidden)]
pub mod counts;
mod engine;
mod flights;
mod io;
mod message;
mod plan;
mod pool;
mod prepared;
mod probe;
mod random;
pub mod schedule;
mod slot;
mod timing;
mod worker;

pub use backend::{Backend, BackendUsed};
pub use engine::{Engine, EngineError, OpenReport, PoolId, Stopper};
pub use message::payload;
pub use plan::{
    Asked, BodyIdentity, EnginePlan, Expectation, HttpVersion, LoadPlan, MessagePlan, Pacing,
    RequestPlan, Shape, SliceEnd, SlicePlan,
};
pub use probe::{Answer, Echo, ProbeError, WebSocketAnswer, probe, probe_websocket};
