//! Verdicts as sentences that need no knowledge of statistics.

use std::time::Duration;

use abx_evidence::{Finding, FindingId, Level, Limits};
use abx_stats::paired::BLOCKS_MIN;
use abx_stats::stop::blocks_for_verdict;
use abx_verdict::{Bounds, Comparison, Metric, StudyRecord, Verdict};

use crate::words::metrics::{capitalized, cost_unit, metric_under, shape_under};
use crate::words::prose::message;
use crate::words::ratio::{Further, ShownRatio};
use crate::words::style::{Style, Tint};
use crate::words::units::{GLUE, NO_INTERVAL, count, figure, minutes, percent, plural, ratios};
use crate::words::wrap::{clean_name, shorten};

/// The subject of a comparison, with its baseline unless the whole study has only one.
pub(crate) fn who(record: &StudyRecord, comparison: &Comparison) -> String {
    let subject = clean_name(&comparison.subject);
    match record.measured.only_baseline() {
        Some(_) => subject,
        None => format!("{subject} ÷ {}", clean_name(&comparison.baseline)),
    }
}

pub(crate) fn sentence(record: &StudyRecord, comparison: &Comparison, style: &Style) -> String {
    let [subject, baseline] = [&comparison.subject, &comparison.baseline].map(|text| name(text));
    let place = place(record, &comparison.load);
    let verdict = style.paint(word_of(comparison), tint(comparison.verdict));
    let serves = serves(record, comparison);
    match (comparison.verdict, serves) {
        (directed, Some(serves)) if directed.is_directed() => format!("{serves}: {verdict}."),
        (Verdict::Equivalent, Some(serves)) => {
            let margin = percent(record.measured.settings.margin);
            format!("{serves}, a difference of less than {margin}: {verdict}.")
        }
        (Verdict::Invalid, _) => {
            let because = void_reason(record, comparison);
            format!("{subject} and {baseline} {place}: {verdict}, because {because}.")
        }
        (_, Some(serves)) => {
            let deciding = capitalized(&settling(record, comparison));
            format!("{serves}: {verdict}. {deciding}.")
        }
        (_, None) => {
            let blocks = plural(comparison.blocks as u64, "block");
            let lacking = if comparison.too_few_blocks {
                format!(" {}.", capitalized(&lacking(record, comparison)))
            } else {
                String::new()
            };
            format!("{subject} and {baseline} {place}, {blocks} measured: {verdict}.{lacking}")
        }
    }
}

/// A comparison without its verdict; `None` without a ratio.
fn serves(record: &StudyRecord, comparison: &Comparison) -> Option<String> {
    let (ratio, interval) = match ShownRatio::of_comparison(comparison) {
        Some(shown) => (shown.in_words(), format!(" ({})", shown.detail)),
        None => (figure(comparison.plain_ratio()?), String::new()),
    };
    let place = place(record, &comparison.load);
    let sentence = compares(record, comparison, [&ratio, &interval, &place]);
    let shifted = comparison.shifted().map_or_else(String::new, |other| {
        let rounds = plural(other.rounds_left_out, "disturbed round");
        format!(", but {} without {rounds}", self::interval(&other.bounds))
    });
    let alone = match comparison.bounds() {
        None => format!(
            " in {}, {NO_INTERVAL}",
            plural(comparison.blocks as u64, "block")
        ),
        Some(_) => String::new(),
    };
    Some(sentence + &shifted + &alone)
}

/// The comparison in words that suit its metric, with this ratio, interval and place.
fn compares(
    record: &StudyRecord,
    comparison: &Comparison,
    [ratio, interval, place]: [&str; 3],
) -> String {
    let [subject, baseline] = [&comparison.subject, &comparison.baseline].map(|text| name(text));
    let times = format!("{ratio}×");
    match comparison.metric {
        Metric::Throughput => {
            let units = shape_under(record, &comparison.load).units();
            format!("{subject} serves {times} as many {units} as {baseline}{interval} {place}")
        }
        Metric::Capacity => {
            let objective = objective(record, &comparison.load);
            let mut capacities = record.conclusions.capacities.iter();
            let place = if capacities.any(|other| other.load != comparison.load) {
                format!(" {place}")
            } else {
                String::new()
            };
            format!(
                "{subject} meets {objective} up to {times} the rate of {baseline}{interval}{place}"
            )
        }
        Metric::ServerCpu => {
            let unit = cost_unit(shape_under(record, &comparison.load));
            format!("{subject} uses {times} the CPU per {unit} of {baseline}{interval} {place}")
        }
        Metric::Recovery => {
            let recovers = match comparison.bounds() {
                Some(values) => recovers(
                    [&subject, &baseline],
                    values,
                    (comparison.verdict, comparison.at_least),
                ),
                None => format!("{subject} takes {times} as long as {baseline} to recover"),
            };
            format!("{recovers} {place}")
        }
        metric => {
            let metric = metric_under(record, &comparison.load, metric);
            format!("{subject}'s {metric} is {times} {baseline}'s{interval} {place}")
        }
    }
}

