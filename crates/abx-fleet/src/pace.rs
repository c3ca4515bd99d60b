//! How one agent's generator kept pace, over all of its slices.

use abx_evidence::record::AgentPace;
use abx_evidence::{Histogram, SliceTally};

/// An agent that misses more than one part in ten of a slice counts as late.
pub const LATE: u64 = 10;

/// Sums over the slices of one agent.
#[derive(Debug, Clone, Default)]
pub struct PaceSums {
    wall_ns: u64,
    busiest_worker_ns: u64,
    /// `None` from the first slice without this figure on.
    wait_ns: Option<u64>,
    slices: u64,
    lateness: Histogram,
    loop_lag: Histogram,
}

impl PaceSums {
    /// Adds a slice. In a closed loop, no request is late.
    pub fn note(&mut self, slice: &SliceTally, is_open: bool) {
        let sum = if self.slices == 0 {
            Some(0)
        } else {
            self.wait_ns
        };
        let wait = sum.zip(slice.generator_wait_ns);
        self.wait_ns = wait.map(|(sum, wait)| sum + wait);
        self.slices += 1;
        self.wall_ns += slice.wall_ns;
        self.busiest_worker_ns += slice.busiest_worker_ns;
        self.loop_lag.merge(&slice.tally.times.loop_lag);
        if is_open {
            self.lateness.merge(&slice.tally.times.lateness);
        }
    }

    /// The entry in a record.
    pub fn record(&self) -> AgentPace {
        AgentPace {
            wall_ns: self.wall_ns,
            busiest_worker_ns: self.busiest_worker_ns,
            wait_ns: self.wait_ns,
            lateness_us_p99: self.lateness.quantile_us(0.99),
            loop_lag_us_p99: self.loop_lag.quantile_us(0.99),
        }
    }
}
