//! Where the time of requests went, as reports show it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::measure::distribution::phases::{Phase, Phases};

/// The phases of a random sample of requests: a mean and two quantiles per phase.
/// The means add up to the mean response time of the sample.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseTimes {
    /// How many sampled requests had a complete response; at least one.
    pub requests: u64,
    /// The time from the intended send to the turn of the request, without opening its own
    /// connection.
    pub waiting: PhaseTime,
    /// Opening a connection for the request.
    pub connect: PhaseTime,
    /// The time from the turn of the request to the first byte of its response.
    pub first_byte: PhaseTime,
    /// The time from the first byte of the response to the last one.
    pub body: PhaseTime,
}

/// One phase of the sample.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseTime {
    /// The mean over all requests of the sample, in µs. A request without the phase counts
    /// with 0.
    pub mean_us: f64,
    /// The median of the requests that had the phase, in µs; `None` if none had it.
    pub p50_us: Option<u64>,
    /// Their p99 in µs; `None` if fewer than 100 had the phase.
    pub p99_us: Option<u64>,
}

impl PhaseTimes {
    /// The times of a sample; `None` if nothing was sampled.
    #[must_use]
    pub fn of(phases: &Phases) -> Option<PhaseTimes> {
        let requests = phases.sums().requests;
        (requests > 0).then(|| {
            let [waiting, connect, first_byte, body] =
                Phase::ALL.map(|phase| PhaseTime::of(phases, phase));
            PhaseTimes {
                requests,
                waiting,
                connect,
                first_byte,
                body,
            }
        })
    }

    /// One phase.
    #[must_use]
    pub fn phase(&self, phase: Phase) -> PhaseTime {
        match phase {
            Phase::Waiting => self.waiting,
            Phase::Connect => self.connect,
            Phase::FirstByte => self.first_byte,
            Phase::Body => self.body,
        }
    }

    /// The mean response time of the sample in µs.
    #[must_use]
    pub fn response_us(&self) -> f64 {
        Phase::ALL
            .iter()
            .map(|phase| self.phase(*phase).mean_us)
            .sum()
    }

    /// The share of a phase in the mean response time, from 0 to 1.
    #[must_use]
    pub fn share(&self, phase: Phase) -> f64 {
        let response_us = self.response_us();
        if response_us > 0.0 {
            self.phase(phase).mean_us / response_us
        } else {
            0.0
        }
    }

    /// Whether any phase except the wait for the first byte takes over a tenth of the time. If not,
    /// the response time alone is enough.
    #[must_use]
    pub fn is_notable(&self) -> bool {
        let others = [Phase::Waiting, Phase::Connect, Phase::Body];
        others
            .into_iter()
            .any(|phase| self.share(phase) > NOTABLE_SHARE)
    }
}

impl PhaseTime {
    fn of(phases: &Phases, phase: Phase) -> PhaseTime {
        let sums = phases.sums();
        let times = phases.times(phase);
        let quantile = |q: f64| times.and_then(|times| times.quantile_us(q));
        let count = times.map_or(0, |times| times.count());
        PhaseTime {
            mean_us: sums.of(phase) as f64 / sums.requests.max(1) as f64 / 1e3,
            p50_us: quantile(0.5),
            p99_us: quantile(0.99).filter(|_| count >= P99_COUNT_MIN),
        }
    }
}

/// A phase above this share of the time is notable.
const NOTABLE_SHARE: f64 = 0.1;
/// The p99 of fewer times is the longest one.
const P99_COUNT_MIN: u64 = 100;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::distribution::phases::{PhaseSplit, Timestamps};

    /// Requests of 10 µs of waiting, 100 µs to the first byte and `body_us` of body; the last
    /// `connecting` of them with 40 µs of connecting.
    fn sample(requests: u64, connecting: u64, body_us: u64) -> PhaseTimes {
        let mut phases = Phases::default();
        for request in 0..requests {
            let connect_us = (request >= requests - connecting).then_some(40);
            let turn_us = 10 + connect_us.unwrap_or_default();
            phases.record(&PhaseSplit::of(&Timestamps {
                intended_ns: 0,
                connect_ns: connect_us.map(|span| span * 1_000),
                turn_ns: turn_us * 1_000,
                first_byte_ns: (turn_us + 100) * 1_000,
                done_ns: (turn_us + 100 + body_us) * 1_000,
            }));
        }
        PhaseTimes::of(&phases).unwrap()
    }

    #[test]
    fn means_add_up_and_quantiles_are_over_requests_with_the_phase() {
        // Method: 200 requests, a quarter of which opened a connection.
        let phase_times = sample(200, 50, 30);
        assert_eq!(phase_times.requests, 200);
        assert_eq!(
            Phase::ALL.map(|phase| phase_times.phase(phase).mean_us),
            [10.0, 10.0, 100.0, 30.0]
        );
        assert!((phase_times.response_us() - 150.0).abs() < 1e-9);
        assert!((phase_times.share(Phase::Body) - 0.2).abs() < 1e-9);
        let medians = Phase::ALL.map(|phase| phase_times.phase(phase).p50_us);
        assert_eq!(medians, [10, 40, 100, 30].map(Some));
        // 50 connections are too few for their p99.
        let p99 = Phase::ALL.map(|phase| phase_times.phase(phase).p99_us);
        assert_eq!(p99, [Some(10), None, Some(100), Some(30)]);
        assert_eq!(sample(200, 0, 30).connect.p50_us, None);
    }

    #[test]
    fn a_wait_for_the_first_byte_alone_is_not_notable() {
        // Method: a body below and above a tenth of the time, a connection, and no sample.
        assert!(!sample(1, 0, 5).is_notable());
        assert!(sample(1, 0, 20).is_notable());
        assert!(sample(1, 1, 0).is_notable());
        assert_eq!(PhaseTimes::of(&Phases::default()), None);
    }
}
