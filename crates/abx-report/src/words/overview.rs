//! The sentences that matter of a study that compares much.

use std::cmp::Ordering;

use abx_evidence::{Comparison, Ranking, StudyRecord, Verdict};

use super::units::plural;
use super::verdict::name;

/// How many verdicts there are of each kind.
pub(crate) fn counts(record: &StudyRecord) -> String {
    let all: Vec<Verdict> = { record.conclusions.primary() }
        .map(|one| one.verdict)
        .collect();
    let count = |is: fn(Verdict) -> bool| all.iter().filter(|one| is(**one)).count();
    let kinds = [
        (
            count(|one| matches!(one, Verdict::Faster | Verdict::Less)),
            "better",
        ),
        (
            count(|one| matches!(one, Verdict::Slower | Verdict::More)),
            "worse",
        ),
        (count(|one| one == Verdict::Equivalent), "equivalent"),
        (count(|one| one == Verdict::Inconclusive), "inconclusive"),
        (count(|one| one == Verdict::Invalid), "invalid"),
    ];
    let there = kinds.iter().filter(|(count, _)| *count > 0);
    let each: Vec<String> = there
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    format!(
        "{} of {} under {}: {}.",
        plural(all.len() as u64, "comparison"),
        plural(record.measured.subjects.len() as u64, "subject"),
        plural(record.measured.loads.len() as u64, "load"),
        each.join(", ")
    )
}

/// The largest difference that is settled, and the largest one the other way.
pub(crate) fn largest(record: &StudyRecord) -> Vec<&Comparison> {
    let settled = || {
        let primary = record.conclusions.primary();
        primary.filter(|one| one.verdict.is_directed() && one.ratio.is_some())
    };
    let size = |one: &Comparison| one.ratio.map_or(0.0, |ratio| ratio.ln().abs());
    let by_size =
        |one: &&Comparison, other: &&Comparison| -> Ordering { size(one).total_cmp(&size(other)) };
    let Some(first) = settled().max_by(by_size) else {
        return Vec::new();
    };
    let is_good = |one: &Comparison| matches!(one.verdict, Verdict::Faster | Verdict::Less);
    let other = settled().filter(|one| is_good(one) != is_good(first));
    [Some(first), other.max_by(by_size)]
        .into_iter()
        .flatten()
        .collect()
}

/// Who is first under which loads, and where nobody is.
pub(crate) fn leaders(record: &StudyRecord) -> Vec<String> {
    let mut groups: Vec<(Vec<&str>, Vec<String>)> = Vec::new();
    let mut open = Vec::new();
    for ranking in &record.conclusions.rankings {
        let load = name(&ranking.load);
        let first = tied(ranking);
        if first.len() > LEADERS_MAX || first.len() == ranking.places.len() {
            open.push(load);
            continue;
        }
        match groups.iter_mut().find(|(names, _)| *names == first) {
            Some((_, loads)) => loads.push(load),
            None => groups.push((first, vec![load])),
        }
    }
    let leads = groups.iter().map(|(first, loads)| {
        let names: Vec<String> = first.iter().map(|one| name(one)).collect();
        let leads = match names.as_slice() {
            [only] => format!("{only} leads"),
            several => format!("Tied for first: {}", several.join(", ")),
        };
        format!("{leads} under {}.", loads.join(", "))
    });
    let mut lines: Vec<String> = leads.collect();
    if !open.is_empty() {
        lines.push(format!("No leader is certain under {}.", open.join(", ")));
    }
    lines
}

/// Those of a ranking who are not certainly behind the best, by name.
fn tied(ranking: &Ranking) -> Vec<&str> {
    let first = ranking.places.iter().filter(|place| place.tied_for_first);
    let mut names: Vec<&str> = first.map(|place| place.subject.as_str()).collect();
    names.sort_unstable();
    names
}

/// Where more are tied for first, nobody leads.
const LEADERS_MAX: usize = 3;
