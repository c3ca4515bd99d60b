//! The one loop of the engine, and the one place in it that waits.
//!
//! A [`Driver`] says until when there is nothing to do, and takes what has come; what it
//! does later than the next wait it keeps in [`Timers`].

mod driver;
mod timers;

pub(crate) use driver::{Driver, NextWait, Waiter, event_loop};
pub(crate) use timers::Timers;
