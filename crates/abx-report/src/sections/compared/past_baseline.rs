//! Subjects beside one of an older record: the same verdicts, and that they
//! were not measured side by side.

use abx_evidence::{Level, PastBaseline};
use abx_stats::stop::BLOCKS_ORDERED;
use abx_verdict::{StudyRecord, Unpaired, Verdict};

use crate::document::Document;
use crate::words::metrics::capitalized;
use crate::words::ratio::ShownRatio;
use crate::words::style::Style;
use crate::words::units::{moment, percent, plural, ratios};
use crate::words::verdict::{
    TOO_FEW_BLOCKS, name, painted, place, so_far, tint, void_line, would_settle,
};
use crate::words::wrap::{clean_name, shorten};

/// What a record says beside an older one; nothing when there is none.
pub(crate) fn past_baseline(record: &StudyRecord, style: &Style) -> Document {
    let Some(older) = &record.measured.past_baseline else {
        return Document::default();
    };
    let comparisons = record.conclusions.past_comparisons.iter();
    let sentences = comparisons.map(|unpaired| sentence(record, older, unpaired, style));
    let mut out: Document = sentences.collect();
    if out.is_empty() {
        let then = name(&older.subject.name);
        out.paragraph(format!("Nothing was compared with the older {then}."));
    }
    out.explained(&source(older))
}

/// Where the other side is from.
fn source(older: &PastBaseline) -> String {
    let subject = &older.subject;
    let version = subject.version.as_deref().map(clean_name);
    let version = version.map_or_else(String::new, |version| format!(", {version}"));
    format!(
        "Then: {}{version}, measured on {} UTC by abx {}, from {}. The two were not \
         measured together, which is weaker evidence than one study of both.",
        name(&subject.name),
        moment(older.started_unix_ms),
        clean_name(&older.abx_version),
        clean_name(&older.record),
    )
}

fn sentence(
    record: &StudyRecord,
    older: &PastBaseline,
    unpaired: &Unpaired,
    style: &Style,
) -> String {
    let subject = name(&unpaired.subject);
    let then = format!(
        "{} of {}",
        name(&unpaired.baseline),
        moment(older.started_unix_ms)
    );
    let place = place(record, &unpaired.load);
    let verdict = if is_of_too_few_blocks(unpaired) {
        style.paint(TOO_FEW_BLOCKS, tint(unpaired.verdict))
    } else {
        painted(unpaired.verdict, style)
    };
    let blocks = format!(
        "{} now, {} then",
        plural(unpaired.blocks as u64, "block"),
        unpaired.blocks_then
    );
    let serves = bounds(unpaired).map(|bounds| {
        let shown = ShownRatio::of(unpaired.verdict, unpaired.at_least, bounds);
        format!(
            "{subject} serves {}× as many requests as {then} ({}; {blocks}) {place}",
            shown.in_words(),
            shown.detail
        )
    });
    match (unpaired.verdict, serves) {
        (Verdict::Faster | Verdict::Slower, Some(serves)) => {
            format!("{serves}: {verdict}{}.", shaky(unpaired))
        }
        (Verdict::Equivalent, Some(serves)) => {
            let margin = percent(record.measured.settings.margin);
            format!(
                "{serves}, a difference of less than {margin}: {verdict}{}.",
                shaky(unpaired)
            )
        }
        (Verdict::Invalid, _) => {
            let mut findings = record.conclusions.validity.numbered(&unpaired.findings);
            let void = findings.find(|finding| finding.level == Level::Void);
            let because = void_line(void);
            format!("{subject} and {then} {place}: {verdict}, because {because}.")
        }
        (_, Some(serves)) => {
            let deciding = capitalized(&settling(record, unpaired));
            format!("{serves}: {verdict}. {deciding}.")
        }
        (_, None) => format!("{subject} and {then} {place}, {blocks}: {verdict}."),
    }
}

/// Whether it is open because a side has fewer blocks than a verdict needs.
fn is_of_too_few_blocks(unpaired: &Unpaired) -> bool {
    unpaired.verdict == Verdict::Inconclusive
        && unpaired.blocks.min(unpaired.blocks_then) < BLOCKS_ORDERED
}

fn shaky(unpaired: &Unpaired) -> &'static str {
    if unpaired.fragile { ", fragile" } else { "" }
}

fn settling(record: &StudyRecord, unpaired: &Unpaired) -> String {
    match unpaired.blocks_more {
        Some(more) if unpaired.blocks < BLOCKS_ORDERED => format!(
            "a verdict needs at least {}",
            plural(more.into(), "more block")
        ),
        Some(more) => would_settle(record, more),
        None if unpaired.reference.is_none() => {
            "no common reference was measured, so the machine may have changed: measure both in one \
             study, or keep the ceiling on in both"
                .to_owned()
        }
        None if unpaired.at_least => {
            "the true difference may be larger than the measured one".to_owned()
        }
        None => "more blocks now would not decide it: the older ones are too few or too scattered, \
                 or the machine has changed too much; measure both in one study"
            .to_owned(),
    }
}

pub(crate) fn progress(comparisons: &[Unpaired]) -> Option<String> {
    let unpaired = comparisons.first()?;
    let [subject, then] =
        [&unpaired.subject, &unpaired.baseline].map(|text| shorten(&clean_name(text), 14));
    let state = so_far(bounds(unpaired).map(ratios), None, unpaired.verdict);
    Some(format!("{subject}/{then} of then {state}"))
}

fn bounds(unpaired: &Unpaired) -> Option<[f64; 3]> {
    Some([unpaired.ratio?, unpaired.low?, unpaired.high?])
}
