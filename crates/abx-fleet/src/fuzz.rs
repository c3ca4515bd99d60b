//! Properties of any bytes from the bus, checked by the fuzz target and by property tests.

use std::fmt::Debug;

use abx_evidence::{CoursePlan, CourseTally, Interval, SliceTally};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::agent::limits::AgentLimits;
use crate::clock::{ClockOffset, ClockReading};
use crate::message::{
    AgentCommand, AgentQuery, AgentResponse, AgentTask, Beat, Control, Introduction, JoinResponse,
    TaskResult, bytes, read, sha256_of,
};

/// Reads bytes as each kind of message. A message that was read is equal after writing and reading
/// it again, an agent accepts or refuses every load, and a controller can use every response.
///
/// # Panics
/// If a property does not hold.
pub fn any_message(payload: &[u8]) {
    again::<Introduction>(payload);
    again::<JoinResponse>(payload);
    again::<Control>(payload);
    again::<Beat>(payload);
    if let Some(AgentCommand {
        what: AgentQuery::Task { task, .. },
        ..
    }) = again(payload)
    {
        is_judged(&task);
    }
    if let Some(AgentResponse::Clock { now_ns }) = again(payload) {
        let reading = ClockReading {
            requested_ns: 1_000,
            agent_ns: now_ns,
            came_ns: 3_000,
        };
        let offset = ClockOffset::of([reading]).expect("there is a reading");
        assert_eq!(offset.bound_ns, 1_000);
        offset.theirs(i64::MAX);
    }
    if let Some(TaskResult::Tally { tally, .. }) = again(payload) {
        is_added(&tally);
    }
}

/// The message, if it is of this kind.
fn again<T: DeserializeOwned + Serialize + PartialEq + Debug>(payload: &[u8]) -> Option<T> {
    let item: T = read(payload)?;
    let again: Option<T> = read(&bytes(&item));
    assert_eq!(again.as_ref(), Some(&item), "it differs after writing");
    Some(item)
}

/// A message cannot exceed the limits of an agent.
fn is_judged(task: &AgentTask) {
    let AgentTask::Open { plan, part, .. } = task else {
        return;
    };
    let limits = AgentLimits {
        targets: vec!["10.0.0.0/8".parse().expect("it is a network")],
        rate_max: Some("100".parse().expect("it is a rate")),
        descriptors: 1_000,
    };
    assert_eq!(sha256_of(plan).len(), 64);
    if limits.refusal(plan, *part, 2).is_some() {
        return;
    }
    let target = plan.address.tcp().expect("Unix sockets are refused").ip();
    assert!(limits.targets[0].contains(target), "{target}");
    assert!(part.number < part.of, "{part:?}");
    let (first, next) = part.connections(plan.connections.into());
    assert!(next - first < 2 * limits.descriptors);
}

/// Any tally can be merged into a tally with a course.
fn is_added(tally: &SliceTally) {
    let mut sum = SliceTally::default();
    let mut course = CourseTally::new(CoursePlan {
        interval_ns: 1_000_000_000,
        is_told: false,
    });
    course.add(0, 1, &Interval::default());
    sum.tally.course = Some(Box::new(course));
    sum.merge(tally);
    assert_eq!(sum.tally.outcomes, tally.tally.outcomes);
    if let Some(course) = &sum.tally.course {
        assert!(course.finish().interval_ns > 0);
    }
    let mut alone = SliceTally::default();
    alone.merge(tally);
    assert_eq!(alone.tally.timeline, tally.tally.timeline);
}

#[cfg(test)]
mod tests {
    use abx_engine::schedule::Arrivals;
    use abx_engine::{LoadPart, LoadPlan, SliceEnd, SlicePlan};
    use abx_evidence::{Outcome, Sample, TimelinePlan, TimelineTally};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    /// One message of each kind that contains structured data.
    fn messages() -> Vec<Vec<u8>> {
        let plan = json!({
            "address": "10.0.0.1:80", "sources": [], "connections": 7, "keep_alive": true,
            "requests": [{
                "request": {"version": "http/1.1", "method": "GET", "path": "/", "host": "a",
                            "headers": [["A", "b"]], "body": [1, 2]},
                "expect": {"status": 200, "body": null}, "weight": 1,
            }],
            "verify_every": 1, "timeout_s": 1.0, "seed": 1,
        });
        let mut plan: LoadPlan = serde_json::from_value(plan).unwrap();
        plan.pacing.arrivals = Arrivals::Constant {
            per_s: "50".parse().unwrap(),
        };
        plan.pacing.session_calls = Some(2);
        let order = |task: AgentTask| AgentCommand {
            run: "r".to_owned(),
            what: AgentQuery::Task {
                number: 1,
                task: Box::new(task),
            },
        };
        let open = order(AgentTask::Open {
            pool: 1,
            sha256: sha256_of(&plan),
            plan: Box::new(plan),
            part: LoadPart { number: 0, of: 2 },
        });
        let slice = order(AgentTask::Slice {
            pool: 1,
            plan: SlicePlan {
                end: SliceEnd::AfterNs(5),
                discard_ns: 0,
                course: None,
            },
            starts_ns: 3,
        });
        let result = TaskResult::Tally {
            tally: Box::new(tally()),
            late_ns: 1,
        };
        let clock = AgentResponse::Clock { now_ns: 17 };
        vec![bytes(&open), bytes(&slice), bytes(&clock), bytes(&result)]
    }

