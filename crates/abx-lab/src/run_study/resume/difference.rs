//! The difference between the study that a user requests and that of a record.

use std::fmt;

use abx_evidence::Measured;
use serde_json::{Value, json};

/// Longer values are cut to so many characters.
const SHOWN: usize = 200;
/// By so large a part the memory of one machine may differ from boot to boot.
const MEMORY_PART: f64 = 0.02;

/// The first thing that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Its key in records.
    key: String,
    then: Value,
    now: Value,
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { key, then, now } = self;
        write!(
            formatter,
            "`{key}` was {}, and is now {}",
            shown(then),
            shown(now)
        )
    }
}

/// A value as people read it.
fn shown(value: &Value) -> String {
    let text = match value {
        Value::Null => return "absent".to_owned(),
        value => value.to_string(),
    };
    match text.char_indices().nth(SHOWN) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text,
    }
}

/// The first difference between the study of a record and the same study before its first block;
/// `None` if one can continue as the other. Both have the loads that are offered.
pub fn difference(saved: &Measured, fresh: &Measured) -> Option<Difference> {
    let mut parts = Vec::new();
    let mut part = |key: &str, saved: Value, fresh: Value| {
        parts.push((key.to_owned(), saved, fresh));
    };
    part(
        "abx_version",
        json!(saved.abx_version),
        json!(fresh.abx_version),
    );
    let [then, now] = [saved, fresh].map(|record| {
        let mut identity = record.identity.clone().unwrap_or_default();
        // A study may continue after the machine was started again.
        identity.boot = None;
        json!(identity)
    });
    part("study", json!(saved.study), json!(fresh.study));
    part("seed", json!(saved.seed), json!(fresh.seed));
    let [then_subjects, now_subjects] = subjects(saved, fresh);
    part("subjects", then_subjects, now_subjects);
    part("services", json!(saved.services), json!(fresh.services));
    part("skipped", json!(saved.skipped), json!(fresh.skipped));
    part("loads", loads(saved), loads(fresh));
    part("faults", json!(saved.faults), json!(fresh.faults));
    let agents = |record: &Measured| json!(record.fleet.is_some());
    part("fleet", agents(saved), agents(fresh));
    part("settings", settings(saved), settings(fresh));
    part("identity", then, now);
    let [then, now] = machines(saved, fresh);
    part("machine", then, now);
    parts
        .into_iter()
        .find_map(|(key, then, now)| first(key, then, now))
}

/// Subjects without the version that a server reports, which is known only after its start.
fn subjects(saved: &Measured, fresh: &Measured) -> [Value; 2] {
    let is_known = |name: &str| {
        let subject = fresh.subject(name);
        subject.is_some_and(|subject| subject.version.is_some())
    };
    [saved, fresh].map(|record| {
        let mut subjects = record.subjects.clone();
        for subject in &mut subjects {
            if !is_known(&subject.name) {
                subject.version = None;
            }
        }
        json!(subjects)
    })
}

/// Loads as they are offered, without the results about them.
fn loads(record: &Measured) -> Value {
    let each = record.loads.iter().map(|load| {
        let mut settings = load.settings.clone();
        settings.bodies_compared = false;
        json!({ "name": load.name, "settings": settings })
    });
    each.collect()
}

/// Settings without the time, which is given again.
fn settings(record: &Measured) -> Value {
    let mut settings = record.settings.clone();
    settings.budget_s = 0.0;
    json!(settings)
}

fn machines(saved: &Measured, fresh: &Measured) -> [Value; 2] {
    let bytes = |record: &Measured| record.machine.memory_bytes.unwrap_or_default() as f64;
    let is_near = (bytes(saved) - bytes(fresh)).abs() <= MEMORY_PART * bytes(saved);
    [saved, fresh].map(|record| {
        let mut machine = record.machine.clone();
        machine.memory_bytes = machine.memory_bytes.filter(|_| !is_near);
        json!(machine)
    })
}