/// One sentence for comparisons with a ratio that share pair, metric and verdict.
pub(crate) fn sentence_of_all(
    record: &StudyRecord,
    comparisons: &[&Comparison],
    style: &Style,
) -> String {
    let first = comparisons[0];
    if comparisons.len() == 1 {
        return sentence(record, first, style);
    }
    let verdict = style.paint(word_of(first), tint(first.verdict));
    let place = format!("under {}", names_of_loads(record, comparisons));
    let ratio = ratio_range(comparisons);
    format!(
        "{}: {verdict}.",
        compares(record, first, [&ratio, "", &place])
    )
}

/// The names of the comparisons' loads; their number if they are many.
fn names_of_loads(record: &StudyRecord, comparisons: &[&Comparison]) -> String {
    let loads = comparisons.iter();
    let loads: Vec<String> = loads.map(|comparison| name(&comparison.load)).collect();
    match &loads[..] {
        [only] => only.clone(),
        [few @ .., last] if few.len() < LOADS_NAMED => format!("{} and {last}", few.join(", ")),
        names if names.len() == record.measured.loads.len() => format!("all {} loads", names.len()),
        many => format!("{} loads", many.len()),
    }
}

const LOADS_NAMED: usize = 4;

/// The range from the lowest to the highest ratio, or the bound that holds for all.
pub(crate) fn ratio_range(comparisons: &[&Comparison]) -> String {
    let shown = comparisons
        .iter()
        .filter_map(|comparison| ShownRatio::of_comparison(comparison));
    let mut shown: Vec<ShownRatio> = shown.collect();
    shown.sort_by(|a, b| a.value.total_cmp(&b.value));
    let is = |shown: &ShownRatio, further| shown.further == Some(further);
    match &shown[..] {
        [] => String::new(),
        [low, ..] if shown.iter().any(|shown| is(shown, Further::AtLeast)) => {
            format!("at least {}", low.ratio)
        }
        [.., high] if shown.iter().any(|shown| is(shown, Further::AtMost)) => {
            format!("at most {}", high.ratio)
        }
        [low, .., high] if low.ratio != high.ratio => format!("{} to {}", low.ratio, high.ratio),
        [any, ..] => any.ratio.clone(),
    }
}

/// How fast one of two subjects recovers, with a ratio above 1, so that a bound is always an "at
/// least".
fn recovers(
    [subject, baseline]: [&str; 2],
    [ratio, low, high]: [f64; 3],
    (verdict, at_least): (Verdict, bool),
) -> String {
    let shown = |bounds| {
        let shown = ShownRatio::of(verdict, at_least, bounds);
        (shown.in_words(), shown.detail)
    };
    if ratio > 1.0 {
        let (times, detail) = shown([ratio, low, high]);
        return format!("{subject} takes {times}× as long as {baseline} ({detail}) to recover");
    }
    let (times, detail) = shown([1.0 / ratio, 1.0 / high, 1.0 / low]);
    format!("{subject} recovers {times}× as fast as {baseline} ({detail})")
}

/// Why CPU per response is compared if this was the limit.
macro_rules! compared_if {
    ($limit:literal) => {
        concat!(
            "CPU per response is compared if ",
            $limit,
            " was the limit, because throughput then has no verdict. The result holds at the \
             measured rate: the kernel may charge loopback work to either side, and a server at \
             its limit may need more or less per response."
        )
    };
}

/// A note for the whole study on CPU per response that stands in for throughput, if any does.
pub(crate) fn instead_of_throughput(record: &StudyRecord) -> Option<&'static str> {
    let mut primary = record.conclusions.primary();
    let is_instead = primary.any(|comparison| comparison.metric == Metric::ServerCpu);
    is_instead.then(|| match foreign_limits(record) {
        ForeignLimits::Generator => compared_if!("the generator"),
        ForeignLimits::Service => compared_if!("a service"),
        ForeignLimits::Both => compared_if!("the generator or a service"),
    })
}

/// The limits other than the subjects if CPU per response stands in for throughput.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ForeignLimits {
    Generator,
    Service,
    Both,
}

impl ForeignLimits {
    pub(crate) fn words(self) -> &'static str {
        match self {
            ForeignLimits::Generator => "the generator",
            ForeignLimits::Service => "a service",
            ForeignLimits::Both => "the generator or a service",
        }
    }
}

