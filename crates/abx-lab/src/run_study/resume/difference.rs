//! The difference between a requested study and the study of a record.

use std::fmt;

use abx_evidence::Measured;
use abx_verdict::is_same_memory;
use serde_json::{Value, json};

/// How many characters of a value are shown.
const CHARACTERS_MAX: usize = 200;

/// The first value that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The key in records.
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
            short_text(then),
            short_text(now)
        )
    }
}

fn short_text(value: &Value) -> String {
    let text = match value {
        Value::Null => return "absent".to_owned(),
        value => value.to_string(),
    };
    match text.char_indices().nth(CHARACTERS_MAX) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text,
    }
}

/// The first difference between the record of a study and a new record of it before its first
/// block; `None` if the study can continue. Both have the loads that are offered.
pub fn difference(saved: &Measured, fresh: &Measured) -> Option<Difference> {
    let both = |part: fn(&Measured) -> Value| [part(saved), part(fresh)];
    let parts = [
        ("abx_version", both(|record| json!(record.abx_version))),
        ("study", both(|record| json!(record.study))),
        ("seed", both(|record| json!(record.seed))),
        ("subjects", subjects(saved, fresh)),
        ("services", both(|record| json!(record.services))),
        ("skipped", both(|record| json!(record.skipped))),
        ("loads", both(loads)),
        ("faults", both(|record| json!(record.faults))),
        ("fleet", both(|record| json!(record.fleet.is_some()))),
        ("settings", both(settings)),
        ("identity", both(identity)),
        ("machine", machines(saved, fresh)),
    ];
    parts
        .into_iter()
        .find_map(|(key, [then, now])| first(key.to_owned(), then, now))
}

/// Subjects without versions that only a started server reports.
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

/// Loads as they are offered, without results.
fn loads(record: &Measured) -> Value {
    let loads = record.loads.iter().map(|load| {
        let mut settings = load.settings.clone();
        settings.bodies_compared = false;
        json!({ "name": load.name, "settings": settings })
    });
    loads.collect()
}

/// Settings without the budget, which is for the continuation alone.
fn settings(record: &Measured) -> Value {
    let mut settings = record.settings.clone();
    settings.budget_s = 0.0;
    json!(settings)
}

/// The identity without the boot: a study may continue after a reboot.
fn identity(record: &Measured) -> Value {
    let mut identity = record.identity.clone().unwrap_or_default();
    identity.boot = None;
    json!(identity)
}

/// Machines without the size of their memory, if it is about the same.
fn machines(saved: &Measured, fresh: &Measured) -> [Value; 2] {
    let is_near = is_same_memory(saved.machine.memory_bytes, fresh.machine.memory_bytes);
    [saved, fresh].map(|record| {
        let mut machine = record.machine.clone();
        machine.memory_bytes = machine.memory_bytes.filter(|_| !is_near);
        json!(machine)
    })
}

/// The first difference between two values, at the deepest key that contains it.
fn first(key: String, then: Value, now: Value) -> Option<Difference> {
    if then == now {
        return None;
    }
    match (&then, &now) {
        (Value::Object(before), Value::Object(after)) => {
            let mut keys = before.keys().chain(after.keys());
            keys.find_map(|name| {
                let member = |object: &serde_json::Map<String, Value>| {
                    object.get(name).cloned().unwrap_or_default()
                };
                first(format!("{key}.{name}"), member(before), member(after))
            })
        }
        (Value::Array(before), Value::Array(after)) if have_same_names(before, after) => {
            let mut pairs = before.iter().zip(after);
            pairs.find_map(|(before, after)| {
                let name = before["name"].as_str().unwrap_or_default();
                first(format!("{key}.{name}"), before.clone(), after.clone())
            })
        }
        (Value::Array(before), Value::Array(after)) if has_names(before) || has_names(after) => {
            let (then, now) = (names(before), names(after));
            Some(Difference { key, then, now })
        }
        _ => Some(Difference { key, then, now }),
    }
}

/// Whether the values of two lists have the same names in the same order.
fn have_same_names(before: &[Value], after: &[Value]) -> bool {
    has_names(before) && names(before) == names(after)
}

fn names(list: &[Value]) -> Value {
    list.iter().map(|value| value["name"].clone()).collect()
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
        // Method: each kind of value that must stay the same, changed alone.
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
    fn budgets_boots_versions_of_servers_and_a_little_memory_may_differ() {
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
