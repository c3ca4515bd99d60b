//! Why one subject needs more CPU time than another: what the samples of both show, first in
//! a sentence, then line by line.

use abx_verdict::{
    Confounder, ConfounderKind, CpuDifference, CpuLedger, LineDifference, PurposeDifference,
    StudyRecord,
};

use super::cost_tables::{
    SYSTEM_CALL, count_table, counts_of_one, ledger_table, line_table, micro, names, purpose_name,
    purpose_table, shown_name, us,
};
use crate::document::Document;
use crate::words::style::ReportExtent;
use crate::words::units::{count, whole_percent};
use crate::words::wrap::clean_name;

/// A sentence names lines until they make up this share of the difference.
const NAMED_SHARE: f64 = 0.8;
const NAMED_MAX: usize = 4;
/// Of a part, system calls are named that make at least this share of it.
const CALL_SHARE_MIN: f64 = 0.1;
const CALLS_MAX: usize = 3;
/// A line with less of the difference is not named.
const NAMED_SHARE_MIN: f64 = 0.05;
/// So many pairs have an answer in a brief report, and lines in a full one: those that differ most.
const PAIRS_MAX: usize = 4;
/// Samples may miss this share of user code's functions without a word.
const WITHOUT_SYMBOLS_MAX: f64 = 0.1;

/// The answer for each pair in a sentence, with the figures behind it; nothing unless subjects
/// were sampled. A brief report has figures if there is one pair under one load. Pairs without a
/// certain part are left out if others have one. Of many pairs, a brief report has those that
/// differ most, and a full one their lines.
pub(crate) fn why(record: &StudyRecord, extent: ReportExtent) -> Document {
    of_pairs(record, extent == ReportExtent::Full, PAIRS_MAX)
}

/// The same with the lines of every pair.
pub(crate) fn every_why(record: &StudyRecord) -> Document {
    of_pairs(record, true, usize::MAX)
}

fn of_pairs(record: &StudyRecord, is_full: bool, pairs_max: usize) -> Document {
    let conclusions = &record.conclusions;
    let is_only = conclusions.cpu_differences.len() == 1;
    let is_explained = |pair: &CpuDifference| !named(pair).is_empty();
    let are_all_shown = !conclusions.cpu_differences.iter().any(is_explained);
    let pairs = conclusions.cpu_differences.iter();
    let pairs: Vec<_> = pairs
        .filter(|pair| are_all_shown || is_explained(pair))
        .collect();
    let more = pairs.len().saturating_sub(pairs_max);
    let least = least_shown(&pairs, pairs_max);
    let is_large = |pair: &CpuDifference| log_ratio(pair) >= least;
    let pairs = pairs
        .into_iter()
        .filter(|pair| is_full || is_large(pair))
        .map(|pair| difference_part(record, pair, is_full && is_large(pair), is_full || is_only));
    let starts = conclusions.start_differences.iter();
    let starts = starts.map(|starts| difference_part(record, starts, is_full, is_full));
    let mut out = Document::joined(pairs.chain(starts));
    if conclusions.cpu_differences.is_empty() {
        out.append(of_one(&conclusions.cpu_ledgers));
    }
    if more > 0 {
        out.note(if is_full {
            format!("Lines are of the {pairs_max} pairs that differ most; `--html FILE` has all.")
        } else {
            format!("`--full` explains {more} more.")
        });
    }
    if is_full {
        gaps(record).into_iter().for_each(|text| out.note(text));
    }
    let ledgers = &conclusions.cpu_ledgers;
    if ledgers.iter().any(|ledger| !ledger.is_kernel_split) {
        out.note(KERNEL_NOT_SPLIT);
    }
    let failure = ledgers
        .iter()
        .find_map(|ledger| ledger.calls_failure.as_ref());
    if let Some(failure) = failure {
        out.note(format!(
            "System calls were not counted: {}. `abx doctor` shows what allows it.",
            clean_name(failure)
        ));
    }
    if !out.is_empty() && (is_full || is_only) {
        out.note(WHY_LEGEND);
    }
    out
}

/// How far apart two costs are, whichever is larger.
fn log_ratio(pair: &CpuDifference) -> f64 {
    let [ours, theirs] = pair.us_per_response;
    (ours / theirs).ln().abs()
}

/// What pairs must differ by for at most so many of them to be shown.
fn least_shown(pairs: &[&CpuDifference], pairs_max: usize) -> f64 {
    let mut ratios: Vec<f64> = pairs.iter().map(|pair| log_ratio(pair)).collect();
    ratios.sort_by(|one, other| other.total_cmp(one));
    let last = ratios.len().min(pairs_max).checked_sub(1);
    last.map_or(0.0, |last| ratios[last])
}

