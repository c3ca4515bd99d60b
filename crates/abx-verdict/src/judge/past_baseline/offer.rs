//! Whether two studies offered the same.

use serde_json::Value;

use crate::judge::past_baseline::Difference;
use abx_evidence::record::{LoadRecord, LoadSettings};

/// Settings that are no part of what is offered: whether bodies are compared is
/// known only after the first responses.
const NOT_OFFERED: &str = "bodies_compared";

/// The load among `all` that offers what `load` does: one of the same name if
/// it does, else the first that does.
///
/// # Errors
/// The first key that differs from the load of the same name, or from the first.
pub(crate) fn same<'a>(
    load: &LoadRecord,
    loads: &'a [LoadRecord],
) -> Result<&'a LoadRecord, Difference> {
    let namesake = loads
        .iter()
        .find(|load_record| load_record.name == load.name);
    let in_order = namesake.into_iter().chain(loads);
    let mut differing = None;
    for load_record in in_order {
        match difference(&load_record.settings, &load.settings) {
            None => return Ok(load_record),
            Some(difference) => differing = differing.or(Some(difference)),
        }
    }
    Err(differing.unwrap_or_else(|| Difference {
        key: "loads".to_owned(),
        then: "empty".to_owned(),
        now: load.name.clone(),
    }))
}

/// The first key of the settings that differs.
fn difference(then: &LoadSettings, now: &LoadSettings) -> Option<Difference> {
    let keys = |settings: &LoadSettings| {
        let json = serde_json::to_value(settings);
        let Ok(Value::Object(keys)) = json else {
            unreachable!("settings are an object with names for keys");
        };
        keys
    };
    let (then, now) = (keys(then), keys(now));
    // By the record's own keys, so that a new one is never forgotten here.
    let differing = now.iter().find(|(key, value)| {
        *key != NOT_OFFERED && then.get(*key).is_none_or(|then| then != *value)
    });
    let (key, value) = differing?;
    Some(Difference {
        key: key.clone(),
        then: then.get(key).map_or_else(String::new, Value::to_string),
        now: value.to_string(),
    })
}
