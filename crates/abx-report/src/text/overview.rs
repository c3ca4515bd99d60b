//! The first screen of a study that compares much: how many verdicts there are, the largest
//! differences, who leads where, all verdicts in a grid, and what limits them, by cause.

use std::cmp::Ordering;

use abx_evidence::{Comparison, Finding, FindingId, Level, Ranking, StudyRecord, Verdict};

use super::grid::verdict_grid;
use crate::words::style::{Style, Tint};
use crate::words::units::plural;
use crate::words::verdict::{name, sentence};
use crate::words::wrap::wrap;

/// More comparisons than this are told by an overview.
const SENTENCES_MAX: usize = 4;

/// Whether a study compares so much that sentences alone are no answer.
pub(crate) fn needs_overview(record: &StudyRecord) -> bool {
    record.conclusions.primary().count() > SENTENCES_MAX
}

/// What was found, without the figures behind it.
pub(crate) fn found(record: &StudyRecord, style: &Style) -> String {
    let mut out = style.paragraph(&counts(record));
    for one in largest(record) {
        out.push_str(&style.paragraph(&sentence(record, one, style)));
    }
    for line in leaders(record) {
        out.push_str(&style.paragraph(&line));
    }
    out.push('\n');
    out + &verdict_grid(record, style)
}

/// How many verdicts there are of each kind.
fn counts(record: &StudyRecord) -> String {
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
fn largest(record: &StudyRecord) -> Vec<&Comparison> {
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
fn leaders(record: &StudyRecord) -> Vec<String> {
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

/// Findings of one cause.
struct Cause<'a> {
    level: Level,
    id: &'a FindingId,
    findings: Vec<&'a Finding>,
}

/// What limits the verdicts, a line for each cause; notes by their number alone.
pub(crate) fn causes(record: &StudyRecord, style: &Style) -> String {
    let mut causes: Vec<Cause> = Vec::new();
    for finding in &record.conclusions.validity.findings {
        let is_same = |one: &&mut Cause| (one.level, one.id) == (finding.level, &finding.id);
        match causes.iter_mut().find(is_same) {
            Some(cause) => cause.findings.push(finding),
            None => causes.push(Cause {
                level: finding.level,
                id: &finding.id,
                findings: vec![finding],
            }),
        }
    }
    let mut out = String::new();
    for (level, word, tint) in [
        (Level::Void, "VOID", Tint::Bad),
        (Level::Bound, "BOUND", Tint::Doubtful),
    ] {
        let limits = causes.iter().filter(|one| one.level == level);
        let limits: Vec<String> = limits.map(Cause::text).collect();
        if !limits.is_empty() {
            out.push_str(&line(word, tint, &limits.join("; "), style));
        }
    }
    let notes = causes.iter().filter(|one| one.level == Level::Note);
    let notes: Vec<String> = notes.map(Cause::counted).collect();
    if !notes.is_empty() {
        out.push_str(&line("NOTE", Tint::Plain, &notes.join(", "), style));
    }
    out
}

fn line(word: &str, tint: Tint, text: &str, style: &Style) -> String {
    let blanks = " ".repeat(INDENT.len() - word.len());
    let first = format!("{}{blanks}", style.paint(word, tint));
    wrap(text, &first, INDENT, style.columns())
}

impl Cause<'_> {
    /// What it is and whom it concerns, where.
    fn text(&self) -> String {
        let subjects = several(self.findings.iter().map(|one| one.subject.as_deref()));
        let loads = several(self.findings.iter().map(|one| one.load.as_deref()));
        let whom = subjects.map_or(String::new(), |names| format!(": {names}"));
        let place = loads.map_or(String::new(), |names| format!(" under {names}"));
        format!("{}{whom}{place}", self.counted())
    }

    /// What it is, and how often, if more than once.
    fn counted(&self) -> String {
        let words = self.id.name().replace('_', " ");
        match self.findings.len() {
            1 => words,
            more => format!("{words} ({more})"),
        }
    }
}

/// Some names, each once, and how many there are beyond.
fn several<'a>(names: impl Iterator<Item = Option<&'a str>>) -> Option<String> {
    let mut known: Vec<&str> = Vec::new();
    for name in names.flatten() {
        if !known.contains(&name) {
            known.push(name);
        }
    }
    let named: Vec<String> = known.iter().take(NAMED).map(|one| name(one)).collect();
    match known.len() {
        0 => None,
        1..=NAMED => Some(named.join(", ")),
        more => Some(format!("{} and {} more", named.join(", "), more - NAMED)),
    }
}

/// Where the rest is.
pub(crate) fn rest(style: &Style) -> String {
    style.paragraph(
        "--full prints each comparison, all figures, and what to do about findings; --html FILE \
         draws them.",
    )
}

/// Where more are tied for first, nobody leads.
const LEADERS_MAX: usize = 3;
const INDENT: &str = "       ";
/// So many subjects or loads of one cause are named.
const NAMED: usize = 4;