/// The first pair of a study with its figures by purpose; nothing unless it was sampled.
pub(crate) fn first_why(record: &StudyRecord) -> Document {
    let Some(first) = record.conclusions.cpu_differences.first() else {
        return Document::default();
    };
    let mut out = difference_part(record, first, false, true);
    let mut ledgers = record.conclusions.cpu_ledgers.iter();
    if ledgers.any(|ledger| !ledger.is_kernel_split) {
        out.note(KERNEL_NOT_SPLIT);
    }
    out.explained(WHY_LEGEND)
}

/// Where the CPU time of a server goes that is compared with nothing; nothing unless it was
/// sampled.
pub(crate) fn of_one(ledgers: &[CpuLedger]) -> Document {
    let mut out = Document::default();
    for ledger in ledgers {
        out.heading(format!("CPU time of {}", clean_name(&ledger.subject)));
        out.table(Some(ledger_table(ledger)), "");
        out.table(counts_of_one("per response", &ledger.work), "");
        out.table(counts_of_one("µs waited per response", &ledger.waits), "");
    }
    out
}

fn difference_part(
    record: &StudyRecord,
    difference: &CpuDifference,
    has_lines: bool,
    has_purposes: bool,
) -> Document {
    let [subject, baseline] = names(difference);
    let mut heading = if difference.starts.is_some() {
        format!(
            "Why: starts of {} that differ",
            clean_name(&difference.subject)
        )
    } else {
        format!("Why: {subject} compared with {baseline}")
    };
    if record.measured.loads.len() > 1 {
        heading.push_str(&format!(", {}", clean_name(&difference.load)));
    }
    let mut out = Document::default();
    out.heading(heading);
    let confounders = difference.confounders.iter();
    let confounders = confounders.map(|confounder| confounded(confounder, difference));
    let sentences: Vec<String> = std::iter::once(reason(difference))
        .chain(confounders)
        .collect();
    out.paragraph(sentence(sentences.join(" "), difference));
    if has_purposes {
        out.table(Some(purpose_table(difference)), "");
    }
    if has_lines {
        out.table(Some(line_table(difference)), "");
    }
    if has_purposes {
        out.table(
            count_table("per response", difference, &difference.work),
            "",
        );
    }
    if has_lines {
        let waits = count_table("µs waited per response", difference, &difference.waits);
        out.table(waits, "");
    }
    out
}

const KERNEL_NOT_SPLIT: &str = "The kernel's work is one line, because this machine did not let abx \
     sample it by function. `abx doctor` shows the command that allows it.";

const WHY_LEGEND: &str = "CPU µs per response, by samples taken after the counted slices: each \
     line's share of the samples, times the CPU time per response that the counted slices \
     measured. Intervals are over blocks; those of one table hold together.";

/// What is certain, in one sentence of counted facts.
fn reason(difference: &CpuDifference) -> String {
    let [subject, baseline] = names(difference);
    let [ours, theirs] = difference.us_per_response.map(us);
    let is_more = difference.difference_us.mean > 0.0;
    let ((more, more_us), (less, less_us)) = if is_more {
        ((&subject, ours), (&baseline, theirs))
    } else {
        ((&baseline, theirs), (&subject, ours))
    };
    let intro = format!(
        "{more} uses {} more CPU per response than {less} ({more_us} and {less_us}).",
        micro(difference.difference_us.mean.abs())
    );
    let named = named(difference);
    if named.is_empty() {
        return format!("{intro} No part of it differs with certainty.");
    }
    let side = usize::from(is_more);
    let shares: f64 = named.iter().filter_map(|part| part.cost.share).sum();
    let cause = |part: &&PurposeDifference| cause(part, difference, side, less);
    if shares > 1.0 {
        let parts = named.iter().map(|part| {
            let more = micro(part.cost.difference_us.mean.abs());
            format!("{more} for {}", cause(part))
        });
        let parts = listed(&parts.collect::<Vec<_>>());
        return format!("{intro} It uses {parts}, and less for others.");
    }
    let parts = named.iter().map(|part| {
        let share = whole_percent(part.cost.share.unwrap_or_default());
        format!("{share} is {}", cause(part))
    });
    let parts = listed(&parts.collect::<Vec<_>>());
    format!("{intro} Of the difference, {parts}.")
}

/// The certain parts that make up the most of the difference.
fn named(difference: &CpuDifference) -> Vec<&PurposeDifference> {
    let mut named = Vec::new();
    let mut covered = 0.0;
    let certain = difference
        .purposes
        .iter()
        .filter(|part| part.cost.is_certain());
    for part in certain.filter(|part| part.cost.share >= Some(NAMED_SHARE_MIN)) {
        if covered >= NAMED_SHARE || named.len() == NAMED_MAX {
            break;
        }
        covered += part.cost.share.unwrap_or_default();
        named.push(part);
    }
    named
}

