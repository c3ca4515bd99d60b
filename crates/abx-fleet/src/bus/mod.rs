//! The bus that carries messages between a controller and its agents.

mod carrier;
pub mod local;
#[cfg(feature = "nats")]
pub mod nats;

pub use carrier::{Bus, BusError, BusMessage, Subscription};