pub(crate) fn foreign_limits(record: &StudyRecord) -> ForeignLimits {
    let validity = &record.conclusions.validity;
    let primary = record.conclusions.primary();
    let instead = primary.filter(|comparison| comparison.metric == Metric::ServerCpu);
    let findings: Vec<&Finding> = instead
        .flat_map(|comparison| comparison.limits(validity))
        .collect();
    let has = |id: FindingId| {
        findings
            .iter()
            .any(|finding| finding.id == id && is_of_throughput(finding))
    };
    match [FindingId::GeneratorBound, FindingId::ServiceBound].map(has) {
        [true, true] => ForeignLimits::Both,
        [false, true] => ForeignLimits::Service,
        [_, false] => ForeignLimits::Generator,
    }
}

/// Whether a finding limits throughput alone, and not the CPU per response that stands in for it.
pub(crate) fn is_of_throughput(finding: &Finding) -> bool {
    finding.limits == Limits::Throughput
}

fn objective(record: &StudyRecord, load: &str) -> String {
    let mut capacities = record.conclusions.capacities.iter();
    let capacity = capacities.find(|capacity| capacity.load == load);
    capacity.map_or_else(String::new, |capacity| capacity.objective.to_string())
}

pub(crate) fn name(text: &str) -> String {
    shorten(&clean_name(text), 30)
}

/// The load of a comparison, by name if there are several; or its fault.
pub(crate) fn place(record: &StudyRecord, load: &str) -> String {
    if record
        .measured
        .faults
        .iter()
        .any(|fault| fault.name == load)
    {
        return format!("after {}", name(load));
    }
    let load_record = record.measured.load(load);
    let connections =
        load_record.map(|load| plural(load.settings.connections.into(), "connection"));
    match connections {
        Some(connections) if record.measured.loads.len() == 1 => format!("at {connections}"),
        Some(connections) => format!("under {} ({connections})", name(load)),
        None => format!("under {}", name(load)),
    }
}

/// A load in a table: its name if there are several, and its connections.
pub(crate) fn load_text(record: &StudyRecord, load: &str) -> String {
    let text = place(record, load);
    match text.split_once(' ') {
        Some(("at" | "under" | "after", rest)) => rest.to_owned(),
        _ => text,
    }
}

/// A verdict's word, coloured.
pub(crate) fn painted(verdict: Verdict, style: &Style) -> String {
    style.paint(word(verdict), tint(verdict))
}

pub(crate) fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Invalid => "no result",
        Verdict::Equivalent => "same",
        Verdict::Faster => "faster",
        Verdict::Slower => "slower",
        Verdict::Less => "less",
        Verdict::More => "more",
        Verdict::Inconclusive => "undecided",
    }
}

/// A verdict's class in a page.
pub(crate) fn class(verdict: Verdict) -> String {
    word(verdict).replace(' ', "-")
}

/// The word for a comparison, with the reason if it has fewer blocks than a verdict needs.
pub(crate) fn word_of(comparison: &Comparison) -> &'static str {
    if comparison.too_few_blocks {
        return TOO_FEW_BLOCKS;
    }
    word(comparison.verdict)
}

/// The word for a comparison with fewer blocks than a verdict needs.
pub(crate) const TOO_FEW_BLOCKS: &str = "undecided, too few blocks";

pub(crate) fn is_open(comparison: &Comparison) -> bool {
    comparison.verdict == Verdict::Inconclusive && !comparison.too_few_blocks
}

pub(crate) fn tint(verdict: Verdict) -> Tint {
    match verdict {
        Verdict::Faster | Verdict::Less => Tint::Good,
        Verdict::Equivalent => Tint::Plain,
        Verdict::Inconclusive => Tint::Doubtful,
        Verdict::Slower | Verdict::More | Verdict::Invalid => Tint::Bad,
    }
}

/// Ratio and interval as texts; `None` without an interval.
pub(crate) fn bounds(comparison: &Comparison) -> Option<[String; 3]> {
    comparison.bounds().map(ratios)
}

pub(crate) fn so_far(bounds: Option<[String; 3]>, plain: Option<f64>, verdict: Verdict) -> String {
    match (bounds, plain) {
        (Some([ratio, low, high]), _) => format!("{ratio} ({low} to {high})"),
        (None, _) if verdict == Verdict::Invalid => word(verdict).to_owned(),
        (None, Some(ratio)) => format!("{}, {NO_INTERVAL}", figure(ratio)),
        (None, None) => NO_INTERVAL.to_owned(),
    }
}

pub(crate) fn interval(bounds: &Bounds) -> String {
    let [ratio, low, high] = ratios([bounds.ratio, bounds.low, bounds.high]);
    format!("{ratio} ({low} to {high})")
}

