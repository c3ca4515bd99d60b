//! When requests are due, and how many of those that were due were sent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::measure::outcome::{Outcome, Outcomes};

/// The times at which requests are due.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArrivalSettings {
    /// The pattern of these times.
    pub kind: ArrivalKind,
    /// Requests that are due per second, on average; `None` in a closed loop,
    /// and if the rate changes.
    pub rate_per_s: Option<f64>,
    /// Whether connections have no request in flight some of the time, even in a
    /// closed loop: because of think times or sessions, or because the connections that send
    /// change over time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub connections_rest: bool,
    /// Details that kind and rate do not have, as text: stages, think times, sessions,
    /// the log.
    pub text: String,
}

/// The pattern of the times at which requests are due.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ArrivalKind {
    /// Each connection's next request is due when the last response is complete.
    #[default]
    Closed,
    /// At equal intervals.
    Constant,
    /// At random, independent of each other.
    Poisson,
    /// At a rate that changes in stages.
    Stages,
    /// At the times of an access log.
    Replay,
}

impl ArrivalSettings {
    /// Whether every connection always has a request in flight: a closed loop
    /// whose connections never rest.
    #[must_use]
    pub fn is_saturating(&self) -> bool {
        !self.is_open() && !self.connections_rest
    }

    /// Whether requests are due regardless of the responses to earlier ones.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.kind != ArrivalKind::Closed
    }
}

/// The requests that an open loop had to send, and those that it sent. Each request
/// counts once, regardless of the number of attempts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Offered {
    /// Requests that were due: `sent` and `unsent` together.
    pub planned: u64,
    /// Requests of which at least one attempt began.
    pub sent: u64,
    /// Those that were never sent.
    pub unsent: u64,
    /// Requests in `sent` that were sent late, because every connection was in use
    /// when they were due.
    pub queued: u64,
    /// Requests in `sent` that had no response when the measurement ended.
    pub unfinished: u64,
}

impl Offered {
    /// The requests of an open loop by these counts; `None` in a closed loop, where each request is
    /// due when it is sent.
    pub fn counted(arrivals: &ArrivalSettings, outcomes: &Outcomes, late: Late) -> Option<Offered> {
        // An attempt that ended in an idle close was followed by another one for its request.
        let sent = outcomes.requests();
        arrivals.is_open().then(|| Offered {
            planned: sent.saturating_add(late.unsent),
            sent,
            unsent: late.unsent,
            queued: late.queued,
            unfinished: outcomes.count(Outcome::Unfinished),
        })
    }

    /// The share of due requests that got a verified response; `None` if none was due.
    #[must_use]
    pub fn served(&self, outcomes: &Outcomes) -> Option<f64> {
        (self.planned > 0).then(|| outcomes.ok() as f64 / self.planned as f64)
    }
}

/// Requests that were not sent when they were due.
#[derive(Debug, Clone, Copy)]
pub struct Late {
    /// Requests that were never sent.
    pub unsent: u64,
    /// Requests that had to wait for a connection.
    pub queued: u64,
}

/// The times over which responses were counted.
#[derive(Debug, Clone, Copy)]
pub struct Spans {
    pub connection_ns: u64,
    /// Wall time of the counted part.
    pub measured_ns: u64,
}

/// The counts of the connections' clocks.
#[derive(Debug, Clone, Copy)]
pub struct Clocked {
    pub connections: u64,
    /// Verified responses.
    pub ok: u64,
}

/// Verified responses per second. In a closed loop: connections times `ok` over the connections'
/// time, each of which is its own clock. In an open loop, where connections wait for due requests:
/// `ok` over the measured time; at a constant rate no more than that rate times `served`, the
/// share of due requests that got a verified response. `None` without any time.
pub fn throughput_per_s(
    arrivals: &ArrivalSettings,
    clocked: Clocked,
    spans: Spans,
    served: Option<f64>,
) -> Option<f64> {
    let (weight, ns) = if arrivals.is_open() {
        (1, spans.measured_ns)
    } else {
        (clocked.connections, spans.connection_ns)
    };
    let per_s = (ns > 0).then(|| weight as f64 * clocked.ok as f64 / (ns as f64 / 1e9))?;
    // The last of N requests is due N - 1 intervals after the first, and after a pause a server
    // responds in a burst: either way, a short time has more responses than were due in it.
    let offered = arrivals
        .rate_per_s
        .filter(|_| arrivals.kind == ArrivalKind::Constant);
    Some(offered.map_or(per_s, |offered| per_s.min(offered * served.unwrap_or(1.0))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::tally::Tally;

    #[test]
    fn no_more_responses_per_second_are_counted_than_were_offered() {
        // Method: requests at a constant rate, of which the last is due one interval before the
        // end of their time; a server that falls behind; one that leaves a tenth without a
        // response and sends the others in a burst; random arrivals, which may come in bursts.
        let constant = ArrivalSettings {
            kind: ArrivalKind::Constant,
            rate_per_s: Some(2.0),
            ..ArrivalSettings::default()
        };
        let with = |arrivals: &ArrivalSettings, ok, measured_ns, served| {
            let spans = Spans {
                connection_ns: 0,
                measured_ns,
            };
            let clocked = Clocked { connections: 5, ok };
            throughput_per_s(arrivals, clocked, spans, served)
        };
        let over = |arrivals: &ArrivalSettings, ok, measured_ns| {
            with(arrivals, ok, measured_ns, Some(1.0))
        };
        assert_eq!(over(&constant, 2, 500_000_000), Some(2.0));
        assert_eq!(over(&constant, 1, 300_000), Some(2.0));
        assert_eq!(over(&constant, 3, 2_000_000_000), Some(1.5));
        assert_eq!(over(&constant, 3, 0), None);
        assert_eq!(with(&constant, 18, 5_000_000_000, Some(0.9)), Some(1.8));
        assert_eq!(with(&constant, 3, 2_000_000_000, Some(0.9)), Some(1.5));
        assert_eq!(with(&constant, 4, 1_000_000_000, None), Some(2.0));
        let poisson = ArrivalSettings {
            kind: ArrivalKind::Poisson,
            ..constant
        };
        assert_eq!(over(&poisson, 5, 2_000_000_000), Some(2.5));
    }

    #[test]
    fn a_request_that_was_tried_twice_was_due_once() {
        // Method: three requests, one of them tried again after an idle close
        // and one given up at the end; two more were never sent.
        let mut tally = Tally::default();
        let outcomes = [
            Outcome::Ok,
            Outcome::IdleClose,
            Outcome::Ok,
            Outcome::Unfinished,
        ];
        outcomes
            .into_iter()
            .for_each(|outcome| tally.outcomes.add(outcome));
        (0..2).for_each(|_| tally.record_unsent(0, 5_000));
        tally.queued = 1;
        let open = ArrivalSettings {
            kind: ArrivalKind::Poisson,
            ..ArrivalSettings::default()
        };
        let expected = Offered {
            planned: 5,
            sent: 3,
            unsent: 2,
            queued: 1,
            unfinished: 1,
        };
        assert_eq!(Offered::of(&open, &tally), Some(expected));
        assert_eq!(Offered::of(&ArrivalSettings::default(), &tally), None);
    }
}