/// The first difference of two values, at the deepest key that has it.
fn first(key: String, then: Value, now: Value) -> Option<Difference> {
    if then == now {
        return None;
    }
    match (&then, &now) {
        (Value::Object(before), Value::Object(after)) => {
            let keys = before.keys().chain(after.keys());
            let part = |part: &String| {
                let at = |object: &serde_json::Map<String, Value>| {
                    object.get(part).cloned().unwrap_or_default()
                };
                first(format!("{key}.{part}"), at(before), at(after))
            };
            keys.map(part).find_map(|difference| difference)
        }
        (Value::Array(before), Value::Array(after)) if is_by_name(before, after) => {
            let pairs = before.iter().zip(after);
            pairs
                .map(|(before, after)| {
                    let name = before["name"].as_str().unwrap_or_default();
                    first(format!("{key}.{name}"), before.clone(), after.clone())
                })
                .find_map(|difference| difference)
        }
        (Value::Array(before), Value::Array(after)) if has_names(before) || has_names(after) => {
            let names = |list: &[Value]| list.iter().map(|value| value["name"].clone()).collect();
            let (then, now) = (names(before), names(after));
            Some(Difference { key, then, now })
        }
        _ => Some(Difference { key, then, now }),
    }
}

/// Whether two lists are of things of the same names in the same order.
fn is_by_name(before: &[Value], after: &[Value]) -> bool {
    let names =
        |list: &[Value]| -> Vec<Value> { list.iter().map(|value| value["name"].clone()).collect() };
    has_names(before) && names(before) == names(after)
}

fn has_names(list: &[Value]) -> bool {
    !list.is_empty() && list.iter().all(|value| value["name"].is_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::simulation::scripted::nothing_measured;
    use abx_evidence::record::StudyIdentity;
    use abx_model::LoadOptions;
    use abx_study::Load;

    fn study() -> Measured {
        let load = Load {
            name: "one".to_owned(),
            ..Load::default()
        };
        Measured {
            identity: Some(StudyIdentity::default()),
            ..nothing_measured(&[load])
        }
    }

    #[test]
    fn the_first_difference_is_named_by_its_key() {
        // Method: each thing that must stay the same, changed alone.
        let saved = study();
        let changed = |change: &dyn Fn(&mut Measured)| {
            let mut fresh = saved.clone();
            change(&mut fresh);
            difference(&saved, &fresh).map(|difference| difference.to_string())
        };
        let key = |change: &dyn Fn(&mut Measured)| {
            let text = changed(change).expect("it differs");
            text.split('`').nth(1).unwrap_or_default().to_owned()
        };
        assert_eq!(
            key(&|fresh| fresh.abx_version = "9".to_owned()),
            "abx_version"
        );
        assert_eq!(key(&|fresh| fresh.seed = 9), "seed");
        let command = |fresh: &mut Measured| fresh.subjects[1].command = vec!["x".to_owned()];
        assert_eq!(key(&command), "subjects.b.command");
        let message = "`subjects.b.command` was [], and is now [\"x\"]";
        assert_eq!(changed(&command).as_deref(), Some(message));
        assert_eq!(key(&|fresh| fresh.subjects.truncate(1)), "subjects");
        let connections = |fresh: &mut Measured| {
            fresh.loads[0].settings.options = LoadOptions {
                connections: 77,
                ..LoadOptions::default()
            };
        };
        assert_eq!(key(&connections), "loads.one.settings.connections");
        assert_eq!(key(&|fresh| fresh.settings.margin = 0.5), "settings.margin");
        let kernel = |fresh: &mut Measured| fresh.machine.kernel = Some("1".to_owned());
        assert_eq!(key(&kernel), "machine.kernel");
        let build = |fresh: &mut Measured| {
            fresh.identity.as_mut().unwrap().abx_build = Some("1".to_owned());
        };
        assert_eq!(key(&build), "identity.abx_build");
    }

    #[test]
    fn what_may_differ_is_no_difference() {
        // Method: another budget, boot and version of a server; memory within 2 %, and beyond.
        let mut saved = study();
        saved.machine.memory_bytes = Some(1_000);
        let mut fresh = saved.clone();
        fresh.settings.budget_s = 9.0;
        fresh.identity.as_mut().unwrap().boot = Some("other".to_owned());
        saved.subjects[0].version = Some("nginx/1".to_owned());
        fresh.machine.memory_bytes = Some(990);
        assert_eq!(difference(&saved, &fresh), None);
        fresh.machine.memory_bytes = Some(500);
        let difference = difference(&saved, &fresh).unwrap();
        assert_eq!(difference.key, "machine.memory_bytes");
    }
}