/// A part with the system calls that make the most of it, and whether the cheaper side makes
/// none of these.
fn cause(
    part: &PurposeDifference,
    difference: &CpuDifference,
    cheaper: usize,
    less: &str,
) -> String {
    let direction = difference.difference_us.mean.signum();
    let lines = difference.lines.iter();
    let calls = lines.filter(|line| {
        let more = line.cost.difference_us.mean * direction;
        line.purpose == part.purpose
            && line.name.starts_with(SYSTEM_CALL)
            && more >= CALL_SHARE_MIN * part.cost.difference_us.mean.abs()
    });
    let calls: Vec<&LineDifference> = calls.take(CALLS_MAX).collect();
    let name = purpose_name(part.purpose);
    if calls.is_empty() {
        return name.to_owned();
    }
    let shown: Vec<String> = calls.iter().map(|line| shown_name(&line.name)).collect();
    let is_avoided = calls.iter().all(|line| {
        let calls = line.name.strip_prefix(SYSTEM_CALL);
        let mut counted = difference.system_calls.iter();
        let counted = counted.find(|count| Some(count.name.as_str()) == calls);
        // A few calls may have no sample.
        line.cost.us_per_response[cheaper] == 0.0
            && counted.is_none_or(|count| count.values[cheaper] == 0.0)
    });
    let avoided = if is_avoided {
        format!(", which {less} does not call")
    } else {
        String::new()
    };
    format!("{name} ({}{avoided})", listed(&shown))
}

/// A difference between the responses themselves, which is no merit of either server.
fn confounded(confounder: &Confounder, difference: &CpuDifference) -> String {
    let [subject, baseline] = names(difference);
    let [ours, theirs] = confounder.per_response;
    match confounder.what {
        ConfounderKind::BodyBytes => format!(
            "The bodies differ: {} bytes from {subject}, {} from {baseline}.",
            count(ours.round() as u64),
            count(theirs.round() as u64)
        ),
        ConfounderKind::HeaderBytes => format!(
            "The headers differ: {} bytes per response from {subject}, {} from {baseline}.",
            count(ours.round() as u64),
            count(theirs.round() as u64)
        ),
        ConfounderKind::Connections => format!(
            "Connections differ: {subject} needs {} per 1,000 responses, {baseline} {}.",
            count((ours * 1e3).round() as u64),
            count((theirs * 1e3).round() as u64)
        ),
    }
}

/// What the samples do not show of each subject, over all loads, if that is much.
fn gaps(record: &StudyRecord) -> Vec<String> {
    let ledgers = &record.conclusions.cpu_ledgers;
    let each = record.measured.subjects.iter().filter_map(|subject| {
        let own: Vec<&CpuLedger> = ledgers
            .iter()
            .filter(|ledger| ledger.subject == subject.name)
            .collect();
        let mut gaps = Vec::new();
        let total = |of: fn(&CpuLedger) -> u64| {
            let counts = own.iter().map(|ledger| of(ledger));
            counts.fold(0, u64::saturating_add)
        };
        let lost = total(|ledger| ledger.lost);
        if lost > 0 {
            gaps.push(format!("{} samples were lost", count(lost)));
        }
        let throttled = total(|ledger| ledger.throttled);
        if throttled > 0 {
            gaps.push(format!(
                "the kernel suspended sampling {} times, because it took too much CPU time",
                count(throttled)
            ));
        }
        let left_out = own.iter().map(|ledger| ledger.threads_left_out);
        let left_out = left_out.fold(0, u64::max);
        if left_out > 0 {
            gaps.push(format!(
                "{} of its threads were not sampled, those that had used the least CPU time",
                count(left_out)
            ));
        }
        let unnamed = own.iter().filter_map(|ledger| ledger.without_symbols);
        let unnamed = unnamed.fold(0.0, f64::max);
        if unnamed > WITHOUT_SYMBOLS_MAX {
            gaps.push(format!(
                "functions of up to {} of its user code have no names (install its debug \
                 symbols, or have its runtime write a perf map)",
                whole_percent(unnamed)
            ));
        }
        (!gaps.is_empty()).then(|| format!("{}: {}.", clean_name(&subject.name), gaps.join("; ")))
    });
    each.collect()
}

/// The same with a capital letter, unless it is a name.
fn sentence(text: String, difference: &CpuDifference) -> String {
    match text.strip_prefix("the ") {
        Some(rest) if difference.starts.is_some() => format!("The {rest}"),
        _ => text,
    }
}

/// `a`, `a and b`, `a, b and c`.
fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
