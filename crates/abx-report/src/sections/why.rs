//! Why one subject needs more CPU time than another: what the samples of both show, first in
//! a sentence, then line by line.

use abx_verdict::{
    Confounder, ConfounderKind, CostDifference, CpuDifference, CpuLedger, LedgerLine,
    LineDifference, MeanInterval, Purpose, PurposeDifference, StudyRecord,
};

use crate::document::{Document, Table};
use crate::words::style::ReportExtent;
use crate::words::units::{GLUE, UNKNOWN, count, whole_percent};
use crate::words::wrap::{clean_name, shorten};

/// Lines below this share of the more costly subject's total are shown together.
const SHOWN_SHARE_MIN: f64 = 0.01;
/// A sentence names lines until they make up this share of the difference.
const NAMED_SHARE: f64 = 0.8;
const NAMED_MAX: usize = 4;
/// Of a part, system calls are named that make at least this share of it.
const CALL_SHARE_MIN: f64 = 0.1;
const CALLS_MAX: usize = 3;
/// A line with less of the difference is not named.
const NAMED_SHARE_MIN: f64 = 0.05;
/// Samples may miss this share of user code's functions without a word.
const WITHOUT_SYMBOLS_MAX: f64 = 0.1;

/// The answer for each pair in a sentence, with the figures behind it; nothing unless subjects
/// were sampled. A brief report has figures if there is one pair under one load.
pub(crate) fn why(record: &StudyRecord, extent: ReportExtent) -> Document {
    let conclusions = &record.conclusions;
    let is_full = extent == ReportExtent::Full;
    let is_only = conclusions.cpu_differences.len() == 1;
    let pairs = conclusions.cpu_differences.iter();
    let pairs = pairs.map(|pair| difference_part(record, pair, is_full, is_full || is_only));
    let starts = conclusions.start_differences.iter();
    let starts = starts.map(|starts| difference_part(record, starts, is_full, is_full));
    let mut out = Document::joined(pairs.chain(starts));
    if conclusions.cpu_differences.is_empty() {
        out.append(of_one(&conclusions.cpu_ledgers));
    }
    if is_full {
        gaps(record).into_iter().for_each(|text| out.note(text));
    }
    let ledgers = &conclusions.cpu_ledgers;
    if ledgers.iter().any(|ledger| !ledger.is_kernel_split) {
        out.note(KERNEL_NOT_SPLIT);
    }
    if !out.is_empty() && (is_full || is_only) {
        out.note(WHY_LEGEND);
    }
    out
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
    let is_avoided = calls
        .iter()
        .all(|line| line.cost.us_per_response[cheaper] == 0.0);
    let avoided = if is_avoided {
        format!(", which {less} does not call")
    } else {
        String::new()
    };
    format!("{name} ({}{avoided})", listed(&shown))
}

pub(crate) fn purpose_name(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::OwnCode => "own code",
        Purpose::Libraries => "libraries",
        Purpose::Sending => "sending",
        Purpose::Receiving => "receiving",
        Purpose::Files => "files",
        Purpose::Waiting => "waiting for events",
        Purpose::Connections => "connections",
        Purpose::Locks => "locks",
        Purpose::Memory => "memory",
        Purpose::Interruptions => "interrupts, scheduling",
        Purpose::Others => "other kernel work",
        Purpose::WholeKernel => "the kernel, not split",
    }
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

/// A row for each purpose.
fn purpose_table(difference: &CpuDifference) -> Table {
    let parts = difference.purposes.iter();
    let parts = parts.map(|part| (purpose_name(part.purpose).to_owned(), &part.cost));
    difference_table(difference, parts.collect())
}

/// A row for each line.
fn line_table(difference: &CpuDifference) -> Table {
    let lines = difference.lines.iter();
    let lines = lines.map(|line| (shown_name(&line.name), &line.cost));
    difference_table(difference, lines.collect())
}

