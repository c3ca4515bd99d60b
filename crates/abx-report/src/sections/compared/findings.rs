//! Findings, reported by cause.

use std::collections::BTreeSet;

use abx_evidence::{Finding, FindingId, Level};
use abx_verdict::{Comparison, StudyRecord, Verdict};

use crate::document::{Document, DocumentPart};
use crate::html::markup::{Element, Markup, element, folded, quoting};
use crate::words::prose::{first_sentence, level_tag, message, remedy};
use crate::words::units::{count, plural};
use crate::words::verdict::{is_of_throughput, name};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoadCount {
    One,
    Several,
}

/// The message of a finding with its load, if the record has several.
fn message_under(finding: &Finding, loads: LoadCount) -> String {
    under(finding, loads, &message(finding))
}

/// A text about a finding with its load, if the record has several.
fn under(finding: &Finding, loads: LoadCount, text: &str) -> String {
    match &finding.load {
        Some(load) if loads == LoadCount::Several => format!("under {}: {text}", name(load)),
        _ => text.to_owned(),
    }
}

struct Cause<'a> {
    level: Level,
    id: &'a FindingId,
    /// At least one, each once, in their order.
    findings: Vec<&'a Finding>,
}

/// The findings by cause, in the order of each cause's first finding.
fn causes(findings: &[Finding]) -> Vec<Cause<'_>> {
    let mut causes: Vec<Cause> = Vec::new();
    for finding in findings {
        let is_same = |cause: &&mut Cause| (cause.level, cause.id) == (finding.level, &finding.id);
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
    /// Its name and count, the subjects that it concerns, and its loads.
    fn text(&self) -> String {
        let subjects = self
            .findings
            .iter()
            .map(|finding| finding.subject.as_deref());
        let named = several(subjects, NAMED).map_or(String::new(), |names| format!(": {names}"));
        format!("{}{named}{}", self.counted(), self.place(NAMED))
    }

    /// The first `most` of its loads, and the number of others.
    fn place(&self, most: usize) -> String {
        let loads = self.findings.iter().map(|finding| finding.load.as_deref());
        several(loads, most).map_or(String::new(), |names| format!(" under {names}"))
    }

    /// Its loads if they are one or two, or else their number.
    fn briefly_where(&self) -> String {
        let loads = self.findings.iter();
        let loads = loads.filter_map(|finding| finding.load.as_deref());
        match loads.collect::<BTreeSet<&str>>().len() {
            ..=LOADS_NAMED => self.place(LOADS_NAMED),
            loads => format!(" under {loads} loads"),
        }
    }

    /// Its name, with its count if that is above 1.
    fn counted(&self) -> String {
        let name = self.id.name();
        match self.findings.len() {
            1 => name.to_owned(),
            several => format!("{name} ({several})"),
        }
    }

    /// The messages of its findings. Messages that differ only in their subject are one, with the
    /// other subjects. Notes that differ only in load and figures are one, with the other loads.
    fn messages(&self, loads: LoadCount) -> Vec<String> {
        let mut alike: Vec<AlikeFindings> = Vec::new();
        for finding in &self.findings {
            let subject = finding.subject.as_deref().unwrap_or_default();
            let load = finding.load.as_deref();
            let pattern = match subject {
                "" => finding.message.clone(),
                subject => finding.message.replace(subject, SUBJECT),
            };
            let has_same_place = |other: &&mut AlikeFindings| {
                (&other.pattern, &other.first.load) == (&pattern, &finding.load)
            };
            if let Some(other) = alike.iter_mut().find(has_same_place) {
                other.subjects.push(subject);
                continue;
            }
            let is_same_note = |other: &&mut AlikeFindings| {
                self.level == Level::Note
                    && other.first.subject == finding.subject
                    && other.first.load.is_some()
                    && without_figures(&other.pattern) == without_figures(&pattern)
            };
            match (alike.iter_mut().find(is_same_note), load) {
                (Some(other), Some(load)) if other.first.load != finding.load => {
                    other.loads.push(load);
                }
                _ => alike.push(AlikeFindings {
                    pattern,
                    first: finding,
                    subjects: Vec::new(),
                    loads: Vec::new(),
                }),
            }
        }
        let text = |alike: AlikeFindings| {
            let subjects = several(alike.subjects.into_iter().map(Some), NAMED);
            let subjects = subjects.map(|names| format!(" (also {names})"));
            let under = several(alike.loads.into_iter().map(Some), NAMED);
            let under = under.map(|names| format!(" (also under {names})"));
            let also = [subjects, under].map(Option::unwrap_or_default);
            message_under(alike.first, loads) + &also.concat()
        };
        alike.into_iter().map(text).collect()
    }

    /// The remedies of its findings, each once.
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

/// Findings that are reported as one.
struct AlikeFindings<'a> {
    /// The message without its subject.
    pattern: String,
    first: &'a Finding,
    subjects: Vec<&'a str>,
    loads: Vec<&'a str>,
}

