//! The outcomes of requests, in words and tables.

use std::collections::BTreeMap;

use abx_evidence::{Outcome, Outcomes, Statuses};
use abx_verdict::{RunView, StudyRecord};

use crate::document::{Document, Table};
use crate::words::load::offered;
use crate::words::units::{count, share};
use crate::words::verdict::{load_text, place};
use crate::words::wrap::clean_name;

/// Each outcome that counts against the server, with its count; empty without any.
pub(crate) fn named_failures(outcomes: &Outcomes) -> String {
    let failures = outcomes.iter().filter(|(outcome, _)| outcome.is_failure());
    let texts = failures
        .map(|(outcome, times)| format!("{} {}", outcome.name().replace('_', " "), count(times)));
    texts.collect::<Vec<_>>().join(", ")
}

pub(crate) fn by_class(classes: BTreeMap<u16, u64>) -> String {
    let texts = classes.into_iter();
    let texts = texts.map(|(class, times)| format!("{class}xx {}", count(times)));
    texts.collect::<Vec<_>>().join(", ")
}

/// Each unexpected status with its count, several of them after their classes; empty without any.
pub(crate) fn wrong_statuses(statuses: &Statuses) -> String {
    let texts = statuses.iter();
    let texts = texts.map(|(status, times)| format!("{status} {}", count(times)));
    let texts: Vec<String> = texts.collect();
    match texts.len() {
        0 | 1 => texts.concat(),
        _ => format!("{} ({})", by_class(statuses.classes()), texts.join(", ")),
    }
}

/// Every attempt of a study, by its outcome.
pub(crate) fn outcomes(record: &StudyRecord) -> Document {
    let mut out = Document::default();
    let summaries = record.conclusions.summaries.iter();
    let measured: Vec<_> = summaries.filter(|summary| summary.sent > 0).collect();
    if measured.is_empty() {
        return out;
    }
    let shown = occurred(measured.iter().map(|summary| &summary.outcomes));
    let mut headers = vec!["load".to_owned(), "subject".to_owned(), "sent".to_owned()];
    headers.extend(shown.iter().map(|outcome| title(*outcome)));
    headers.extend(["failed", "ok of sent"].map(str::to_owned));
    let rows = measured.iter().map(|summary| {
        let mut cells = vec![
            load_text(record, &summary.load),
            clean_name(&summary.subject),
        ];
        cells.push(count(summary.sent));
        let counts = shown.iter().map(|outcome| summary.outcomes.count(*outcome));
        cells.extend(counts.chain([summary.outcomes.failed()]).map(count));
        cells.push(share(summary.ok, summary.sent));
        cells
    });
    let table = Table::new(headers, rows).captioned("Attempts by outcome");
    out.table(
        Some(table.named_by(2)),
        "Each attempt has exactly one outcome; only ok counts as throughput. ✕: counts against \
         the server.",
    );
    for summary in measured {
        let wrong = wrong_statuses(&summary.wrong_statuses);
        if !wrong.is_empty() {
            let (who, place) = (clean_name(&summary.subject), place(record, &summary.load));
            out.note(format!("Wrong status of {who} {place}: {wrong}."));
        }
    }
    out
}

/// Every attempt of a run, by its outcome.
pub(crate) fn run_outcomes(run: &RunView) -> Document {
    let slice = run.slice;
    let row = |name: &str, times: u64| [name.to_owned(), count(times), share(times, slice.sent)];
    // A run without any ok response has a row for ok too.
    let no_ok = (slice.ok == 0).then(|| row("ok", 0));
    let outcomes = slice.outcomes.iter();
    let rows = no_ok
        .into_iter()
        .chain(outcomes.map(|(outcome, times)| row(outcome.name(), times)))
        .chain([row("sent", slice.sent)]);
    let table = Table::new(["outcome", "count", "share"], rows);
    let mut out = Document::from(table.captioned("Attempts by outcome"));
    let responses = match slice.completed {
        1 => "response",
        _ => "responses",
    };
    let bodies = match slice.hashed {
        1 => "1 body was".to_owned(),
        hashed => format!("{} bodies were", count(hashed)),
    };
    let completed = count(slice.completed);
    out.note(format!(
        "Of {completed} complete {responses}, {bodies} verified."
    ));
    let wrong = wrong_statuses(&run.summary.wrong_statuses);
    if !wrong.is_empty() {
        out.note(format!("Wrong status: {wrong}."));
    }
    if let Some(due) = &run.summary.offered {
        out.note(offered(due));
    }
    out
}

/// The outcomes that occurred at least once, and ok.
fn occurred<'a>(outcomes: impl Iterator<Item = &'a Outcomes> + Clone) -> Vec<Outcome> {
    let has_occurred = |outcome: &Outcome| {
        *outcome == Outcome::Ok
            || outcomes
                .clone()
                .any(|outcomes| outcomes.count(*outcome) > 0)
    };
    Outcome::ALL.into_iter().filter(has_occurred).collect()
}

/// An outcome in words, with a sign if it counts against the server.
fn title(outcome: Outcome) -> String {
    let name = outcome.name().replace('_', " ");
    if outcome.is_failure() {
        format!("✕ {name}")
    } else {
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_wrong_statuses_are_counted_by_class_too() {
        // Method: no status, one, and three of two classes.
        let text = |counts: &[(u16, usize)]| {
            let mut statuses = Statuses::default();
            for (status, times) in counts {
                (0..*times).for_each(|_| statuses.add(*status));
            }
            wrong_statuses(&statuses)
        };
        assert_eq!(text(&[]), "");
        assert_eq!(text(&[(404, 1_200)]), "404 1,200");
        assert_eq!(
            text(&[(404, 118), (429, 2), (503, 3)]),
            "4xx 120, 5xx 3 (404 118, 429 2, 503 3)"
        );
    }
}
