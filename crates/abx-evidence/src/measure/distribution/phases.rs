//! Where the time of requests goes: waiting, connecting, the wait for the response's first byte,
//! its body. It is recorded for a random sample of requests, those that are verified. Start at
//! [`PhaseSplit`] for one request and at [`Phases`] for many.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use crate::measure::distribution::histogram::Histogram;
use crate::measure::sum::sum;

/// A part of a response time; the four parts of a request add up to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// From the intended send to the turn of the request, without opening its own connection. Its
    /// turn comes when it is sent and every earlier response on its connection is complete. It
    /// includes a failed attempt.
    Waiting,
    /// Opening the connection of the response, if it was opened for this request.
    Connect,
    /// From its turn to the first byte of its response.
    FirstByte,
    /// From the first byte of its response to the last one.
    Body,
}

impl Phase {
    /// All of them, in the order in which a request has them.
    pub const ALL: [Phase; 4] = [
        Phase::Waiting,
        Phase::Connect,
        Phase::FirstByte,
        Phase::Body,
    ];

    /// Its name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Phase::Waiting => "waiting",
            Phase::Connect => "connect",
            Phase::FirstByte => "first byte",
            Phase::Body => "body",
        }
    }
}

/// The moments of one request that got a response, on the monotonic clock in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timestamps {
    pub intended_ns: u64,
    /// How long opening its own connection took, which ended before its turn; `None` if the
    /// connection was already open.
    pub connect_ns: Option<u64>,
    /// When it was sent and every earlier response on its connection was complete.
    pub turn_ns: u64,
    /// When the first byte of its response was received.
    pub first_byte_ns: u64,
    /// When the last byte was received.
    pub done_ns: u64,
}

/// The response time of one request, split into phases, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PhaseSplit {
    waiting_ns: u64,
    connect_ns: Option<u64>,
    first_byte_ns: u64,
    body_ns: u64,
}

impl PhaseSplit {
    /// Splits the time from the intended send to the last byte. The phases add up to it, in
    /// whatever order the moments are.
    #[must_use]
    pub fn of(moments: &Timestamps) -> PhaseSplit {
        let Timestamps { intended_ns, .. } = *moments;
        let done_ns = moments.done_ns.max(intended_ns);
        let turn_ns = moments.turn_ns.clamp(intended_ns, done_ns);
        let first_byte_ns = moments.first_byte_ns.clamp(turn_ns, done_ns);
        let before_ns = turn_ns - intended_ns;
        let connect_ns = moments.connect_ns.map(|span_ns| span_ns.min(before_ns));
        PhaseSplit {
            waiting_ns: before_ns - connect_ns.unwrap_or_default(),
            connect_ns,
            first_byte_ns: first_byte_ns - turn_ns,
            body_ns: done_ns - first_byte_ns,
        }
    }
}

/// Sums over a sample of requests, in ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseSums {
    /// Requests in the sample that had a complete response.
    pub requests: u64,
    /// The time until their turn, without opening connections.
    pub waiting_ns: u64,
    /// The time of opening connections for them.
    pub connect_ns: u64,
    /// The time from their turn to the first byte of the response.
    pub first_byte_ns: u64,
    /// The time from the first byte of the response to the last one.
    pub body_ns: u64,
}

impl PhaseSums {
    /// Whether nothing was sampled.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.requests == 0
    }

    /// The sum of one phase.
    #[must_use]
    pub fn of(&self, phase: Phase) -> u64 {
        match phase {
            Phase::Waiting => self.waiting_ns,
            Phase::Connect => self.connect_ns,
            Phase::FirstByte => self.first_byte_ns,
            Phase::Body => self.body_ns,
        }
    }

    fn merge(&mut self, other: &PhaseSums) {
        self.requests = sum([self.requests, other.requests]);
        self.waiting_ns = sum([self.waiting_ns, other.waiting_ns]);
        self.connect_ns = sum([self.connect_ns, other.connect_ns]);
        self.first_byte_ns = sum([self.first_byte_ns, other.first_byte_ns]);
        self.body_ns = sum([self.body_ns, other.body_ns]);
    }
}

/// The phases of a sample of requests. `merge` is associative and commutative.
///
/// It allocates memory with its first request only: most tallies have no sample, and would copy
/// four empty distributions each time.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Phases(Option<Box<Sampled>>);

/// The phases of a sample of requests: their sums, and their times.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Phases")]
struct Sampled {
    #[serde(flatten)]
    sums: PhaseSums,
    /// Times of waiting.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    waiting: Histogram,
    /// Times of connecting, of the requests for which a connection was opened.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    connect: Histogram,
    /// Times to the first byte.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    first_byte: Histogram,
    /// Times of bodies.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    body: Histogram,
}

impl Phases {
    /// Counts one request.
    pub fn record(&mut self, split: &PhaseSplit) {
        let sampled = self.0.get_or_insert_default();
        sampled.sums.merge(&PhaseSums {
            requests: 1,
            waiting_ns: split.waiting_ns,
            connect_ns: split.connect_ns.unwrap_or_default(),
            first_byte_ns: split.first_byte_ns,
            body_ns: split.body_ns,
        });
        sampled.waiting.record_ns(split.waiting_ns);
        if let Some(span_ns) = split.connect_ns {
            sampled.connect.record_ns(span_ns);
        }
        sampled.first_byte.record_ns(split.first_byte_ns);
        sampled.body.record_ns(split.body_ns);
    }