fn without_figures(pattern: &str) -> String {
    let is_figure = |letter: char| letter.is_ascii_digit() || letter == '.';
    pattern.replace(is_figure, "")
}

/// The first `most` distinct names, and the number of others; `None` without names.
fn several<'a>(names: impl Iterator<Item = Option<&'a str>>, most: usize) -> Option<String> {
    let mut distinct: Vec<&str> = Vec::new();
    for name in names.flatten() {
        if !distinct.contains(&name) {
            distinct.push(name);
        }
    }
    let named: Vec<String> = distinct.iter().take(most).map(|text| name(text)).collect();
    match distinct.len() {
        0 => None,
        count if count <= most => Some(named.join(", ")),
        count => Some(format!("{} and {} more", named.join(", "), count - most)),
    }
}

/// Names in a list of subjects or loads, at most.
const NAMED: usize = 4;
/// More loads than this are only counted.
const LOADS_NAMED: usize = 2;
/// Stands for the subject in the pattern of a message.
const SUBJECT: &str = "\u{0}";

/// The messages of a cause and its remedies. With `is_counted`, one line with its subjects and
/// loads replaces the messages.
fn entry(cause: &Cause, loads: LoadCount, is_counted: bool) -> DocumentPart {
    DocumentPart::Limit {
        level: cause.level,
        seen: if is_counted {
            vec![cause.text()]
        } else {
            cause.messages(loads)
        },
        remedies: cause.remedies(),
    }
}

/// An entry for each cause; nothing without findings.
pub(crate) fn findings(findings: &[Finding], loads: LoadCount) -> Document {
    entries(&causes(findings), loads, false)
}

fn entries<'a>(
    causes: impl IntoIterator<Item = &'a Cause<'a>>,
    loads: LoadCount,
    is_counted: bool,
) -> Document {
    let causes = causes.into_iter();
    let entries = causes.map(|cause| entry(cause, loads, is_counted));
    Document(entries.collect())
}

fn limit(level: Level, seen: String, remedies: Vec<String>) -> DocumentPart {
    DocumentPart::Limit {
        level,
        seen: vec![seen],
        remedies,
    }
}

