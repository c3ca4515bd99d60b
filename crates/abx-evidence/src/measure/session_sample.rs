//! Sessions of several requests as the unit in which a load is counted.

use crate::measure::outcome::Outcome;
use crate::measure::tally::Tally;

/// One session of a user from its beginning to its end, on the monotonic clock in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionSample {
    /// When its first pause or request began.
    pub began_ns: u64,
    /// When its last response was complete, or when it failed.
    pub done_ns: u64,
    /// For how long its user paused.
    pub think_ns: u64,
    /// The outcome of the step that failed; `Ok` if none did.
    pub outcome: Outcome,
    /// Bytes of its responses, including heads and framing.
    pub bytes: u64,
}

impl Tally {
    /// Counts one session as other loads count a request. Its response time does not include
    /// pauses. A session that failed with a response has no response time, because its other steps
    /// did not run.
    pub fn record_session(&mut self, sample: &SessionSample) {
        self.outcomes.add(sample.outcome);
        self.bytes += sample.bytes;
        if let Some(timeline) = &mut self.timeline {
            timeline.record(sample.began_ns, sample.done_ns, sample.outcome);
        }
        let lasted_ns = sample.done_ns.saturating_sub(sample.began_ns);
        let response_ns = lasted_ns.saturating_sub(sample.think_ns);
        if sample.outcome == Outcome::Ok {
            self.times.response.record_ns(response_ns);
            self.response_ns_sum += response_ns;
        } else if sample.outcome.is_without_response() {
            self.times.response.record_ns(response_ns);
            self.times.response_at_least.record_ns(response_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(outcome: Outcome) -> SessionSample {
        SessionSample {
            began_ns: 1_000_000,
            done_ns: 9_000_000,
            think_ns: 5_000_000,
            outcome,
            bytes: 70,
        }
    }

    #[test]
    fn a_session_takes_the_time_of_its_responses_without_pauses() {
        // Method: a session of 8 ms, 5 ms of which are pauses, completed, failed and timed out.
        let mut tally = Tally::default();
        for outcome in [Outcome::Ok, Outcome::WrongStatus, Outcome::Timeout] {
            tally.record_session(&sample(outcome));
        }
        assert_eq!((tally.outcomes.ok(), tally.outcomes.failed()), (1, 2));
        assert_eq!(
            (
                tally.times.response.count(),
                tally.times.response_at_least.count()
            ),
            (2, 1)
        );
        // Histograms are accurate to a thousandth.
        let longest = tally.times.response.max_us().unwrap();
        assert!((3_000..=3_003).contains(&longest), "{longest}");
        assert_eq!(tally.response_ns_sum, 3_000_000);
        assert_eq!(tally.bytes, 210);
    }
}
