//! One connection: what it reads, owes and sends, step by step.
//!
//! Every model except the null model serves its connections with this code. Models differ in what
//! takes the steps, and in what waits when no step is possible. TLS is between the socket and
//! everything else; its pending records are sent first.

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