/// An entry per cause: the first message with its load, and each remedy of a limit once. Of many
/// notes, the first messages and the names of the others.
pub(crate) fn by_cause(findings: &[Finding], loads: LoadCount) -> Document {
    let (mut notes, limits): (Vec<Cause>, Vec<Cause>) = causes(findings)
        .into_iter()
        .partition(|cause| cause.level == Level::Note);
    // An interruption comes first, so that it is always reported.
    notes.sort_by_key(|cause| *cause.id != FindingId::Interrupted);
    let mut out = Document::default();
    let mut earlier: Vec<&str> = Vec::new();
    for cause in &limits {
        let first = cause.findings[0];
        let is_new = !earlier.contains(&first.remedy.as_str());
        earlier.push(&first.remedy);
        let remedies = is_new.then(|| remedy(first)).into_iter().collect();
        out.0.push(limit(
            cause.level,
            message_under(first, loads) + &others(cause),
            remedies,
        ));
    }
    let shown = match notes.len() {
        few @ ..=NOTES_MAX => few,
        _ => NOTES_MAX - 1,
    };
    let briefly = notes[..shown].iter().map(|cause| {
        let first = cause.findings[0];
        under(first, loads, first_sentence(&message(first))) + &others(cause)
    });
    let rest: Vec<String> = notes[shown..].iter().map(Cause::counted).collect();
    let rest = (!rest.is_empty()).then(|| rest.join(", "));
    let notes = briefly.chain(rest);
    out.0
        .extend(notes.map(|text| limit(Level::Note, text, Vec::new())));
    out
}

/// The limits of the verdicts of a large study, an entry per level: the first cause in words, and
/// the names of the others.
pub(crate) fn limits_briefly(findings: &[Finding]) -> Document {
    let causes = causes(findings);
    let entry = |level: Level| {
        let of_level = || causes.iter().filter(move |cause| cause.level == level);
        let (first, others) = match level {
            Level::Note => (None, of_level().map(Cause::counted).collect()),
            Level::Bound | Level::Void => {
                let first = of_level().next()?;
                let message = message(first.findings[0]);
                let message = without_brackets(first_sentence(&message));
                let message = format!("{}: {message}", first.counted());
                let others: Vec<String> = of_level().skip(1).map(Cause::counted).collect();
                (Some(message), others)
            }
        };
        let shown = others.len().min(NAMES_SHOWN);
        let mut names = others[..shown].join(", ");
        if others.len() > shown {
            names.push_str(&format!(" and {} more", others.len() - shown));
        }
        let names = Some(names).filter(|names| !names.is_empty());
        let text: Vec<String> = first.into_iter().chain(names).collect();
        (!text.is_empty()).then(|| limit(level, text.join("; "), Vec::new()))
    };
    let levels = [Level::Void, Level::Bound, Level::Note];
    Document(levels.into_iter().filter_map(entry).collect())
}

/// A sentence without its details in brackets.
fn without_brackets(sentence: &str) -> String {
    let mut out = String::new();
    let mut rest = sentence;
    while let Some((before, inside)) = rest.split_once(" (") {
        let Some((_, after)) = inside.split_once(')') else {
            break;
        };
        out.push_str(before);
        rest = after;
    }
    out + rest
}

const NAMES_SHOWN: usize = 5;

/// An entry per cause: the first message, the loads if the record has several, and the remedy of
/// a limit.
pub(crate) fn each_cause(findings: &[Finding], loads: LoadCount) -> Document {
    let mut last = String::new();
    let entry = |cause: Cause| {
        let first = cause.findings[0];
        let message = message(first);
        let message = without_brackets(first_sentence(&message));
        let message = match cause.level {
            Level::Note => message.split(": ").next().unwrap_or_default().to_owned(),
            Level::Bound | Level::Void => message,
        };
        let remedies = match cause.level {
            Level::Note => Vec::new(),
            Level::Bound | Level::Void => {
                let remedy = remedy(first);
                let is_new = last != remedy;
                last.clone_from(&remedy);
                is_new.then_some(remedy).into_iter().collect()
            }
        };
        let under = match loads {
            LoadCount::One => String::new(),
            LoadCount::Several => cause.briefly_where(),
        };
        let text = format!("{}{under}: {message}", cause.counted());
        limit(cause.level, text, remedies)
    };
    Document(causes(findings).into_iter().map(entry).collect())
}

/// The number of findings after the first, in words.
fn others(cause: &Cause) -> String {
    match cause.findings.len() - 1 {
        0 => String::new(),
        1 => " (and once more)".to_owned(),
        more => format!(" (and {} times more)", count(more as u64)),
    }
}

