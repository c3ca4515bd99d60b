//! From a request to a page.

use abx_lab::history::HistoryError;
use abx_report::{
    Listed, NamedRecord, NotShown, RecordPlace, bisect_html, index_html, side_by_side_html,
    study_html,
};

use super::record_index::RecordIndex;
use super::response::{ResponseStatus, ViewResponse};
use crate::commands::history::saved_file;
use crate::commands::saved::{SavedRecord, confirmed, read};

/// How many records one page shows side by side.
const SIDE_MOST: usize = 12;

/// The page for a target, which is path and query as they were sent.
pub fn respond(records: &RecordIndex, target: &str) -> ViewResponse {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let query = pairs(query);
    match path {
        "/" => index(records, &query),
        "/side" => side(records, &query),
        _ => match path.strip_prefix("/record/") {
            Some(id) => record(records, id),
            None => ViewResponse::notice(
                ResponseStatus::NotFound,
                "There is no such page",
                "Pages are `/`, `/record/ID` and `/side?ids=ID,ID`.",
            ),
        },
    }
}

fn index(records: &RecordIndex, query: &[(String, String)]) -> ViewResponse {
    let text = query
        .iter()
        .find(|(key, _)| key == "text")
        .map(|(_, value)| value.trim())
        .filter(|text| !text.is_empty());
    let listed = match records {
        RecordIndex::Folder(_) => Listed::Folder { text },
        RecordIndex::Files(_) => Listed::Named,
    };
    match records.list(text) {
        Ok(history) => ViewResponse::page(index_html(&history, listed)),
        Err(error) => ViewResponse::notice(
            ResponseStatus::Broken,
            "The records cannot be listed",
            &error.to_string(),
        ),
    }
}

fn record(records: &RecordIndex, id: &str) -> ViewResponse {
    let file = records.find(id).ok().map(|path| saved_file(&path));
    let place = RecordPlace {
        name: file.as_ref().map(|file| file.name.as_str()),
        ..RecordPlace::default()
    };
    match open(records, id) {
        Ok(SavedRecord::Study(record)) => ViewResponse::page(study_html(&record, &[], place)),
        Ok(SavedRecord::Bisect(record)) => {
            ViewResponse::page(bisect_html(&record, confirmed(&record).as_ref()))
        }
        Ok(SavedRecord::Machine(_) | SavedRecord::Timer(_)) => ViewResponse::notice(
            ResponseStatus::NotFound,
            "This record has no page",
            WITHOUT_A_PAGE,
        ),
        Err(Unavailable { status, why }) => {
            let title = match status {
                ResponseStatus::NotFound => "There is no such record",
                _ => "This record cannot be read",
            };
            ViewResponse::notice(status, title, &why)
        }
    }
}

fn side(records: &RecordIndex, query: &[(String, String)]) -> ViewResponse {
    let ids = ids(query);
    if ids.len() < 2 || ids.len() > SIDE_MOST {
        let text = format!(
            "{} were named, and 2 to {SIDE_MOST} can be shown side by side: select them in the \
             list of all records, or write `/side?ids=ID,ID`.",
            ids.len()
        );
        return ViewResponse::notice(ResponseStatus::BadRequest, "Name several records", &text);
    }
    let mut opened = Vec::new();
    let mut not_shown = Vec::new();
    for id in ids {
        match open(records, &id) {
            Ok(SavedRecord::Bisect(_)) => not_shown.push(NotShown {
                id,
                why: ALONE.to_owned(),
            }),
            Ok(SavedRecord::Machine(_) | SavedRecord::Timer(_)) => not_shown.push(NotShown {
                id,
                why: WITHOUT_A_PAGE.to_owned(),
            }),
            Ok(SavedRecord::Study(record)) => opened.push((id, record)),
            Err(Unavailable { why, .. }) => not_shown.push(NotShown { id, why }),
        }
    }
    let records: Vec<NamedRecord> = opened
        .iter()
        .map(|(id, record)| NamedRecord { id, record })
        .collect();
    let html = side_by_side_html(&records, &not_shown);
    let status = if records.is_empty() {
        ResponseStatus::NotFound
    } else {
        ResponseStatus::Ok
    };
    ViewResponse { status, html }
}

/// Why a record is not shown.
struct Unavailable {
    status: ResponseStatus,
    why: String,
}

/// Finds a record by its id, reads it and judges it, as `abx report` does.
fn open(records: &RecordIndex, id: &str) -> Result<SavedRecord, Unavailable> {
    let path = records.find(id).map_err(|error| Unavailable {
        status: match error {
            HistoryError::NoRecord { .. } | HistoryError::Several { .. } => {
                ResponseStatus::NotFound
            }
            _ => ResponseStatus::Broken,
        },
        why: match error {
            HistoryError::NoRecord { .. } => "No record that is shown here has this id.".to_owned(),
            other => other.to_string(),
        },
    })?;
    read(&path).map_err(|failure| Unavailable {
        status: ResponseStatus::Broken,
        why: failure.message,
    })
}

/// The names and values of a query, as forms send them.
fn pairs(query: &str) -> Vec<(String, String)> {
    form_urlencoded::parse(query.as_bytes())
        .into_owned()
        .collect()
}

/// The ids that a query names, each once, in its order.
fn ids(query: &[(String, String)]) -> Vec<String> {
    let values = query.iter().filter(|(key, _)| key == "ids");
    let words = values.flat_map(|(_, value)| value.split(','));
    let mut ids: Vec<String> = Vec::new();
    for word in words.map(|word| word.trim().to_ascii_lowercase()) {
        if !word.is_empty() && !ids.contains(&word) {
            ids.push(word);
        }
    }
    ids
}

const ALONE: &str = "It is a search for a commit, which has its own page.";
const WITHOUT_A_PAGE: &str =
    "It is a record of `abx doctor` or `abx timer`: `abx report FILE` prints it.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_may_name_ids_in_several_ways() {
        // Method: commas, repeated keys, escapes, an id that is named twice, and an invalid escape.
        let of = |query: &str| ids(&pairs(query));
        assert_eq!(of("ids=a1b2,C3d4"), ["a1b2", "c3d4"]);
        assert_eq!(of("ids=a1b2&ids=c3d4&other=x"), ["a1b2", "c3d4"]);
        assert_eq!(of("ids=a1b2%2Cc3d4,a1b2,"), ["a1b2", "c3d4"]);
        assert_eq!(of("ids=a+b%20%zz"), ["a b %zz"]);
        assert_eq!(of(""), [""; 0]);
    }
}
