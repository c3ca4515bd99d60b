//! The one loop of the engine, and the one place in it that waits.
//!
//! A [`Driver`] returns until when there is nothing to do, and takes the events that came.
//! Its actions later than the next wait are in [`Timers`].

mod driver;
mod timers;

pub(crate) use driver::{Driver, NextWait, Waiter, event_loop};
pub(crate) use timers::Timers;