const NOTES_MAX: usize = 3;

/// An entry for each cause on a page, with loads if the record has several.
pub(crate) fn all_findings(findings: &[Finding], loads: usize) -> Document {
    if findings.is_empty() {
        return Document::from_iter(["Nothing was found that limits the result."]);
    }
    let causes = causes(findings);
    let entries = causes
        .iter()
        .map(|cause| entry_html(findings, cause, loads));
    let legend = "note: worth knowing; the verdict holds. limit: the true ratio may be further \
                  from 1. no result: no verdict is possible.";
    let mut out = Document::default();
    out.picture(
        element("ul").class("findings").add_all(entries),
        Document::default(),
    );
    out.explained(legend)
}

/// One cause: the first finding, the others folded, and each remedy once.
fn entry_html(findings: &[Finding], cause: &Cause, loads: usize) -> Element {
    let (class, sign) = level_badge(cause.level);
    let badge = element("p").class("level");
    let badge = badge.add(element("span").with("aria-hidden", "true").text(sign));
    let badge = badge
        .text(level_tag(cause.level).0)
        .add(element("code").text(cause.id.name()));
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
        .class(format!("finding is-{class}"))
        .add(badge)
        .add(report(first, "div"))
        .add_all(others)
        .add_all(remedies)
}

/// The message of a finding, with its load if there are several loads.
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

/// The class and the sign of a level on a page.
fn level_badge(level: Level) -> (&'static str, &'static str) {
    match level {
        Level::Note => ("note", "●"),
        Level::Bound => ("bound", "◆"),
        Level::Void => ("void", "■"),
    }
}

/// The page id of a comparison's ratio; empty for a comparison of a ranking alone.
pub(crate) fn ratio_id(record: &StudyRecord, comparison: &Comparison) -> String {
    let mut comparisons = record.conclusions.comparisons.iter();
    let number = comparisons.position(|other| std::ptr::eq(other, comparison));
    number.map_or_else(String::new, |number| format!("ratio-{number}"))
}

/// The page id of the finding with this number.
fn finding_id(number: usize) -> String {
    format!("finding-{number}")
}