fn difference_table(difference: &CpuDifference, parts: Vec<(String, &CostDifference)>) -> Table {
    let [subject, baseline] = match difference.starts {
        Some(starts) => starts.map(starts_of),
        None => names(difference).map(|name| shorten(&name, NAME_MAX)),
    };
    let greatest = difference.us_per_response.into_iter().fold(0.0, f64::max);
    let is_shown = |(_, cost): &(String, &CostDifference)| {
        let [ours, theirs] = cost.us_per_response;
        ours.max(theirs) >= SHOWN_SHARE_MIN * greatest
    };
    let (shown, others): (Vec<_>, Vec<_>) = parts.into_iter().partition(is_shown);
    let mut rows: Vec<[String; 5]> = shown
        .into_iter()
        .map(|(name, cost)| difference_row(name, cost.us_per_response, &cost.difference_us))
        .collect();
    if !others.is_empty() {
        let sum = |amount: &dyn Fn(&CostDifference) -> f64| -> f64 {
            others.iter().map(|(_, cost)| amount(cost)).sum()
        };
        let costs = [0, 1].map(|side| sum(&|cost| cost.us_per_response[side]));
        let rest = MeanInterval {
            mean: sum(&|cost| cost.difference_us.mean),
            low: None,
            high: None,
        };
        rows.push(difference_row("others".to_owned(), costs, &rest));
    }
    rows.push(difference_row(
        "total".to_owned(),
        difference.us_per_response,
        &difference.difference_us,
    ));
    let headers = [
        "CPU µs per response".to_owned(),
        baseline,
        subject,
        "difference".to_owned(),
        "95 % interval".to_owned(),
    ];
    Table::new(headers, rows)
}

fn difference_row(name: String, [ours, theirs]: [f64; 2], apart: &MeanInterval) -> [String; 5] {
    let ends = apart.low.zip(apart.high);
    [
        name,
        us(theirs),
        us(ours),
        signed(apart.mean),
        interval(ends),
    ]
}

/// A row for each line of one subject that is no trifle.
fn ledger_table(ledger: &CpuLedger) -> Table {
    let is_shown =
        |line: &&LedgerLine| line.us_per_response >= SHOWN_SHARE_MIN * ledger.us_per_response;
    let (shown, others): (Vec<_>, Vec<_>) = ledger.lines.iter().partition(is_shown);
    let share = |cost: f64| whole_percent(cost / ledger.us_per_response);
    let mut rows: Vec<[String; 4]> = shown
        .into_iter()
        .map(|line| {
            let functions = line
                .functions
                .iter()
                .map(|function| clean_name(&function.name));
            [
                shown_name(&line.name),
                us(line.us_per_response),
                share(line.us_per_response),
                shorten(&functions.collect::<Vec<_>>().join(", "), FUNCTIONS_COLUMNS),
            ]
        })
        .collect();
    if !others.is_empty() {
        let sum: f64 = others.iter().map(|line| line.us_per_response).sum();
        let name = format!("{} other lines", others.len());
        rows.push([name, us(sum), share(sum), String::new()]);
    }
    rows.push([
        "total".to_owned(),
        us(ledger.us_per_response),
        whole_percent(1.0),
        String::new(),
    ]);
    Table::new(["CPU µs per response", "µs", "share", "most in"], rows)
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

/// Both sides, as a sentence in the singular begins with them.
fn names(difference: &CpuDifference) -> [String; 2] {
    match difference.starts {
        Some(starts) => starts.map(|count| format!("the group of {}", starts_of(count))),
        None => [&difference.subject, &difference.baseline].map(|name| clean_name(name)),
    }
}

fn starts_of(count: usize) -> String {
    match count {
        1 => "1 start".to_owned(),
        count => format!("{count} starts"),
    }
}

/// The same with a capital letter, unless it is a name.
fn sentence(text: String, difference: &CpuDifference) -> String {
    match text.strip_prefix("the ") {
        Some(rest) if difference.starts.is_some() => format!("The {rest}"),
        _ => text,
    }
}

const SYSTEM_CALL: &str = "system call ";
const NAME_MAX: usize = 14;
const FUNCTIONS_COLUMNS: usize = 32;

/// A line's name without what its kind is plain from.
fn shown_name(name: &str) -> String {
    let short = name.strip_prefix(SYSTEM_CALL);
    let short = short.or_else(|| name.strip_prefix("user ")).unwrap_or(name);
    shorten(&clean_name(short), NAME_COLUMNS)
}

const NAME_COLUMNS: usize = 28;

fn us(us: f64) -> String {
    format!("{us:.2}")
}

pub(crate) fn micro(value: f64) -> String {
    format!("{}{GLUE}µs", us(value))
}

fn signed(us: f64) -> String {
    format!("{us:+.2}").replace('-', "\u{2212}")
}

fn interval(ends: Option<(f64, f64)>) -> String {
    let text = ends.map(|(low, high)| format!("{} to {}", signed(low), signed(high)));
    text.unwrap_or_else(|| UNKNOWN.to_owned())
}

/// `a`, `a and b`, `a, b and c`.
fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
