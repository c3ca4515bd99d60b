//! How requests failed, in words.

use std::collections::BTreeMap;

use abx_evidence::{Outcome, Outcomes, Statuses};
use abx_verdict::{RunView, StudyRecord};

use crate::document::{Document, Table};
use crate::words::load::offered;
use crate::words::units::{count, share};
use crate::words::verdict::{load_text, place};
use crate::words::wrap::clean_name;

/// Each outcome that counts against the server, with its number; empty if none came.
pub(crate) fn named_failures(outcomes: &Outcomes) -> String {
    let failures = outcomes.iter().filter(|(outcome, _)| outcome.is_failure());
    let each = failures
        .map(|(outcome, times)| format!("{} {}", outcome.name().replace('_', " "), count(times)));
    each.collect::<Vec<_>>().join(", ")
}

pub(crate) fn by_class(classes: BTreeMap<u16, u64>) -> String {
    let each = classes.into_iter();
    let each = each.map(|(class, times)| format!("{class}xx {}", count(times)));
    each.collect::<Vec<_>>().join(", ")
}

/// Each status that came where another one was expected, with its number; the classes first
/// where there are several statuses. Empty where none came.
pub(crate) fn wrong_statuses(statuses: &Statuses) -> String {
    let each = statuses.iter();
    let each = each.map(|(status, times)| format!("{status} {}", count(times)));
    let each: Vec<String> = each.collect();
    match each.len() {
        0 | 1 => each.concat(),
        _ => format!("{} ({})", by_class(statuses.classes()), each.join(", ")),
    }
}

/// Every attempt of a study, by what became of it.
pub(crate) fn outcomes(record: &StudyRecord) -> Document {
    let mut out = Document::default();
    let summaries = record.conclusions.summaries.iter();
    let measured: Vec<_> = summaries.filter(|summary| summary.sent > 0).collect();
    if measured.is_empty() {
        return out;
    }
    let came = came(measured.iter().map(|summary| &summary.outcomes));
    let mut headers = vec!["load".to_owned(), "subject".to_owned(), "sent".to_owned()];
    headers.extend(came.iter().map(|outcome| title(*outcome)));
    headers.extend(["failed", "ok of sent"].map(str::to_owned));
    let rows = measured.iter().map(|summary| {
        let mut cells = vec![
            load_text(record, &summary.load),
            clean_name(&summary.subject),
        ];
        cells.push(count(summary.sent));
        let counts = came.iter().map(|outcome| summary.outcomes.count(*outcome));
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
        let came = wrong_statuses(&summary.wrong_statuses);
        if !came.is_empty() {
            let (who, place) = (clean_name(&summary.subject), place(record, &summary.load));
            out.note(format!("Wrong status of {who} {place}: {came}."));
        }
    }
    out
}

/// Every attempt of a run, by what became of it.
pub(crate) fn run_outcomes(run: &RunView) -> Document {
    let slice = run.slice;
    let row = |name: &str, times: u64| [name.to_owned(), count(times), share(times, slice.sent)];
    // A run without any ok response shows a row for that.
    let without_ok = (slice.ok == 0).then(|| row("ok", 0));
    let each = slice.outcomes.iter();
    let rows = without_ok
        .into_iter()
        .chain(each.map(|(outcome, times)| row(outcome.name(), times)))
        .chain([row("sent", slice.sent)]);
    let table = Table::new(["outcome", "count", "share"], rows);
    let mut out = Document::from(table.captioned("Attempts by what became of them"));
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
    let due = run.summary.offered.iter();
    due.for_each(|due| out.note(offered(due)));
    out
}

/// The outcomes that came at least once; ok always.
fn came<'a>(outcomes: impl Iterator<Item = &'a Outcomes> + Clone) -> Vec<Outcome> {
    let has_come = |outcome: &Outcome| {
        *outcome == Outcome::Ok
            || outcomes
                .clone()
                .any(|outcomes| outcomes.count(*outcome) > 0)
    };
    Outcome::ALL.into_iter().filter(has_come).collect()
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
    fn statuses_are_told_one_by_one_and_by_class() {
        // Method: none, one, and three of two classes.
        let message = |pairs: &[(u16, usize)]| {
            let mut statuses = Statuses::default();
            let each = pairs.iter();
            let each = each.flat_map(|(status, times)| std::iter::repeat_n(*status, *times));
            each.for_each(|status| statuses.add(status));
            wrong_statuses(&statuses)
        };
        assert_eq!(message(&[]), "");
        assert_eq!(message(&[(404, 1_200)]), "404 1,200");
        assert_eq!(
            message(&[(404, 118), (429, 2), (503, 3)]),
            "4xx 120, 5xx 3 (404 118, 429 2, 503 3)"
        );
    }
}
