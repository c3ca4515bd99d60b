//! When requests are due: arrivals as a pure function, without a clock.
//!
//! [`Arrivals`] describes them in a plan; [`Schedule`] turns the plan into moments, counted
//! from the schedule's own zero; a [`Pacer`] gives one worker its share of the moments.
//! Nothing here waits or reads a clock, so a request that is late keeps its intended moment.
//!
//! Constant rates and stages are computed in whole numbers from a request's
//! index, so that nothing drifts. A request is due when the integral of the rate
//! passes its index, so the first one of a constant rate is due at zero, and
//! `a..b` holds `ceil(integral to b) - ceil(integral to a)` requests. Moments are
//! rounded down to a nanosecond. A [`Replay`] lists its moments, and the request of each.

mod amount;
mod arrivals;
mod pacer;
mod poisson;
mod replay;
mod stages;
mod timetable;

pub use amount::{Amount, AmountError, PerSecond};
pub use arrivals::{Arrivals, Schedule};
pub use pacer::{Pacer, ScheduleShare};
pub use replay::{Replay, ReplayError, ReplaySpeed, ReplaySpeedError, ReplayedRequest};
pub use stages::{Stage, StageError, StageList, StageListError};