/// The blocks that would settle an undecided comparison at the margin of the study.
fn settling(record: &StudyRecord, comparison: &Comparison) -> String {
    match comparison.blocks_more {
        _ if comparison.too_few_blocks => lacking(record, comparison),
        Some(more) if more > BLOCKS_SHOWN_MAX => would_settle(record, more),
        Some(more) => format!(
            "{} at a margin of {}",
            would_settle(record, more),
            percent(record.measured.settings.margin)
        ),
        None => "the true difference may be larger than the measured one".to_owned(),
    }
}

/// The blocks that a comparison still needs for a verdict, and the flag for them.
pub(crate) fn lacking(record: &StudyRecord, comparison: &Comparison) -> String {
    let fewest = if comparison.metric.is_counted() {
        BLOCKS_MIN
    } else {
        blocks_for_verdict(record.measured.is_ordered())
    };
    let more = fewest.saturating_sub(comparison.blocks).max(1) as u32;
    let flag = more_flag(record, more).map_or_else(String::new, |flag| format!(": use `{flag}`"));
    format!(
        "a verdict needs at least {}{flag}",
        more_blocks(record, more)
    )
}

/// The flag that gives a study like this one this many more blocks; `None` if they would take too
/// long.
pub(crate) fn more_flag(record: &StudyRecord, more: u32) -> Option<String> {
    if more > BLOCKS_SHOWN_MAX {
        return None;
    }
    let measured = &record.measured;
    if measured.is_ordered() {
        let blocks = measured.complete_blocks().count() + more as usize;
        return Some(format!("--blocks {blocks}"));
    }
    let span = measured.elapsed_s + measured.seconds_per_block()? * f64::from(more);
    // Some blocks take a little longer, and a budget is easier to read in round numbers.
    Some(match (1.1 * span).ceil() as u64 {
        seconds @ 0..120 => format!("--budget {}s", seconds.next_multiple_of(10)),
        seconds @ 120..7_200 => format!("--budget {}m", seconds.div_ceil(60)),
        seconds => format!("--budget {}h", seconds.div_ceil(3_600)),
    })
}

/// That this many more blocks would settle a question, or that more blocks are no remedy.
pub(crate) fn would_settle(record: &StudyRecord, more: u32) -> String {
    match more {
        // Estimates above this number are meaningless.
        more if more > BLOCKS_SHOWN_MAX => {
            let most = count(BLOCKS_SHOWN_MAX.into());
            format!("even {most} more blocks would not decide it")
        }
        more => format!("about {} would decide it", more_blocks(record, more)),
    }
}

/// This many more blocks, and the time that they would take at the pace of this study.
pub(crate) fn more_blocks(record: &StudyRecord, more: u32) -> String {
    let blocks = plural(more.into(), "more block");
    let span = record.measured.seconds_per_block().unwrap_or_default() * f64::from(more);
    match Duration::try_from_secs_f64(span) {
        Ok(span) if span > Duration::ZERO => {
            let span = minutes(span).replace(' ', &GLUE.to_string());
            format!("{blocks} ({span})")
        }
        _ => blocks,
    }
}

/// The first line of the first void finding; the list of findings has the rest.
fn void_reason(record: &StudyRecord, comparison: &Comparison) -> String {
    let mut limits = comparison.limits(&record.conclusions.validity);
    void_line(limits.find(|finding| finding.level == Level::Void))
}

/// The first line of a finding's message, for use within a sentence.
pub(crate) fn void_line(void: Option<&Finding>) -> String {
    let message = void.map(message);
    let line = message.as_deref().and_then(|text| text.lines().next());
    line.map_or_else(
        || "in at least one block one of them gave no verified response".to_owned(),
        |line| line.trim_end_matches(['.', ':', ' ']).to_owned(),
    )
}

pub(crate) const BLOCKS_SHOWN_MAX: u32 = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_of_a_recovery_is_always_an_at_least() {
        // Method: decided slower and faster recoveries, which are both "at least", and an
        // undecided one.
        let report = |values: [f64; 3], verdict| recovers(["a", "b"], values, (verdict, true));
        let slower = report([183.0, 182.0, 184.0], Verdict::Slower);
        assert_eq!(
            slower,
            "a takes at least 182× as long as b (183 was measured) to recover"
        );
        let faster = report([0.025, 0.02, 0.04], Verdict::Faster);
        assert_eq!(
            faster,
            "a recovers at least 25.0× as fast as b (40.0 was measured)"
        );
        let open = report([1.5, 0.9, 2.5], Verdict::Inconclusive);
        let message = "a takes 1.50× as long as b (0.90 to 2.50, or beyond) to recover";
        assert_eq!(open, message);
    }
}
