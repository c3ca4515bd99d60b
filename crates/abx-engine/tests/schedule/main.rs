//! Schedules without a clock: their moments, their shares, and how they are written.

mod planned;
mod poisson;
mod replay;
mod shares;
mod text;

use abx_engine::schedule::{Arrivals, Pacer, Schedule, ScheduleShare};
use abx_sys::Nanos;

/// A second, in nanoseconds.
const SECOND: u64 = 1_000_000_000;

fn constant(per_s: &str) -> Arrivals {
    Arrivals::Constant {
        per_s: per_s.parse().expect("the test writes a rate"),
    }
}

fn poisson(per_s: &str) -> Arrivals {
    Arrivals::Poisson {
        per_s: per_s.parse().expect("the test writes a rate"),
    }
}

fn stages(text: &str) -> Arrivals {
    Arrivals::Stages(text.parse().expect("the test writes stages"))
}

fn schedule(arrivals: &Arrivals) -> Schedule {
    Schedule::new(arrivals, 7).expect("no closed loop")
}

fn pacer(arrivals: &Arrivals) -> Pacer {
    schedule(arrivals).pacer(ScheduleShare::WHOLE)
}

/// All moments of a schedule that ends.
fn moments(text: &str) -> Vec<u64> {
    pacer(&stages(text)).map(|due| due.0).collect()
}

#[test]
fn a_closed_loop_has_no_schedule() {
    // Method: a closed loop, the only arrivals without due times.
    assert!(Schedule::new(&Arrivals::Closed, 7).is_none());
    assert_eq!(pacer(&constant("1")).peek(), Some(Nanos(0)));
}
