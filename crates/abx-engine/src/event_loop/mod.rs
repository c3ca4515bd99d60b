//! The one loop of the engine, and the one place in it that waits.
//!
//! A [`Driver`] returns how long there is nothing to do, and handles the events that came.
//! [`Timers`] hold its later actions.

mod driver;
mod timers;

pub(crate) use driver::{Driver, NextWait, Waiter, event_loop};
pub(crate) use timers::Timers;
