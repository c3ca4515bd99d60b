//! Load from several machines: a controller, its agents, and the bus between them.
//!
//! A [`Fleet`] is the [`LoadGenerator`](abx_engine::LoadGenerator) of several machines. On each
//! machine, [`run_agent`] waits for a controller, receives a part of its load, and generates it
//! with its own engine. Connections, rate and requests are split exactly, slices begin at a time
//! announced in advance, and the tallies are merged without loss. The [`Bus`] is NATS, or a
//! [`LocalBus`] within one process, with the same code on top.
//!
//! Folders in the order of the data: `bus` carries bytes, `message` defines the messages, `clock`
//! converts times to those of another machine, `finals` is the file that an agent keeps on its own
//! disk, `agent` generates load, `controller` orders it, and [`collect`] merges the files that
//! agents have kept of a run whose controller is gone. [`BusSetup`] writes the files with which a
//! NATS server limits each user to its own subjects.

mod agent;
mod bus;
#[cfg(feature = "nats")]
mod bus_setup;
mod clock;
mod collect;
mod controller;
mod finals;
mod fleet_error;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod message;
mod pace;
mod timing;

pub use agent::allowed_target::{AllowedTarget, AllowedTargetError};
pub use agent::limits::AgentLimits;
pub use agent::{AgentEvent, AgentPlan, run_agent};
pub use bus::local::{LocalBus, LocalConnection};
#[cfg(feature = "nats")]
pub use bus::nats::NatsBus;
pub use bus::{Bus, BusError, BusMessage, Subscription};
#[cfg(feature = "nats")]
pub use bus_setup::{BusSetup, BusSetupError, SetupFile};
pub use collect::{CollectError, Collected, MixedFinals, collect};
pub use controller::fleet::Fleet;
pub use controller::{FleetEvent, FleetListener, FleetPlan};
pub use finals::{Author, Counted, Final, FinalError};
pub use fleet_error::FleetError;
pub use message::build::{own_build, random_id};
pub use timing::FleetTiming;