    fn tally() -> SliceTally {
        let mut tally = SliceTally::default();
        let timeline = TimelinePlan {
            bucket_ns: 100,
            delayed_after_ns: Some(5),
        };
        tally.tally.timeline = Some(Box::new(TimelineTally::new(timeline, 0, 500)));
        tally.tally.record(&Sample {
            intended_ns: 10,
            possible_ns: 10,
            sent_ns: Some(20),
            done_ns: 5_000,
            outcome: Outcome::Ok,
        });
        let mut course = CourseTally::new(CoursePlan {
            interval_ns: 1_000,
            is_told: false,
        });
        let mut interval = Interval::default();
        interval.response.record_us(5, 1);
        course.add(3, 4_000, &interval);
        tally.tally.course = Some(Box::new(course));
        tally
    }

    /// The paths of all values of a message.
    fn places(value: &Value, path: &str, texts: &mut Vec<String>) {
        texts.push(path.to_owned());
        match value {
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    places(item, &format!("{path}/{index}"), texts);
                }
            }
            Value::Object(items) => {
                for (key, item) in items {
                    places(item, &format!("{path}/{key}"), texts);
                }
            }
            _ => {}
        }
    }

    fn odd_value() -> impl Strategy<Value = Value> {
        prop::sample::select(vec![
            json!(0),
            json!(1),
            json!(-1),
            json!(3),
            json!(u64::MAX),
            json!(i64::MAX),
            json!(i64::MIN),
            json!(u32::MAX),
            json!(1_u64 << 63),
            json!(0.5),
            json!(null),
            json!(true),
            json!(""),
            json!("1"),
            json!([]),
            json!({}),
            json!([1, 2]),
            json!([-20_000, 1]),
            json!([u64::MAX, u64::MAX]),
        ])
    }

    #[test]
    fn the_messages_of_these_tests_are_valid() {
        // Method: each message that the tests below change is of exactly one kind.
        let read = messages().into_iter().map(|message| {
            let order = read::<AgentCommand>(&message).is_some();
            let response = read::<AgentResponse>(&message).is_some();
            let result = read::<TaskResult>(&message).is_some();
            ["order", "answer", "result"]
                .into_iter()
                .zip([order, response, result])
                .filter_map(|(kind, is_read)| is_read.then_some(kind))
                .collect::<String>()
        });
        let read: Vec<String> = read.collect();
        assert_eq!(read, ["order", "order", "answer", "result"]);
    }

    #[test]
    fn the_fuzzing_corpus_is_used_or_refused() {
        // Method: the body of the fuzz target, on the corpus and mutations of it.
        abx_corpus::replay("bus_message", 2_000, any_message);
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: ProptestConfig::default().cases.max(2_000),
            ..ProptestConfig::default()
        })]

        #[test]
        fn a_message_with_an_odd_value_is_used_or_refused(
            which in 0_usize..4,
            changes in prop::collection::vec((any::<prop::sample::Index>(), odd_value()), 1..4),
        ) {
            // Method: the body of the fuzz target, on messages with replaced values.
            let mut message: Value = serde_json::from_slice(&messages()[which]).unwrap();
            for (at, value) in changes {
                let mut texts = Vec::new();
                places(&message, "", &mut texts);
                *message.pointer_mut(at.get::<String>(&texts)).unwrap() = value;
            }
            any_message(message.to_string().as_bytes());
        }

        #[test]
        fn any_bytes_are_used_or_refused(
            which in 0_usize..4, at in any::<prop::sample::Index>(), odd in any::<Vec<u8>>(),
        ) {
            // Method: the body of the fuzz target, on any bytes, alone and within a message.
            any_message(&odd);
            let message = &messages()[which];
            let (before, after) = message.split_at(at.index(message.len()));
            let rest = &after[odd.len().min(after.len())..];
            any_message(&[before, &odd, rest].concat());
        }
    }
}
