//! One connection: what it reads, owes and sends, step by step.
//!
//! Every model but the null one serves its connections with it. They differ in what takes the
//! steps, and in what waits when none can be taken. With TLS, it is between the socket
//! and all else that is here; of its records, those that are owed go first.

pub(crate) mod bodies;
mod client_connection;
mod context;
mod http2_session;
mod protocol_choice;
mod ring_transfer;
mod state;
mod streams;

pub(crate) use client_connection::Connection;
pub(crate) use context::{Batch, Context};
pub(crate) use protocol_choice::{FirstBytes, ProtocolChoice};
pub(crate) use state::{ConnectionWait, RingTransfer, TurnStep};