/// The findings that limit this comparison, as links. A finding that limits only throughput does
/// not limit the ratio of CPU per response that stands in for it.
pub(crate) fn reasons(record: &StudyRecord, comparison: &Comparison) -> Option<Element> {
    let findings = &record.conclusions.validity.findings;
    let mut ids: Vec<&FindingId> = Vec::new();
    let mut links = Markup::new();
    for number in &comparison.findings {
        let is_limit =
            |finding: &&Finding| finding.level != Level::Note && !is_of_throughput(finding);
        let Some(finding) = findings.get(*number).filter(is_limit) else {
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
        links.push(link.text(finding.id.name()));
    }
    let word = match comparison.verdict {
        Verdict::Invalid => "no result: ",
        _ => "limit: ",
    };
    let reasons = element("span").class("reasons").text(word).add(links);
    (!ids.is_empty()).then_some(reasons)
}

/// An entry per cause, notes folded. With `is_counted`, as in a study that compares much, an
/// entry only names its subjects and loads.
pub(crate) fn findings_folded(
    findings: &[Finding],
    loads: LoadCount,
    is_counted: bool,
) -> Document {
    let causes = causes(findings);
    let (notes, limits): (Vec<&Cause>, Vec<&Cause>) =
        causes.iter().partition(|cause| cause.level == Level::Note);
    let mut out = entries(limits, loads, is_counted);
    let names: Vec<String> = notes.iter().map(|cause| cause.counted()).collect();
    let summary = format!("Notes: {}", names.join(", "));
    out.folded(summary, entries(notes, loads, is_counted));
    out
}

#[cfg(test)]
mod tests {
    use abx_evidence::{FindingId, Limits};

    use super::*;
    use crate::words::style::Style;
    use abx_verdict::{Declared, Validity, new_finding};

    fn finding(id: FindingId, level: Level, load: Option<&str>, message: &str) -> Finding {
        let mut finding = new_finding(id, message).at(level);
        finding.load = load.map(str::to_owned);
        finding
    }

    #[test]
    fn a_finding_about_throughput_alone_is_no_reason_below_a_ratio() {
        // Method: one comparison with the finding that limits it, and with the same finding about
        // throughput alone.
        let mut record = StudyRecord::judged(abx_fixtures::pair());
        let limit = finding(FindingId::GeneratorBound, Level::Bound, None, "m");
        let reason = Finding {
            limits: Limits::Throughput,
            ..limit.clone()
        };
        record.conclusions.validity = Validity::of(vec![limit, reason]);
        for (number, is_shown) in [(0, true), (1, false)] {
            let mut comparison = record.conclusions.comparisons[0].clone();
            comparison.findings = vec![number];
            let shown = reasons(&record, &comparison);
            assert_eq!(shown.is_some(), is_shown, "{number}");
        }
    }

    #[test]
    fn findings_of_one_cause_are_one_entry_with_their_subjects() {
        // Method: one id at two levels, of two subjects, with a duplicate.
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
            ["foreign_cpu (2): a, b under c1", "foreign_cpu: b under c10"]
        );
        assert_eq!(causes[0].remedies(), [FindingId::ForeignCpu.remedy()]);
    }

    #[test]
    fn messages_that_differ_only_in_their_subject_are_one() {
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
    fn an_entry_per_cause_names_its_loads_if_the_record_has_several() {
        // Method: one cause under two loads and one without a load, in a record of several loads
        // and of one.
        let bound = |load, text| finding(FindingId::GeneratorBound, Level::Bound, load, text);
        let findings = [
            bound(Some("c1"), "it was the limit"),
            bound(Some("c10"), "it was the limit"),
            finding(FindingId::Steal, Level::Note, None, "4 % were taken"),
        ];
        let report = |loads| {
            let text = each_cause(&findings, loads).text(&Style::plain());
            text.replace('\u{a0}', " ")
        };
        let several = report(LoadCount::Several);
        let line = "limit      generator_bound (2) under c1, c10: it was the limit\n";
        assert!(several.contains(line), "{several}");
        assert!(several.contains("steal: 4 % were taken"), "{several}");
        let single = report(LoadCount::One);
        assert!(single.contains("generator_bound (2): it"), "{single}");
        let brief = by_cause(&findings, LoadCount::Several).text(&Style::plain());
        let line = "limit      under c1: it was the limit (and once more)\n";
        assert!(brief.contains(line), "{brief}");
    }

    #[test]
    fn notes_that_differ_only_in_load_and_figures_are_one() {
        // Method: the same note under three loads, twice under one of them; a note in other
        // words, and one without a load; and limits, which stay apart.
        let steal = |load, text| finding(FindingId::Steal, Level::Note, load, text);
        let bound = |load, text| finding(FindingId::GeneratorBound, Level::Bound, load, text);
        let findings = [
            steal(Some("c1"), "3 % were taken"),
            steal(Some("c1"), "as were 4 %"),
            steal(Some("c10"), "5 % were taken"),
            steal(Some("c10"), "6 % were taken"),
            steal(Some("c100"), "7 % were taken"),
            steal(None, "8 % were taken"),
            bound(Some("c1"), "it was the limit"),
            bound(Some("c10"), "it was the limit"),
            bound(Some("c10"), "it was the limit"),
        ];
        let causes = causes(&findings);
        let messages = |cause: &Cause| cause.messages(LoadCount::One).join("; ");
        let expected =
            "3\u{a0}% were taken (also under c10, c100); as were 4\u{a0}%; 8\u{a0}% were taken";
        assert_eq!(messages(&causes[0]), expected);
        let expected = "it was the limit; it was the limit";
        assert_eq!(messages(&causes[1]), expected);
    }
}
