//! Findings, each to be told once.

use abx_evidence::{Finding, Level};

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

/// So many other loads are named.
const NAMED: usize = 4;

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
