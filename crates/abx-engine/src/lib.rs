//! Makes HTTP and WebSocket load on pinned threads and fills tallies.
//!
//! An [`Engine`] owns worker threads and is the [`LoadGenerator`] of this machine. [`Engine::open`]
//! makes a pool of connections to one subject, [`Engine::slice`] loads it for a while and returns
//! a tally, and [`Engine::close`] closes it. No failure of the subject or the network ends a
//! slice with an error: refusals, resets, timeouts and wrong responses are outcomes. [`probe()`]
//! and [`probe_websocket()`] send one request outside of any load. [`run_sessions`] reports every
//! step of each connection. In a load of [`Shape::Scenario`](abx_evidence::Shape), users make
//! sessions of several requests; [`try_session`] makes one of them.
//!
//! The path of one request: `Slot` (when it is due, and its state) → `wire` (bytes to events)
//! → `Sample` → `Tally`. Bytes move through one contract, `Io`. The budget per request is no
//! allocation, no lock, no string: one send, one receive, and its share of one wait.

mod connection;
#[cfg(feature = "counts")]
#[doc(hidden)]
pub mod counts;
mod event_loop;
mod io;
mod load_generator;
mod plan;
mod pool;
mod probe;
mod protocol;
mod random;
mod scenario;
pub mod schedule;
mod sessions;
mod stopper;
#[doc(hidden)]
pub mod testing;
mod trial;
mod workers;

pub use abx_wire::websocket::MESSAGE_BYTES_MAX;
#[cfg(any(test, fuzzing))]
pub use connection::template::fuzz as template_fuzz;
pub use io::TlsPlanError;
#[cfg(any(test, fuzzing))]
pub use io::tls_fuzz;
pub use load_generator::LoadGenerator;
pub use plan::input_file;
pub use plan::{
    BodyIdentity, EnginePlan, ExpectedResponse, Extraction, HttpVersion, LineList, LoadPart,
    LoadPlan, OWN_VALUES, Pacing, PlaceholderKind, PlaceholderPart, RequestPlaceholder,
    RequestPlan, SENT_BEFORE_LOAD, ScenarioScript, ScenarioStep, ScenarioUsers, SliceEnd,
    SlicePlan, TextTemplate, ThinkTime, TlsFileError, TlsIdentity, TlsPlan, TlsSuite, TlsTrust,
    TlsVersion, ValueSource, WeightedRequest, is_value_name,
};
pub use pool::{AwaitedConnections, AwaitedResponses, ReportedInterval};
pub use probe::{
    BODY_START_BYTES, Echo, HeadFields, Patience, ProbeError, Response, WebSocketResponse, probe,
    probe_websocket,
};
pub use protocol::message::payload;
pub use scenario::ScenarioTally;
#[cfg(any(test, fuzzing))]
pub use scenario::fuzz as scenario_fuzz;
pub use sessions::{
    SessionClient, SessionFailure, SessionListener, SessionOptions, SessionPlan, SessionResponse,
    SessionStep, VisitBurst, VisitCall, VisitClient, VisitEnd, VisitPlan, run_sessions, run_visits,
};
pub use stopper::Stopper;
pub use trial::try_session;
pub use workers::engine::{Engine, OpenReport, SliceEvent};
pub use workers::error::EngineError;
pub use workers::pool_id::PoolId;
