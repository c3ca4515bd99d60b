//! Records of earlier forms. All keys that came later are optional, but for
//! those of the first form, in which a load was one request: start at
//! [`StudyRecord::read`].

use serde_json::{Map, Value, json};

use crate::record::StudyRecord;

impl StudyRecord {
    /// Reads a record of any form that `abx.study/1` has had. It is not judged.
    ///
    /// # Errors
    /// When the text is no such record; the error names line and column.
    pub fn read(json: &str) -> serde_json::Result<StudyRecord> {
        match serde_json::from_str(json) {
            Ok(record) => Ok(record),
            Err(error) => match from_first_form(json) {
                Some(value) => serde_json::from_value(value),
                None => Err(error),
            },
        }
    }
}

/// A record of the first form with the keys of today; `None` for any other.
fn from_first_form(json: &str) -> Option<Value> {
    let mut record: Value = serde_json::from_str(json).ok()?;
    let answers = answers(record.get("subjects")?)?;
    for load in record.get_mut("loads")?.as_array_mut()? {
        let load = load.as_object_mut()?;
        load.insert("answers".to_owned(), answers.clone());
        ask_once(load.get_mut("settings")?.as_object_mut()?)?;
    }
    Some(record)
}

/// What each subject answered, which stood in the subjects.
fn answers(subjects: &Value) -> Option<Value> {
    let answer = |subject: &Value| {
        let name = subject.get("name")?.as_str()?.to_owned();
        let answer = subject.get("answer")?;
        let known = if answer.is_null() {
            vec![]
        } else {
            vec![answer.clone()]
        };
        Some((name, Value::from(known)))
    };
    let all: Option<Map<String, Value>> = subjects.as_array()?.iter().map(answer).collect();
    all.map(Value::from)
}

/// The one request of a load, which stood in its settings.
fn ask_once(settings: &mut Map<String, Value>) -> Option<()> {
    let [method, path] = ["method", "path"].map(|key| settings.remove(key));
    let request = json!({ "method": method?, "path": path?, "weight": 1 });
    settings.insert("requests".to_owned(), json!([request]));
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_first_form_asked_and_got_stands_where_it_stands_today() {
        // Method: the keys that moved, of a subject that answered and of one that
        // did not come so far.
        let first = json!({
            "subjects": [
                { "name": "old", "answer": { "status": 200 } },
                { "name": "new", "answer": null },
            ],
            "loads": [{ "name": "c2", "settings": { "method": "GET", "path": "/x" } }],
        });
        let found = from_first_form(&first.to_string()).unwrap();
        let load = &found["loads"][0];
        let answers = json!({ "old": [{ "status": 200 }], "new": [] });
        assert_eq!(load["answers"], answers);
        let requests = json!([{ "method": "GET", "path": "/x", "weight": 1 }]);
        assert_eq!(load["settings"], json!({ "requests": requests }));
    }

    #[test]
    fn an_error_is_that_of_the_form_of_today() {
        // Method: a record that lacks everything, and text that is no JSON.
        for (text, said) in [("{}", "missing field `schema`"), ("{", "line 1")] {
            let error = StudyRecord::read(text).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
