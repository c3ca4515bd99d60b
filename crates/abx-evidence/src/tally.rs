//! Counters and times of one stretch of load, made to be added up.

use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;
use crate::outcome::{Outcome, Outcomes};

/// One request from its intended send to its end, on the monotonic clock in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// When it was due: in a closed loop, when its connection became free.
    pub intended_ns: u64,
    /// When its bytes were handed to the kernel; `None` when it came not so far.
    pub sent_ns: Option<u64>,
    /// When its last byte was received, or when it failed.
    pub done_ns: u64,
    /// What became of it.
    pub outcome: Outcome,
}

/// What a stretch of load gave. `merge` is associative and commutative, so
/// workers and slices can be added in any order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// Outcomes of all attempts; their sum is the number of requests sent.
    pub outcomes: Outcomes,
    /// Outcomes of attempts that began in the discarded part: no throughput, but
    /// a failure among them is a failure.
    pub discarded: Outcomes,
    /// Bytes received, heads and framing included.
    pub bytes: u64,
    /// Bytes received that belong to bodies.
    pub body_bytes: u64,
    /// Connections opened during the stretch.
    pub connects: u64,
    /// Bodies that were hashed and compared, those of the discarded part included.
    pub hashed: u64,
    /// Connection time: each connection from its first counted send to its last outcome, summed.
    pub connection_ns: u64,
    /// Connections that sent nothing after the discarded part.
    pub silent: u64,
    /// The sum of the response times of completed requests.
    pub response_ns_sum: u64,
    /// Response times of completed requests, and of timeouts with what they had waited.
    pub response: Histogram,
    /// Service times of the same requests.
    pub service: Histogram,
    /// How late sends were: actual minus intended.
    pub lateness: Histogram,
}

impl Tally {
    /// Counts one request.
    pub fn record(&mut self, sample: &Sample) {
        self.outcomes.add(sample.outcome);
        let response_ns = sample.done_ns.saturating_sub(sample.intended_ns);
        if !(sample.outcome.is_completed() || sample.outcome == Outcome::Timeout) {
            return;
        }
        if sample.outcome.is_completed() {
            self.response_ns_sum += response_ns;
        }
        self.response.record_ns(response_ns);
        if let Some(sent_ns) = sample.sent_ns {
            self.service
                .record_ns(sample.done_ns.saturating_sub(sent_ns));
            self.lateness
                .record_ns(sent_ns.saturating_sub(sample.intended_ns));
        }
    }

    /// Adds what `other` holds.
    pub fn merge(&mut self, other: &Tally) {
        self.outcomes.merge(&other.outcomes);
        self.discarded.merge(&other.discarded);
        self.bytes += other.bytes;
        self.body_bytes += other.body_bytes;
        self.connects += other.connects;
        self.hashed += other.hashed;
        self.connection_ns += other.connection_ns;
        self.silent += other.silent;
        self.response_ns_sum += other.response_ns_sum;
        self.response.merge(&other.response);
        self.service.merge(&other.service);
        self.lateness.merge(&other.lateness);
    }

    /// Forgets everything and keeps the memory.
    pub fn clear(&mut self) {
        self.outcomes = Outcomes::default();
        self.discarded = Outcomes::default();
        self.bytes = 0;
        self.body_bytes = 0;
        self.connects = 0;
        self.hashed = 0;
        self.connection_ns = 0;
        self.silent = 0;
        self.response_ns_sum = 0;
        self.response.clear();
        self.service.clear();
        self.lateness.clear();
    }
}

/// What one slice gave, over all worker threads.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SliceTally {
    /// What was counted, the discarded first part left out.
    pub tally: Tally,
    /// Wall time from the slice's start to its last outcome, discarded part and drain included.
    pub wall_ns: u64,
    /// Wall time of the counted part: from the end of the discarded part to the last outcome.
    pub measured_ns: u64,
    /// Processor time of the generator's worker threads over `wall_ns`.
    pub generator_cpu_ns: u64,
    /// Time the worker threads were ready to run but another thread had the processor;
    /// `None` when the kernel does not tell.
    pub generator_wait_ns: Option<u64>,
    /// The processor time of the busiest worker over `wall_ns`.
    pub busiest_worker_ns: u64,
    /// Whether the slice ended early because no connection got an answer any more.
    pub stopped_answering: bool,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tally(samples: &[(u64, u64, u8)]) -> Tally {
        let mut tally = Tally::default();
        for (intended, span, kind) in samples {
            tally.record(&Sample {
                intended_ns: *intended,
                sent_ns: (kind % 2 == 0).then_some(intended + span / 2),
                done_ns: intended + span,
                outcome: Outcome::ALL[usize::from(*kind) % Outcome::ALL.len()],
            });
            tally.connection_ns += span;
            tally.bytes += 1;
        }
        tally
    }

    fn samples() -> impl Strategy<Value = Vec<(u64, u64, u8)>> {
        prop::collection::vec((0_u64..1 << 40, 0_u64..1 << 36, any::<u8>()), 0..8)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn the_order_of_merging_does_not_matter(a in samples(), b in samples(), c in samples()) {
            // Method: (a+b)+c against c+(b+a), and against all samples in one tally.
            let mut left = tally(&a);
            left.merge(&tally(&b));
            left.merge(&tally(&c));
            let mut inner = tally(&b);
            inner.merge(&tally(&a));
            let mut right = tally(&c);
            right.merge(&inner);
            prop_assert_eq!(&left, &right);
            prop_assert_eq!(left, tally(&[a, b, c].concat()));
        }
    }

    #[test]
    fn a_cleared_tally_is_a_new_one() {
        // Method: fill, clear, compare.
        let mut used = tally(&[(1, 5_000, 0), (2, 9_000, 8)]);
        used.clear();
        assert_eq!(used, Tally::default());
    }

    #[test]
    fn response_time_runs_from_the_intended_send() {
        // Method: due at 100 µs, sent at 300 µs, done at 700 µs.
        let mut tally = Tally::default();
        tally.record(&Sample {
            intended_ns: 100_000,
            sent_ns: Some(300_000),
            done_ns: 700_000,
            outcome: Outcome::Ok,
        });
        assert_eq!(tally.response.max_us(), Some(600));
        assert_eq!(tally.service.max_us(), Some(400));
        assert_eq!(tally.lateness.max_us(), Some(200));
    }
}
