//! One worker's part of a slice: its times, its part of the schedule, and its outcome.

use abx_evidence::CoursePlan;
use abx_sys::Nanos;

use crate::connection::clock::Basis;
use crate::plan::LoadPlan;
use crate::schedule::{Arrivals, ScheduleShare};

/// If fewer requests are due in the counted part of a constant rate, the throughput is counted
/// over exactly that part: waiting for one more completion would take long.
const FLOW_MIN: f64 = 100.0;

/// One worker's part of a slice.
#[derive(Debug, Clone, Copy)]
pub struct WorkerSlice {
    pub start: Nanos,
    /// Requests that are due from here on count.
    pub counted_from: Nanos,
    /// Requests that are due from here on do not count. Unless the slice ends by a number of
    /// requests, the load continues until every counted outcome is known.
    pub end: Nanos,
    /// The most requests that are sent.
    pub requests_max: u64,
    /// This worker's part of the schedule.
    pub share: ScheduleShare,
    /// How its course is recorded; `None` to record none.
    pub course: Option<CoursePlan>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SliceOutcome {
    /// The last outcome's time.
    pub end: Nanos,
    /// The end of the time over which responses are counted.
    pub counted_until: Nanos,
    /// Whether it ended early because no connection got a response any more.
    pub stopped_responding: bool,
}

impl WorkerSlice {
    /// The basis of its throughput.
    pub(crate) fn basis(&self, plan: &LoadPlan) -> Basis {
        if self.ends_by_requests() {
            return Basis::Requests;
        }
        if plan.pacing.connections_over_time.is_some() {
            return Basis::Window;
        }
        match plan.pacing.arrivals {
            Arrivals::Closed => Basis::Completions,
            Arrivals::Stages(_) | Arrivals::Replay(_) => Basis::Window,
            // Losses and recovery are counted over the whole slice.
            _ if plan.is_to_fail() => Basis::Window,
            Arrivals::Constant { per_s } | Arrivals::Poisson { per_s } => {
                let counted_s = self.end.since(self.counted_from).0 as f64 / 1e9;
                let due = f64::from(per_s.amount()) * counted_s;
                if due >= FLOW_MIN {
                    Basis::Flow
                } else {
                    Basis::Window
                }
            }
        }
    }

    /// Until when requests are sent, as far as that is known in advance.
    pub(super) fn sends_until(&self) -> Nanos {
        if self.ends_by_requests() {
            self.end
        } else {
            Nanos::MAX
        }
    }

    pub(crate) fn ends_by_requests(&self) -> bool {
        self.requests_max < u64::MAX || self.end == Nanos::MAX
    }
}
