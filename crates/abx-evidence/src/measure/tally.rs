//! Counters and times of one interval of load, which can be merged.

use serde::{Deserialize, Serialize};

use crate::measure::arrivals::{ArrivalSettings, Clocked, Late, Offered, Spans, throughput_per_s};
use crate::measure::course::CourseTally;
use crate::measure::distribution::histograms::Histograms;
use crate::measure::outcome::{Outcome, Outcomes};
use crate::measure::request_log::RequestLog;
use crate::measure::timeline::TimelineTally;

/// One request from its intended send to its end, on the monotonic clock in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// When it was due: in a closed loop, when its connection became free.
    pub intended_ns: u64,
    /// When it could have been sent: when it was due and a connection was free for it.
    pub possible_ns: u64,
    /// When its bytes were handed to the kernel; `None` if they were not.
    pub sent_ns: Option<u64>,
    /// When its last byte was received, or when it failed.
    pub done_ns: u64,
    pub outcome: Outcome,
}

/// Declares a tally: the numbers that are summed, and the rest.
macro_rules! tally {
    (
        $(#[$about:meta])*
        counts: { $($(#[$count_key:meta])* $count:ident,)+ }
        rest: { $($(#[$key:meta])* $field:ident: $kind:ty,)+ }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        pub struct Tally {
            $($(#[$count_key])* #[serde(default)] pub $count: u64,)+
            $($(#[$key])* pub $field: $kind,)+
        }

        impl Tally {
            fn add_counts(&mut self, other: &Tally) {
                $(self.$count += other.$count;)+
            }
        }
    };
}

tally! {
    /// The results of an interval of load. `merge` is associative and commutative, so workers and
    /// slices can be added in any order.
    counts: {
        /// Bytes received, heads and framing included.
        bytes,
        /// Bytes received that belong to bodies.
        body_bytes,
        /// Connections opened during the interval.
        connects,
        /// Responses after which the server closed a connection that was to be kept, including the
        /// discarded part.
        closing,
        /// Bodies that were hashed and compared, including the discarded part.
        hashed,
        /// Verified responses within `connection_ns`, which throughput counts. They may differ
        /// from those in `outcomes`, which are of the requests sent in the counted part.
        clocked,
        /// Connection time, summed: each connection from its first completion after the
        /// discarded part to its first one after the end. For loads that change over time or
        /// follow a schedule, the counted part per connection; for slices that end by a number of
        /// requests, from the first counted send to the last outcome.
        connection_ns,
        /// Connections that contribute to `connection_ns`.
        clocks,
        /// Connections on which no request ended in the counted part.
        silent,
        /// The sum of the response times of completed requests.
        response_ns_sum,
        /// Requests that were due and never sent, because no connection was free until the end.
        /// They have no outcome.
        unsent,
        /// Requests that were sent after waiting for a connection, because every connection was in
        /// use when they were due.
        queued,
        /// Handshakes that resumed an earlier session.
        resumed,
        /// Listeners that never received a broadcast, summed over broadcasts.
        lost,
        /// Broadcasts that a listener received after a later one, twice, or from outside the load,
        /// summed over listeners.
        out_of_order,
    }
    rest: {
        /// Outcomes of all attempts; their sum is the number of requests sent.
        outcomes: Outcomes,
        /// Outcomes of attempts that began before or after the counted part. They have no response
        /// times, but their failures count.
        discarded: Outcomes,
        /// Times of completed requests. Requests without a response (timeout, unfinished, unsent)
        /// count with the time for which they had waited when they were given up.
        times: Histograms,
        /// For how long the generator's thread stood still without waiting for a CPU, as when abx
        /// or its machine is paused: the longest time of all threads.
        #[serde(default)]
        paused_ns: u64,
        /// The requests that ended in each interval of the slice, if requested.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        course: Option<Box<CourseTally>>,
        /// The requests by when they were due, if requested.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeline: Option<Box<TimelineTally>>,
        /// The single requests, if requested. They stay on their machine.
        #[serde(skip)]
        log: Option<Box<RequestLog>>,
    }
}

impl Tally {
    /// Counts one attempt.
    #[inline]
    pub fn record(&mut self, sample: &Sample) {
        self.outcomes.add(sample.outcome);
        // One branch for both, because most loads have neither.
        if self.timeline.is_some() | self.log.is_some() {
            self.record_moment(sample);
        }
        let is_completed = sample.outcome.is_completed();
        if !(is_completed || sample.outcome.is_without_response()) {
            return;
        }
        let response_ns = sample.done_ns.saturating_sub(sample.intended_ns);
        self.times.response.record_ns(response_ns);
        if is_completed {
            self.response_ns_sum += response_ns;
        } else {
            self.times.response_at_least.record_ns(response_ns);
        }
        let Some(sent_ns) = sample.sent_ns else {
            return;
        };
        let service_ns = sample.done_ns.saturating_sub(sent_ns);
        self.times.service.record_ns(service_ns);
        if !is_completed {
            self.times.service_at_least.record_ns(service_ns);
        }
        self.times
            .lateness
            .record_ns(sent_ns.saturating_sub(sample.possible_ns));
    }

    /// Records one request in the timeline and in the log.
    #[cold]
    fn record_moment(&mut self, sample: &Sample) {
        if let Some(timeline) = &mut self.timeline {
            timeline.record(sample.intended_ns, sample.done_ns, sample.outcome);
        }
        if let Some(log) = &mut self.log {
            log.ends(sample.intended_ns, sample.done_ns, sample.outcome);
        }
    }

    /// Counts one request that was due at `intended_ns` and had not been sent when sending ended
    /// at `end_ns`. Its response time is at least the time between the two.
    pub fn record_unsent(&mut self, intended_ns: u64, end_ns: u64) {
        self.unsent += 1;
        if let Some(timeline) = &mut self.timeline {
            timeline.record_unsent(intended_ns);
        }
        let age_ns = end_ns.saturating_sub(intended_ns);
        self.times.response.record_ns(age_ns);
        self.times.response_at_least.record_ns(age_ns);
    }

    /// Adds the counts and times of `other`.
    pub fn merge(&mut self, other: &Tally) {
        self.add_counts(other);
        self.outcomes.merge(&other.outcomes);
        self.discarded.merge(&other.discarded);
        self.times.merge(&other.times);
        self.paused_ns = self.paused_ns.max(other.paused_ns);
        merge_optional(&mut self.course, &other.course, CourseTally::merge);
        merge_optional(&mut self.timeline, &other.timeline, TimelineTally::merge);
        merge_optional(&mut self.log, &other.log, RequestLog::merge);
    }

    /// Forgets everything and keeps the memory.
    pub fn clear(&mut self) {
        let mut times = std::mem::take(&mut self.times);
        times.clear();
        *self = Tally {
            times,
            ..Tally::default()
        };
    }
}

/// Adds the part of a tally that only some tallies have.
fn merge_optional<T: Clone>(
    sum: &mut Option<Box<T>>,
    other: &Option<Box<T>>,
    merge: impl FnOnce(&mut T, &T),
) {
    match (sum, other) {
        (Some(sum), Some(other)) => merge(sum, other),
        (sum @ None, other) => sum.clone_from(other),
        (Some(_), None) => {}
    }
}

/// The results of one slice, over all worker threads.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SliceTally {
    /// The counts, without the discarded first part.
    pub tally: Tally,
    /// Wall time from the slice's start to its last outcome, including parts that are not counted.
    pub wall_ns: u64,
    /// Wall time of the counted part: from the end of the discarded part to the slice's end, or to
    /// the last outcome if the slice ends by a number of requests.
    pub measured_ns: u64,
    /// CPU time of the generator's worker threads over `wall_ns`, without waiting awake.
    pub generator_cpu_ns: u64,
    /// CPU time in which they waited awake for responses.
    pub waiting_awake_ns: u64,
    /// Time for which the worker threads were ready to run but another thread had the CPU; `None`
    /// if the kernel does not report it.
    pub generator_wait_ns: Option<u64>,
    /// CPU time of the busiest worker over `wall_ns`, without waiting awake.
    pub busiest_worker_ns: u64,
    /// Whether the slice ended early because no connection got a response any more.
    #[serde(rename = "stopped_answering")]
    pub stopped_responding: bool,
    /// The connections themselves; `None` if they carried HTTP requests.
    pub connections: Option<Connections>,
}

impl Offered {
    /// The requests of an open loop, from its tally; `None` in a closed loop, where each request
    /// is due when it is sent.
    #[must_use]
    pub fn of(arrivals: &ArrivalSettings, tally: &Tally) -> Option<Offered> {
        let late = Late {
            unsent: tally.unsent,
            queued: tally.queued,
        };
        Offered::counted(arrivals, &tally.outcomes, late)
    }
}

/// The state of connections that are held.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connections {
    /// How many are open at the end of the slice.
    pub standing: u64,
    /// How many were open at its start and are not at its end.
    pub lost: u64,
}

impl SliceTally {
    /// Adds the results of another worker or machine in the same slice, as if there had been one
    /// generator. The order of merging does not matter.
    ///
    /// Counts and CPU times are summed. Wall times and the busiest worker are the longest. A value
    /// that one of them could not measure is unknown for all.
    pub fn merge(&mut self, other: &SliceTally) {
        self.tally.merge(&other.tally);
        self.wall_ns = self.wall_ns.max(other.wall_ns);
        self.measured_ns = self.measured_ns.max(other.measured_ns);
        self.generator_cpu_ns += other.generator_cpu_ns;
        self.waiting_awake_ns += other.waiting_awake_ns;
        let waits = self.generator_wait_ns.zip(other.generator_wait_ns);
        self.generator_wait_ns = waits.map(|(wait, other)| wait + other);
        self.busiest_worker_ns = self.busiest_worker_ns.max(other.busiest_worker_ns);
        self.stopped_responding |= other.stopped_responding;
        // Workers without a connection have none to report.
        if let Some(other) = other.connections {
            let sum = self.connections.get_or_insert_default();
            sum.standing += other.standing;
            sum.lost += other.lost;
        }
    }

    /// Verified responses per second. In a closed loop: connections times the responses of their
    /// clocks, over their time. In an open loop: the responses over the measured time. `None`
    /// without any time.
    #[must_use]
    pub fn throughput_per_s(&self, arrivals: &ArrivalSettings) -> Option<f64> {
        let spans = Spans {
            connection_ns: self.tally.connection_ns,
            measured_ns: self.measured_ns,
        };
        let clocked = Clocked {
            connections: self.tally.clocks,
            ok: self.tally.clocked,
        };
        let offered = Offered::of(arrivals, &self.tally);
        let served = offered.and_then(|offered| offered.served(&self.tally.outcomes));
        throughput_per_s(arrivals, clocked, spans, served)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::measure::arrivals::ArrivalKind;
    use crate::measure::distribution::phases::{PhaseSplit, Timestamps};

    fn tally(samples: &[(u64, u64, u8)]) -> Tally {
        let mut tally = Tally::default();
        for (intended, span, kind) in samples {
            tally.record(&Sample {
                intended_ns: *intended,
                possible_ns: *intended,
                sent_ns: (kind % 2 == 0).then_some(intended + span / 2),
                done_ns: intended + span,
                outcome: Outcome::ALL[usize::from(*kind) % Outcome::ALL.len()],
            });
            tally.connection_ns += span;
            tally.bytes += 1;
            tally.clocked += u64::from(*kind % 2);
            tally.clocks += 1;
            tally.queued += u64::from(*kind > 200);
            tally.closing += u64::from(*kind % 6);
            tally.times.loop_lag.record_ns(span / 7);
            tally.paused_ns = tally.paused_ns.max(span / 9);
            tally.times.handshake.record_ns(span / 4);
            tally.resumed += u64::from(*kind % 2);
            tally.times.first_listener.record_ns(span / 3);
            tally.times.median_listener.record_ns(span / 2);
            tally.lost += u64::from(*kind % 3);
            tally.out_of_order += u64::from(*kind % 4);
            tally.times.wrong_statuses.add(400 + u16::from(*kind % 4));
            tally.times.phases.record(&PhaseSplit::of(&Timestamps {
                intended_ns: *intended,
                connect_ns: None,
                turn_ns: *intended,
                first_byte_ns: intended + span / 2,
                done_ns: intended + span,
            }));
            if kind % 5 == 0 {
                tally.record_unsent(*intended, intended + span / 3);
            }
        }
        tally
    }

    fn slice(
        samples: &[(u64, u64, u8)],
        (wall_ns, wait_ns, standing): (u64, Option<u64>, Option<u64>),
    ) -> SliceTally {
        SliceTally {
            tally: tally(samples),
            wall_ns,
            measured_ns: wall_ns / 2,
            generator_cpu_ns: wall_ns / 3,
            waiting_awake_ns: wall_ns / 7,
            generator_wait_ns: wait_ns,
            busiest_worker_ns: wall_ns / 5,
            stopped_responding: wall_ns % 2 == 0,
            connections: standing.map(|standing| Connections {
                standing,
                lost: standing / 2,
            }),
        }
    }

    type Edges = (u64, Option<u64>, Option<u64>);

    fn edges() -> impl Strategy<Value = Edges> {
        let some = || prop::option::of(0_u64..1 << 40);
        (0_u64..1 << 40, some(), some())
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

        #[test]
        fn slices_merge_in_any_order_and_grouping(
            a in (samples(), edges()), b in (samples(), edges()), c in (samples(), edges()),
        ) {
            // Method: (a+b)+c against a+(c+b), with and without unknown values.
            let [a, b, c] = [a, b, c].map(|(samples, edges)| slice(&samples, edges));
            let merged = |left: &SliceTally, right: &SliceTally| {
                let mut sum = left.clone();
                sum.merge(right);
                sum
            };
            let left = merged(&merged(&a, &b), &c);
            prop_assert_eq!(&left, &merged(&a, &merged(&c, &b)));
            prop_assert_eq!(left.wall_ns, a.wall_ns.max(b.wall_ns).max(c.wall_ns));
            let all_known = [&a, &b, &c].iter().all(|tally| tally.generator_wait_ns.is_some());
            prop_assert_eq!(left.generator_wait_ns.is_some(), all_known);
        }
    }

    #[test]
    fn a_cleared_tally_is_a_new_one() {
        // Method: fill, clear, compare.
        let mut used = tally(&[(1, 5_000, 0), (2, 9_000, 8), (3, 8_000, 205)]);
        assert_ne!(used, Tally::default());
        used.clear();
        assert_eq!(used, Tally::default());
    }

    #[test]
    fn response_time_runs_from_the_intended_send() {
        // Method: due at 100 µs, sent at 300 µs, done at 700 µs.
        let mut tally = Tally::default();
        tally.record(&Sample {
            intended_ns: 100_000,
            possible_ns: 100_000,
            sent_ns: Some(300_000),
            done_ns: 700_000,
            outcome: Outcome::Ok,
        });
        assert_eq!(tally.times.response.max_us(), Some(600));
        assert_eq!(tally.times.service.max_us(), Some(400));
        assert_eq!(tally.times.lateness.max_us(), Some(200));
    }

    #[test]
    fn a_request_without_a_response_counts_with_the_time_it_waited() {
        // Method: due at 100 µs and given up at 900 µs, in each way; if it was sent at 300 µs, its
        // service time is bounded too.
        let give_up = |sent_ns, outcome| {
            let mut tally = Tally::default();
            tally.record(&Sample {
                intended_ns: 100_000,
                possible_ns: 100_000,
                sent_ns,
                done_ns: 900_000,
                outcome,
            });
            tally
        };
        for outcome in [Outcome::Timeout, Outcome::Unfinished] {
            let sent = give_up(Some(300_000), outcome);
            for (times, expected) in [
                (&sent.times.response, 800),
                (&sent.times.response_at_least, 800),
                (&sent.times.service, 600),
                (&sent.times.service_at_least, 600),
            ] {
                assert_eq!((times.count(), times.max_us()), (1, Some(expected)));
            }
            let never_sent = give_up(None, outcome);
            assert_eq!(never_sent.times.response_at_least.max_us(), Some(800));
            assert_eq!(never_sent.times.service.count(), 0);
            assert_eq!(never_sent.times.lateness.count(), 0);
        }
        let mut unsent = Tally::default();
        unsent.record_unsent(100_000, 900_000);
        assert_eq!((unsent.unsent, unsent.outcomes.sent()), (1, 0));
        assert_eq!(unsent.times.response_at_least.max_us(), Some(800));
        assert_eq!(
            (unsent.times.response.count(), unsent.times.service.count()),
            (1, 0)
        );
    }

    #[test]
    fn a_failure_has_no_time_and_a_response_no_bound() {
        // Method: a reset is in no histogram; a response is in those of known times only.
        let sample = |outcome| Sample {
            intended_ns: 0,
            possible_ns: 0,
            sent_ns: Some(1_000),
            done_ns: 9_000,
            outcome,
        };
        let mut tally = Tally::default();
        tally.record(&sample(Outcome::Reset));
        assert_eq!(
            (tally.times.response.count(), tally.times.service.count()),
            (0, 0)
        );
        tally.record(&sample(Outcome::Ok));
        assert_eq!(
            (tally.times.response.count(), tally.times.service.count()),
            (1, 1)
        );
        assert_eq!(tally.times.response_at_least.count(), 0);
        assert_eq!(tally.times.service_at_least.count(), 0);
    }

    #[test]
    fn an_open_loop_s_throughput_is_over_the_measured_time() {
        // Method: 300 responses in 3 s, on 10 connections that were in use for
        // 6 s together; one more connection was never used.
        let mut slice = SliceTally {
            measured_ns: 3_000_000_000,
            ..SliceTally::default()
        };
        slice.tally.clocked = 300;
        slice.tally.connection_ns = 6_000_000_000;
        slice.tally.clocks = 10;
        let closed = ArrivalSettings::default();
        let open = ArrivalSettings {
            kind: ArrivalKind::Constant,
            ..ArrivalSettings::default()
        };
        assert_eq!(slice.throughput_per_s(&open), Some(100.0));
        assert_eq!(slice.throughput_per_s(&closed), Some(500.0));
        slice.measured_ns = 0;
        assert_eq!(slice.throughput_per_s(&open), None);
    }
}
