//! Findings, each to be told once.

use abx_evidence::{Finding, FindingId, Level};

use super::prose::{message, remedy};
use super::verdict::name;
use super::wrap::{clean_name, shorten};

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

/// The message of a finding with its load, if the record has several.
pub(crate) fn message_under(finding: &Finding, loads: LoadCount) -> String {
    let message = message(finding);
    match &finding.load {
        Some(load) if loads == LoadCount::Several => format!("under {}: {message}", name(load)),
        _ => message,
    }
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

    /// What was seen each time: of messages that differ only in their subject the first one,
    /// with the other subjects.
    pub(crate) fn messages(&self, loads: LoadCount) -> Vec<String> {
        let mut merged: Vec<(String, &Finding, Vec<&str>)> = Vec::new();
        for finding in &self.findings {
            let subject = finding.subject.as_deref().unwrap_or_default();
            let pattern = match subject {
                "" => finding.message.clone(),
                subject => finding.message.replace(subject, SUBJECT),
            };
            let key = (pattern.as_str(), &finding.load);
            match merged
                .iter_mut()
                .find(|(like, first, _)| (like.as_str(), &first.load) == key)
            {
                Some((.., others)) => others.push(subject),
                None => merged.push((pattern, finding, Vec::new())),
            }
        }
        let text = |(_, first, others): (String, &Finding, Vec<&str>)| {
            let also = several(others.into_iter().map(Some));
            let also = also.map_or_else(String::new, |names| format!(" (also {names})"));
            message_under(first, loads) + &also
        };
        merged.into_iter().map(text).collect()
    }

    /// What to do about them, each once.
    pub(crate) fn remedies(&self) -> Vec<String> {
        let mut remedies: Vec<String> = Vec::new();
        for finding in &self.findings {
            let remedy = remedy(finding);
            if !remedies.contains(&remedy) {
                remedies.push(remedy);
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
/// Stands for the subject in a message.
const SUBJECT: &str = "\u{0}";

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
        assert_eq!(causes[0].remedies(), [FindingId::ForeignCpu.remedy()]);
    }

    #[test]
    fn messages_that_differ_in_their_subject_are_one() {
        // Method: one message of two subjects, of one of them under another load too, and
        // another message.
        let note = |subject: &str, load, text: &str| {
            let message = text.replace("{}", subject);
            finding(FindingId::Steal, Level::Note, Some(load), &message).about(subject)
        };
        let all = [
            note("old", "c1", "{} was warming up"),
            note("new", "c1", "{} was warming up"),
            note("new", "c10", "{} was warming up"),
            note("new", "c1", "{} lost 12345 requests"),
        ];
        let causes = causes(&all);
        let expected = [
            "under c1: old was warming up (also new)",
            "under c10: new was warming up",
            "under c1: new lost 12,345 requests",
        ];
        assert_eq!(causes[0].messages(LoadCount::Several), expected);
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
