//! Findings, each to be told once.

use abx_evidence::{Comparison, Finding, FindingId, Level, StudyRecord, Verdict};

use crate::document::{Document, DocumentPart};
use crate::html::markup::{Element, Markup, element, folded, quoting};
use crate::words::prose::{first_sentence, message, remedy};
use crate::words::units::{count, plural};
use crate::words::verdict::name;
use crate::words::wrap::{clean_name, shorten};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoadCount {
    One,
    Several,
}

/// A finding that is told, and under which other loads the same was seen, with
/// other figures.
struct MergedFinding<'a> {
    finding: &'a Finding,
    others: Vec<&'a str>,
}

impl MergedFinding<'_> {
    fn likewise(&self) -> String {
        let named = self.others.iter().take(NAMED);
        let names: Vec<String> = named.map(|text| shorten(&clean_name(text), 30)).collect();
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
fn told(findings: &[Finding]) -> Vec<MergedFinding<'_>> {
    let mut merged_findings: Vec<MergedFinding> = Vec::new();
    for finding in findings {
        let key = (&finding.load, &finding.message);
        if merged_findings.iter().any(|merged_finding| {
            (
                &merged_finding.finding.load,
                &merged_finding.finding.message,
            ) == key
        }) {
            continue;
        }
        match merged_findings
            .iter_mut()
            .find(|merged_finding| is_like(merged_finding.finding, finding))
        {
            None => merged_findings.push(MergedFinding {
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
    merged_findings
}

/// Whether two findings are notes of one kind and subject, under different loads.
fn is_like(this_finding: &Finding, other: &Finding) -> bool {
    let is_note = |finding: &Finding| finding.level == Level::Note && finding.load.is_some();
    is_note(this_finding)
        && is_note(other)
        && this_finding.load != other.load
        && (&this_finding.id, &this_finding.subject) == (&other.id, &other.subject)
}

/// The message of a finding with its load, if the record has several.
fn message_under(finding: &Finding, loads: LoadCount) -> String {
    let message = message(finding);
    match &finding.load {
        Some(load) if loads == LoadCount::Several => format!("under {}: {message}", name(load)),
        _ => message,
    }
}

struct Cause<'a> {
    level: Level,
    id: &'a FindingId,
    /// At least one, each once, in their order.
    findings: Vec<&'a Finding>,
}

/// The findings by cause, in the order of the first of each.
fn causes(findings: &[Finding]) -> Vec<Cause<'_>> {
    let mut causes: Vec<Cause> = Vec::new();
    for finding in findings {
        let is_same = |this_cause: &&mut Cause| {
            (this_cause.level, this_cause.id) == (finding.level, &finding.id)
        };
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
    fn text(&self) -> String {
        let subjects = several(
            self.findings
                .iter()
                .map(|finding| finding.subject.as_deref()),
        );
        let loads = several(self.findings.iter().map(|finding| finding.load.as_deref()));
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

    /// What was seen each time: of messages that differ only in their subject the first one,
    /// with the other subjects.
    fn messages(&self, loads: LoadCount) -> Vec<String> {
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
    fn remedies(&self) -> Vec<String> {
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
    let named: Vec<String> = known.iter().take(NAMED).map(|text| name(text)).collect();
    match known.len() {
        0 => None,
        1..=NAMED => Some(named.join(", ")),
        more => Some(format!("{} and {} more", named.join(", "), more - NAMED)),
    }
}

const NAMED: usize = 4;
const SUBJECT: &str = "\u{0}";

/// The findings that are told; nothing when there are none.
pub(crate) fn findings(findings: &[Finding], loads: LoadCount) -> Document {
    let limits = told(findings).into_iter().map(|merged_finding| {
        let finding = merged_finding.finding;
        let message = message_under(finding, loads) + &merged_finding.likewise();
        limit(finding.level, message, vec![remedy(finding)])
    });
    Document(limits.collect())
}

fn limit(level: Level, seen: String, remedies: Vec<String>) -> DocumentPart {
    DocumentPart::Limit {
        level,
        seen: vec![seen],
        remedies,
    }
}

/// What limits the result, an entry per cause: the first message, and of what limits a claim
/// what to do, which stands once; of many notes the first ones, and what the others are.
pub(crate) fn by_cause(findings: &[Finding]) -> Document {
    let (mut notes, limits): (Vec<Cause>, Vec<Cause>) = causes(findings)
        .into_iter()
        .partition(|cause| cause.level == Level::Note);
    // That it was stopped is told whatever else there is.
    notes.sort_by_key(|cause| *cause.id != FindingId::Interrupted);
    let mut out = Document::default();
    let mut texts: Vec<&str> = Vec::new();
    for cause in &limits {
        let first = cause.findings[0];
        let is_new = !texts.contains(&first.remedy.as_str());
        texts.push(&first.remedy);
        let remedies = is_new.then(|| remedy(first)).into_iter().collect();
        out.0.push(limit(
            cause.level,
            message(first) + &others(cause),
            remedies,
        ));
    }
    let shown = match notes.len() {
        few @ ..=NOTES_MAX => few,
        _ => NOTES_MAX - 1,
    };
    let briefly = notes[..shown].iter().map(|cause| {
        let message = message(cause.findings[0]);
        first_sentence(&message).to_owned() + &others(cause)
    });
    let rest: Vec<String> = notes[shown..].iter().map(Cause::counted).collect();
    let rest = (!rest.is_empty()).then(|| rest.join(", "));
    let notes = briefly.chain(rest);
    out.0
        .extend(notes.map(|text| limit(Level::Note, text, Vec::new())));
    out
}

/// What limits the verdicts of a large study, a line for each level.
pub(crate) fn by_level(findings: &[Finding]) -> Document {
    let causes = causes(findings);
    let of = |level: Level| {
        let of_level = causes.iter().filter(|cause| cause.level == level);
        let text = match level {
            Level::Note => of_level.map(Cause::counted).collect::<Vec<_>>().join(", "),
            Level::Bound | Level::Void => of_level.map(Cause::text).collect::<Vec<_>>().join("; "),
        };
        (!text.is_empty()).then(|| limit(level, text, Vec::new()))
    };
    let levels = [Level::Void, Level::Bound, Level::Note];
    Document(levels.into_iter().filter_map(of).collect())
}

/// How often the like of the first message was seen besides.
fn others(cause: &Cause) -> String {
    match cause.findings.len() - 1 {
        0 => String::new(),
        1 => " (and once more)".to_owned(),
        more => format!(" (and {} times more)", count(more as u64)),
    }
}

const NOTES_MAX: usize = 3;

/// The findings, an entry for each cause, with their loads where there are several.
pub(crate) fn all_findings(findings: &[Finding], loads: usize) -> Document {
    if findings.is_empty() {
        return Document::from_iter(["Nothing was found that limits the result."]);
    }
    let causes = causes(findings);
    let entries = causes
        .iter()
        .map(|cause| entry_html(findings, cause, loads));
    let how = "note: worth knowing, the claim stands. bound: the ratio is only an \"at least\". \
               void: no claim can be made.";
    let mut out = Document::default();
    out.picture(
        element("ul").class("findings").add_all(entries),
        Document::default(),
    );
    out.explained(how)
}

/// One cause: the first finding, the others folded away, and each remedy once.
fn entry_html(findings: &[Finding], cause: &Cause, loads: usize) -> Element {
    let (word, sign) = level_words(cause.level);
    let badge = element("p").class("level");
    let badge = badge.add(element("span").with("aria-hidden", "true").text(sign));
    let badge = badge.text(word).add(element("code").text(cause.id.name()));
    let report = |finding: &Finding, tag| {
        let number = findings.iter().position(|other| other == finding);
        element(tag)
            .with("id", finding_id(number.unwrap_or_default()))
            .add_all(lines(finding, loads))
    };
    let (first, others) = (cause.findings[0], &cause.findings[1..]);
    let others = (!others.is_empty()).then(|| {
        let summary = format!("The same {}", plural(others.len() as u64, "more time"));
        let others = others.iter().map(|finding| report(finding, "li"));
        folded(&summary, element("ul").class("others").add_all(others))
    });
    let remedies = cause.remedies().into_iter().map(|remedy| {
        let line = element("p").class("remedy");
        line.add(element("b").text("Remedy: "))
            .add(quoting(&remedy))
    });
    element("li")
        .class(format!("finding is-{word}"))
        .add(badge)
        .add(report(first, "div"))
        .add_all(others)
        .add_all(remedies)
}

/// The message of a finding, with its load where there are several.
fn lines(finding: &Finding, loads: usize) -> Vec<Element> {
    let under = finding.load.as_deref().filter(|_| loads > 1);
    let under = under.map_or_else(String::new, |load| format!("Under {}: ", name(load)));
    let message = message(finding);
    let lines = message.lines().filter(|line| !line.is_empty());
    let paragraph = |(index, line): (usize, &str)| match index {
        0 => element("p").add(quoting(&format!("{under}{line}"))),
        _ => element("p").class("quoted").text(line),
    };
    lines.enumerate().map(paragraph).collect()
}

fn level_words(level: Level) -> (&'static str, &'static str) {
    match level {
        Level::Note => ("note", "●"),
        Level::Bound => ("bound", "▲"),
        Level::Void => ("void", "■"),
    }
}

/// Where the ratio of a comparison stands; empty for one of a ranking alone.
pub(crate) fn ratio_id(record: &StudyRecord, comparison: &Comparison) -> String {
    let mut comparisons = record.conclusions.comparisons.iter();
    let number = comparisons.position(|other| std::ptr::eq(other, comparison));
    number.map_or_else(String::new, |number| format!("ratio-{number}"))
}

/// Where the finding of this number stands.
fn finding_id(number: usize) -> String {
    format!("finding-{number}")
}

pub(crate) fn reasons(record: &StudyRecord, comparison: &Comparison) -> Option<Element> {
    let findings = &record.conclusions.validity.findings;
    let mut ids: Vec<&FindingId> = Vec::new();
    let mut links = Markup::new();
    for number in &comparison.findings {
        let found_finding = findings.get(*number);
        let Some(finding) = found_finding.filter(|finding| finding.level != Level::Note) else {
            continue;
        };
        if ids.contains(&&finding.id) {
            continue;
        }
        if !ids.is_empty() {
            links.push(Markup::text(", "));
        }
        ids.push(&finding.id);
        let link = element("a").with("href", format!("#{}", finding_id(*number)));
        links.push(link.text(&finding.id.name().replace('_', " ")));
    }
    let word = match comparison.verdict {
        Verdict::Invalid => "void: ",
        _ => "bound: ",
    };
    let reasons = element("span").class("reasons").text(word).add(links);
    (!ids.is_empty()).then_some(reasons)
}

/// What limits the result, an entry per cause and the notes folded away; in a study that
/// compares much it names only whom each cause concerns and where.
pub(crate) fn findings_folded(
    findings: &[Finding],
    loads: LoadCount,
    is_counted: bool,
) -> Document {
    let entry = |cause: &Cause| DocumentPart::Limit {
        level: cause.level,
        seen: if is_counted {
            vec![cause.text()]
        } else {
            cause.messages(loads)
        },
        remedies: cause.remedies(),
    };
    let causes = causes(findings);
    let (notes, limits): (Vec<&Cause>, Vec<&Cause>) =
        causes.iter().partition(|cause| cause.level == Level::Note);
    let [notes_told, mut out] =
        [&notes, &limits].map(|causes| Document(causes.iter().map(|cause| entry(cause)).collect()));
    let kinds: Vec<String> = notes.iter().map(|cause| cause.counted()).collect();
    out.folded(format!("Notes: {}", kinds.join(", ")), notes_told);
    out
}

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
        let findings = [
            steal(Level::Note, "a", "c1"),
            steal(Level::Note, "b", "c1"),
            steal(Level::Note, "b", "c1"),
            steal(Level::Bound, "b", "c10"),
        ];
        let causes = causes(&findings);
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
        let findings = [
            note("old", "c1", "{} was warming up"),
            note("new", "c1", "{} was warming up"),
            note("new", "c10", "{} was warming up"),
            note("new", "c1", "{} lost 12345 requests"),
        ];
        let causes = causes(&findings);
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
        let findings = [
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
        let pairs: Vec<(&str, Vec<&str>)> = told(&findings)
            .into_iter()
            .map(|merged_finding| {
                (
                    merged_finding.finding.message.as_str(),
                    merged_finding.others,
                )
            })
            .collect();
        let expected = [
            ("3 % were taken", vec!["c10", "c100"]),
            ("as were 4 %", vec![]),
            ("8 % were taken", vec![]),
            ("it was the limit", vec![]),
            ("it was the limit", vec![]),
        ];
        assert_eq!(pairs, expected);
    }
}
