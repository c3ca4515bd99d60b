//! Findings, each to be told once.

use abx_evidence::{Finding, FindingId, Level};

use super::verdict::name;
use super::wrap::{clean, clean_name, shorten};

/// Which findings need the name of their load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoadCount {
    One,
    Several,
}

/// A finding that is told, and under which other loads the same was seen, with
/// other figures.
pub(crate) struct Told<'a> {
    pub(crate) finding: &'a Finding,
    pub(crate) others: Vec<&'a str>,
}

impl Told<'_> {
    /// Under which other loads it was seen, some of them by name.
    pub(crate) fn likewise(&self) -> String {
        let named = self.others.iter().take(NAMED);
        let names: Vec<String> = named.map(|one| shorten(&clean_name(one), 30)).collect();
        let names = names.join(", ");
        match self.others.len() {
            0 => String::new(),
            1..=NAMED => format!(" (also under {names})"),
            more => format!(" (also under {names} and {} more)", more - NAMED),
        }
    }
}

/// The findings in their order, each once. Of notes that were made of the same
/// subject under many loads the first is told, and where the others were.
pub(crate) fn told(all: &[Finding]) -> Vec<Told<'_>> {
    let mut told: Vec<Told> = Vec::new();
    for finding in all {
        let key = (&finding.load, &finding.message);
        if told
            .iter()
            .any(|one| (&one.finding.load, &one.finding.message) == key)
        {
            continue;
        }
        match told.iter_mut().find(|one| is_like(one.finding, finding)) {
            None => told.push(Told {
                finding,
                others: Vec::new(),
            }),
            Some(first) => {
                let load = finding.load.as_deref();
                let load = load.filter(|load| !first.others.contains(load));
                first.others.extend(load);
            }
        }
    }
    told
}

/// Whether two findings are notes of one kind and subject, under different loads.
fn is_like(one: &Finding, other: &Finding) -> bool {
    let is_note = |finding: &Finding| finding.level == Level::Note && finding.load.is_some();
    is_note(one)
        && is_note(other)
        && one.load != other.load
        && (&one.id, &one.subject) == (&other.id, &other.subject)
}

/// Findings of one cause.
pub(crate) struct Cause<'a> {
    pub(crate) level: Level,
    pub(crate) id: &'a FindingId,
    /// At least one, each once, in their order.
    pub(crate) findings: Vec<&'a Finding>,
}

/// The findings by cause, in the order of the first of each.
pub(crate) fn causes(all: &[Finding]) -> Vec<Cause<'_>> {
    let mut causes: Vec<Cause> = Vec::new();
    for finding in all {
        let is_same = |one: &&mut Cause| (one.level, one.id) == (finding.level, &finding.id);
        match causes.iter_mut().find(is_same) {
            Some(cause) if cause.findings.contains(&finding) => {}
            Some(cause) => cause.findings.push(finding),
            None => causes.push(Cause {
                level: finding.level,
                id: &finding.id,
                findings: vec![finding],
            }),
        }
    }
    causes
}

impl Cause<'_> {
    /// What it is, how often, whom it concerns and where.
    pub(crate) fn text(&self) -> String {
        let subjects = several(self.findings.iter().map(|one| one.subject.as_deref()));
        let loads = several(self.findings.iter().map(|one| one.load.as_deref()));
        let whom = subjects.map_or(String::new(), |names| format!(": {names}"));
        let place = loads.map_or(String::new(), |names| format!(" under {names}"));
        format!("{}{whom}{place}", self.counted())
    }

    /// What it is, and how often, if more than once.
    pub(crate) fn counted(&self) -> String {
        let words = self.id.name().replace('_', " ");
        match self.findings.len() {
            1 => words,
            more => format!("{words} ({more})"),
        }
    }

    /// What was seen first, without what follows from it.
    pub(crate) fn first_clause(&self) -> String {
        let message = clean(&self.findings[0].message);
        let line = message.lines().next().unwrap_or_default();
        let end = [": ", "; ", ", "]
            .into_iter()
            .flat_map(|it| line.match_indices(it))
            .map(|(at, _)| at)
            .filter(|at| *at >= CLAUSE_LEAST)
            .min();
        line[..end.unwrap_or(line.len())]
            .trim_end_matches(':')
            .to_owned()
    }

    /// What to do about them, each once.
    pub(crate) fn remedies(&self) -> Vec<&str> {
        let mut remedies: Vec<&str> = Vec::new();
        for finding in &self.findings {
            if !remedies.contains(&finding.remedy.as_str()) {
                remedies.push(&finding.remedy);
            }
        }
        remedies
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

/// So many other loads are named.
const NAMED: usize = 4;
/// What is shorter than this tells nothing alone.
const CLAUSE_LEAST: usize = 13;

#[cfg(test)]
mod tests {
    use abx_evidence::FindingId;

    use super::*;

    fn finding(id: FindingId, level: Level, load: Option<&str>, message: &str) -> Finding {
        let mut finding = Finding::new(id, message).at(level);
        finding.load = load.map(str::to_owned);
        finding
    }

    #[test]
    fn findings_of_one_cause_are_one_with_whom_they_concern() {
        // Method: one id at two levels, of two subjects, one of them twice word for word.
        let steal = |level, subject, load| {
            finding(
                FindingId::ForeignCpu,
                level,
                Some(load),
                "4 % were taken, by others",
            )
            .about(subject)
        };
        let all = [
            steal(Level::Note, "a", "c1"),
            steal(Level::Note, "b", "c1"),
            steal(Level::Note, "b", "c1"),
            steal(Level::Bound, "b", "c10"),
        ];
        let causes = causes(&all);
        let texts: Vec<String> = causes.iter().map(Cause::text).collect();
        assert_eq!(
            texts,
            ["foreign cpu (2): a, b under c1", "foreign cpu: b under c10"]
        );
        assert_eq!(causes[0].first_clause(), "4 % were taken");
        assert_eq!(causes[0].remedies(), [FindingId::ForeignCpu.remedy()]);
    }

    #[test]
    fn notes_of_one_kind_are_told_once_with_the_loads_of_the_others() {
        // Method: the same note under three loads, twice under one of them; what is
        // of another kind or level, of no load, or said twice word for word.
        let (note, bound) = (Level::Note, Level::Bound);
        let all = [
            finding(FindingId::Steal, note, Some("c1"), "3 % were taken"),
            finding(FindingId::Steal, note, Some("c1"), "as were 4 %"),
            finding(FindingId::Steal, note, Some("c10"), "5 % were taken"),
            finding(FindingId::Steal, note, Some("c10"), "6 % were taken"),
            finding(FindingId::Steal, note, Some("c100"), "7 % were taken"),
            finding(FindingId::Steal, note, None, "8 % were taken"),
            finding(
                FindingId::GeneratorBound,
                bound,
                Some("c1"),
                "it was the limit",
            ),
            finding(
                FindingId::GeneratorBound,
                bound,
                Some("c10"),
                "it was the limit",
            ),
            finding(
                FindingId::GeneratorBound,
                bound,
                Some("c10"),
                "it was the limit",
            ),
        ];
        let told: Vec<(&str, Vec<&str>)> = { told(&all).into_iter() }
            .map(|one| (one.finding.message.as_str(), one.others))
            .collect();
        let expected = [
            ("3 % were taken", vec!["c10", "c100"]),
            ("as were 4 %", vec![]),
            ("8 % were taken", vec![]),
            ("it was the limit", vec![]),
            ("it was the limit", vec![]),
        ];
        assert_eq!(told, expected);
    }
}