    /// Whether nothing was sampled.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sampled().is_none()
    }

    /// The sums of all requests.
    #[must_use]
    pub fn sums(&self) -> PhaseSums {
        self.sampled()
            .map(|sampled| sampled.sums)
            .unwrap_or_default()
    }

    /// The times of one phase; `None` if nothing was sampled. The times of [`Phase::Connect`] are
    /// those of requests for which a connection was opened.
    #[must_use]
    pub fn times(&self, phase: Phase) -> Option<&Histogram> {
        let sampled = self.sampled()?;
        Some(match phase {
            Phase::Waiting => &sampled.waiting,
            Phase::Connect => &sampled.connect,
            Phase::FirstByte => &sampled.first_byte,
            Phase::Body => &sampled.body,
        })
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Phases) {
        let Some(other) = other.sampled() else {
            return;
        };
        let sampled = self.0.get_or_insert_default();
        sampled.sums.merge(&other.sums);
        sampled.waiting.merge(&other.waiting);
        sampled.connect.merge(&other.connect);
        sampled.first_byte.merge(&other.first_byte);
        sampled.body.merge(&other.body);
    }

    /// Forgets everything and keeps the memory.
    pub fn clear(&mut self) {
        if let Some(sampled) = &mut self.0 {
            sampled.sums = PhaseSums::default();
            sampled.waiting.clear();
            sampled.connect.clear();
            sampled.first_byte.clear();
            sampled.body.clear();
        }
    }

    /// The sample, if it is not empty.
    fn sampled(&self) -> Option<&Sampled> {
        self.0.as_deref().filter(|sampled| !sampled.sums.is_empty())
    }
}

/// Memory without a sample makes no difference.
impl PartialEq for Phases {
    fn eq(&self, other: &Phases) -> bool {
        self.sampled() == other.sampled()
    }
}

impl JsonSchema for Phases {
    fn schema_name() -> Cow<'static, str> {
        Sampled::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Sampled::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn moments() -> impl Strategy<Value = Timestamps> {
        let moment = || 0_u64..1 << 34;
        let connect = prop::option::of(moment());
        let parts = (moment(), connect, moment(), moment(), moment());
        parts.prop_map(
            |(intended_ns, connect_ns, turn_ns, first_byte_ns, done_ns)| Timestamps {
                intended_ns,
                connect_ns,
                turn_ns,
                first_byte_ns,
                done_ns,
            },
        )
    }

    fn phases(timestamps: &[Timestamps]) -> Phases {
        let mut phases = Phases::default();
        timestamps
            .iter()
            .for_each(|timestamps| phases.record(&PhaseSplit::of(timestamps)));
        phases
    }

    fn sum(sums: &PhaseSums) -> u64 {
        Phase::ALL.iter().map(|phase| sums.of(*phase)).sum()
    }

    #[test]
    fn each_phase_has_its_own_part() {
        // Method: moments in their order, with a different length for each phase.
        let mut timestamps = Timestamps {
            intended_ns: 1_000,
            connect_ns: Some(20_000),
            turn_ns: 24_000,
            first_byte_ns: 424_000,
            done_ns: 5_424_000,
        };
        let with = phases(&[timestamps]);
        let parts = |phases: &Phases| Phase::ALL.map(|phase| phases.sums().of(phase));
        assert_eq!(parts(&with), [3_000, 20_000, 400_000, 5_000_000]);
        timestamps.connect_ns = None;
        let without = phases(&[timestamps]);
        assert_eq!(parts(&without), [23_000, 0, 400_000, 5_000_000]);
        let counted =
            |phases: &Phases| Phase::ALL.map(|phase| phases.times(phase).unwrap().count());
        assert_eq!(counted(&with), [1, 1, 1, 1]);
        // On an open connection there is no time of connecting, rather than a time of zero.
        assert_eq!(counted(&without), [1, 0, 1, 1]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn phases_add_up_to_the_response_time(timestamps in moments()) {
            // Method: random moments, in any order.
            let response_ns = timestamps.done_ns.saturating_sub(timestamps.intended_ns);
            prop_assert_eq!(sum(&phases(&[timestamps]).sums()), response_ns);
        }

        #[test]
        fn the_order_of_merging_does_not_matter(
            a in prop::collection::vec(moments(), 0..4),
            b in prop::collection::vec(moments(), 0..4),
            c in prop::collection::vec(moments(), 0..4),
        ) {
            // Method: (a+b)+c against c+(b+a), and against all requests in one.
            let mut left = phases(&a);
            left.merge(&phases(&b));
            left.merge(&phases(&c));
            let mut inner = phases(&b);
            inner.merge(&phases(&a));
            let mut right = phases(&c);
            right.merge(&inner);
            prop_assert_eq!(&left, &right);
            prop_assert_eq!(left, phases(&[a, b, c].concat()));
        }

        #[test]
        fn json_reads_back_the_same(timestamps in prop::collection::vec(moments(), 1..6)) {
            // Method: written and read.
            let before = phases(&timestamps);
            let text = serde_json::to_string(&before).unwrap();
            prop_assert_eq!(serde_json::from_str::<Phases>(&text).unwrap(), before);
        }
    }

    #[test]
    fn memory_without_a_sample_makes_no_difference() {
        // Method: allocated memory, and memory that was filled and cleared, compared with none.
        let reserved = Phases(Some(Box::default()));
        let timestamps = Timestamps {
            intended_ns: 0,
            connect_ns: Some(1),
            turn_ns: 1,
            first_byte_ns: 2,
            done_ns: 3,
        };
        let mut cleared = phases(&[timestamps]);
        assert!(!cleared.is_empty());
        cleared.clear();
        for phases in [reserved, cleared] {
            assert!(phases.is_empty() && phases == Phases::default());
            assert!(phases.times(Phase::Body).is_none());
            let mut sum = phases.clone();
            sum.merge(&phases);
            assert!(sum.is_empty());
        }
    }
}
