//! One worker's share of the connections to one subject.
//!
//! `slots.rs` has the connections and makes a single connection; `opening.rs` makes all of them
//! before a slice, `request_slice.rs` runs a slice, `exchange.rs` sends requests and receives
//! responses, `protocol/intake.rs` interprets received bytes, and `lost.rs` decides on requests
//! whose connection is gone.

mod broadcast;
mod connection_counts;
mod course;
mod dispatch;
mod dispatcher;
mod exchange;
mod hold;
mod lost;
mod opening;
mod outbox;
mod participants;
mod request_slice;
mod shared_opening;
mod slots;
mod worker_slice;

pub use broadcast::Broadcast;
pub(crate) use course::CourseKeeper;
pub use participants::{AwaitedResponses, Part, ReportedInterval, SharedSlice, SliceParticipants};
pub use shared_opening::AwaitedConnections;
pub(crate) use shared_opening::{OpeningLook, OpeningPart};
pub use slots::Pool;
pub(crate) use slots::connect_outcome;
pub use worker_slice::{SliceOutcome, WorkerSlice};
