//! Load from several machines: a controller, its agents, and the bus between them.
//!
//! A [`Fleet`] is the [`LoadGenerator`](abx_engine::LoadGenerator) of several machines. On each of
//! them [`run_agent`] waits for a controller, receives a part of its load, and makes it with an
//! engine of its own: connections, rate and requests are split exactly, slices begin at a moment
//! that was announced before, and the tallies are merged without loss. Between them is a [`Bus`]:
//! NATS, or a [`LocalBus`] within one process, over which the very same code runs.
//!
//! Folders in the order of the data: `bus` carries bytes, `message` defines the messages, `clock`
//! converts moments to another machine's time, `finals` is the file that an agent keeps on its own
//! disk, `agent` makes load, `controller` orders it, and [`collect`] merges the files that agents
//! have kept of a run whose controller is gone. [`BusSetup`] has the files with which a NATS server
//! limits each of them to its own subjects.

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
