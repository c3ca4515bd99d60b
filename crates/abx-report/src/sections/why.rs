//! Why one subject needs more CPU time than another, from the samples of both: first a sentence,
//! then line by line.

use abx_verdict::{
    Confounder, ConfounderKind, CostDifference, CpuDifference, CpuLedger, CpuSharing,
    LineDifference, Purpose, PurposeDifference, StudyRecord,
};

use super::cost_tables::{
    Decimals, SYSTEM_CALL, count_table, counts_of_one, ledger_table, line_table, names,
    purpose_name, purpose_table, service_table, service_thread_table, shown_name, thread_table,
    threads_of_one,
};
use crate::document::Document;
use crate::words::metrics::{capitalized, cost_unit, shape_under};
use crate::words::style::ReportExtent;
use crate::words::units::{count, listed, plural, whole_percent};
use crate::words::wrap::clean_name;

/// A sentence names lines until they make up this share of the difference.
const NAMED_SHARE: f64 = 0.8;
const NAMED_MAX: usize = 4;
/// [`NAMED_MAX`] if a report explains only one pair of many.
const NAMED_OF_MANY_MAX: usize = 2;
/// A part's library or system call is named if it makes up at least this share of the part.
const CALL_SHARE_MIN: f64 = 0.1;
const CALLS_MAX: usize = 3;
/// A line with less of the difference is not named.
const NAMED_SHARE_MIN: f64 = 0.05;
/// Pairs explained on a terminal. A study with more than [`MANY_PAIRS`] explains one, because the
/// table of many pairs takes most of a screen. So does a brief report of many comparisons.
const PAIRS_MAX: usize = 3;
const MANY_PAIRS: usize = 5;
const MANY_COMPARISONS: usize = 15;
/// Pairs explained on a page, with all of their lines. The record has every pair.
const PAGE_PAIRS_MAX: usize = 30;
/// A note names subjects with a larger share of user code in functions without names.
const WITHOUT_SYMBOLS_MAX: f64 = 0.1;
/// Subjects that this note names.
const UNNAMED_MAX: usize = 3;

/// The number of parts that a pair's sentence names, and the tables below it.
#[derive(Clone, Copy)]
struct Figures {
    named: usize,
    purposes: bool,
    /// The costs of a response other than CPU time.
    work: bool,
    lines: bool,
}

impl Figures {
    const ALL: Figures = Figures {
        named: NAMED_MAX,
        purposes: true,
        work: true,
        lines: true,
    };
}

/// A sentence per pair on why the pairs that differ most do so; nothing unless subjects were
/// sampled. Pairs without a certain part are left out if others have one. A full report adds
/// their figures, and their lines if the pairs are few. A brief report adds figures for a single
/// pair, and leaves the screen to faults if there are several.
pub(crate) fn why(record: &StudyRecord, extent: ReportExtent) -> Document {
    let is_full = extent == ReportExtent::Full;
    if !is_full && record.measured.faults.len() > 1 {
        return Document::default();
    }
    let pairs = explained(record);
    let is_only = record.conclusions.cpu_differences.len() == 1;
    let compared = firsts_and_others(&pairs).0.len();
    let are_few = compared <= PAIRS_MAX;
    let is_crowded = !is_full && record.conclusions.primary().count() > MANY_COMPARISONS;
    let are_many = compared > MANY_PAIRS || is_crowded;
    let figures = Figures {
        named: if are_many {
            NAMED_OF_MANY_MAX
        } else {
            NAMED_MAX
        },
        purposes: is_full || is_only,
        work: (is_full && are_few) || is_only,
        lines: is_full && are_few,
    };
    let most = if are_many { 1 } else { PAIRS_MAX };
    let largest = largest(&pairs, most);
    let mut out = of_pairs(record, &largest, figures, is_full);
    let left_out = pairs.len().min(PAGE_PAIRS_MAX) - largest.len();
    let more_pairs = plural(left_out as u64, "more pair");
    match left_out {
        0 => {}
        // The last line of the report names the page anyway.
        _ if are_many && !is_full => {}
        _ if is_full => out.note(format!(
            "`--html FILE` has all lines, and explains {more_pairs}."
        )),
        _ => out.note(format!("`--html FILE` explains {more_pairs}.")),
    }
    out
}

/// All pairs that a page has room for, with their lines.
pub(crate) fn why_of_page(record: &StudyRecord) -> Document {
    let pairs = explained(record);
    let largest = largest(&pairs, PAGE_PAIRS_MAX);
    let mut out = of_pairs(record, &largest, Figures::ALL, true);
    match pairs.len() - largest.len() {
        0 => {}
        left_out => out.note(format!(
            "The record (`--json FILE`) has {}, with smaller differences.",
            plural(left_out as u64, "more pair")
        )),
    }
    out
}

/// The pairs with a certain part, or all pairs if none has one.
fn explained(record: &StudyRecord) -> Vec<&CpuDifference> {
    let pairs = &record.conclusions.cpu_differences;
    let is_explained = |pair: &&CpuDifference| !named(pair).is_empty();
    let explained: Vec<&CpuDifference> = pairs.iter().filter(is_explained).collect();
    if explained.is_empty() {
        return pairs.iter().collect();
    }
    explained
}

/// For each two subjects the load under which they differ most, and all other differences, each
/// the largest first.
fn firsts_and_others<'a>(
    pairs: &[&'a CpuDifference],
) -> (Vec<&'a CpuDifference>, Vec<&'a CpuDifference>) {
    let mut by_size = pairs.to_vec();
    by_size.sort_by(|a, b| log_ratio(b).total_cmp(&log_ratio(a)));
    let (mut firsts, mut others) = (Vec::<&CpuDifference>::new(), Vec::new());
    for pair in by_size {
        let is_known = firsts.iter().any(|first| names(first) == names(pair));
        if is_known { &mut others } else { &mut firsts }.push(pair);
    }
    (firsts, others)
}

/// At most `most` pairs, in their order. The load under which two subjects differ most has
/// priority over other loads.
fn largest<'a>(pairs: &[&'a CpuDifference], most: usize) -> Vec<&'a CpuDifference> {
    let (firsts, others) = firsts_and_others(pairs);
    let chosen: Vec<_> = firsts.into_iter().chain(others).take(most).collect();
    let pairs = pairs.iter().copied();
    pairs
        .filter(|pair| chosen.iter().any(|other| std::ptr::eq(*other, *pair)))
        .collect()
}

/// The absolute log ratio of the two costs.
fn log_ratio(pair: &CpuDifference) -> f64 {
    let [ours, theirs] = pair.us_per_response;
    (ours / theirs).ln().abs()
}

fn of_pairs(
    record: &StudyRecord,
    pairs: &[&CpuDifference],
    figures: Figures,
    is_full: bool,
) -> Document {
    let conclusions = &record.conclusions;
    let of_starts = Figures {
        purposes: is_full,
        ..figures
    };
    // Without a certain part, only the lines can add to the finding about these starts.
    let starts = conclusions.start_differences.iter();
    let starts = starts.filter(|difference| figures.lines || !named(difference).is_empty());
    let pairs = pairs.iter().map(|pair| (*pair, figures));
    let shown = pairs.chain(starts.map(|difference| (difference, of_starts)));
    let shown: Vec<(&CpuDifference, Figures)> = shown.collect();
    let parts = shown.iter();
    let parts = parts.map(|(difference, figures)| difference_part(record, difference, *figures));
    let mut out = Document::joined(parts);
    if conclusions.cpu_differences.is_empty() {
        let unit = |load: &str| cost_unit(shape_under(record, load));
        out.append(of_one(&conclusions.cpu_ledgers, &unit));
    }
    let ledgers = shown_ledgers(record, &shown);
    if is_full {
        for text in gaps(record, &ledgers) {
            out.note(text);
        }
    }
    let mut differences = shown.iter();
    if differences.any(|(difference, figures)| has_interrupts(difference, *figures))
        && let Some(text) = traffic_of_others(record)
    {
        out.note(text);
    }
    if ledgers.iter().any(|ledger| !ledger.is_kernel_split) {
        out.note(KERNEL_NOT_SPLIT);
    }
    let failure = ledgers
        .iter()
        .find_map(|ledger| ledger.calls_failure.as_ref());
    if let Some(failure) = failure {
        out.note(format!(
            "System calls were not counted: {}. `abx doctor` shows how to allow it.",
            clean_name(failure)
        ));
    }
    if !out.is_empty() && (is_full || figures.purposes) {
        out.note(WHY_LEGEND);
    }
    out
}

/// The ledgers of these differences; all ledgers if no pair was sampled, because each then has a
/// part of its own.
fn shown_ledgers<'a>(
    record: &'a StudyRecord,
    shown: &[(&CpuDifference, Figures)],
) -> Vec<&'a CpuLedger> {
    let conclusions = &record.conclusions;
    let are_all_shown = conclusions.cpu_differences.is_empty();
    let is_shown = |ledger: &&CpuLedger| {
        let mut differences = shown.iter().map(|(difference, _)| difference);
        let is_side = |difference: &&CpuDifference| {
            let sides = [&difference.subject, &difference.baseline];
            difference.load == ledger.load && sides.contains(&&ledger.subject)
        };
        are_all_shown || differences.any(is_side)
    };
    conclusions.cpu_ledgers.iter().filter(is_shown).collect()
}

/// Whether a sentence or a table names the time of interrupts.
fn has_interrupts(difference: &CpuDifference, figures: Figures) -> bool {
    let is_interrupts = |part: &&PurposeDifference| part.purpose == Purpose::Interruptions;
    let mut in_tables = difference.purposes.iter().filter(|_| figures.purposes);
    let mut in_sentence = named(difference).into_iter().take(figures.named);
    in_tables.any(|part| is_interrupts(&part)) || in_sentence.any(|part| is_interrupts(&part))
}

/// A note on the programs that share the servers' CPUs, whose traffic interrupts the servers too;
/// `None` if there are none.
fn traffic_of_others(record: &StudyRecord) -> Option<String> {
    let scope = &record.conclusions.scope;
    let with_generator = scope.cpu_sharing == Some(CpuSharing::Shared);
    // Services run where the servers do.
    let with_services = scope.subject_cpus.is_some() && !record.measured.services.is_empty();
    let others = match (with_generator, with_services) {
        (true, true) => "the generator and services",
        (true, false) => "the generator",
        (false, true) => "services",
        (false, false) => return None,
    };
    Some(format!(
        "The servers share their CPUs with {others}, so their {} include interrupts for other \
         programs' traffic.",
        purpose_name(Purpose::Interruptions)
    ))
}

/// The first pair of a study with its figures by purpose; nothing unless it was sampled.
pub(crate) fn first_why(record: &StudyRecord) -> Document {
    let Some(first) = record.conclusions.cpu_differences.first() else {
        return Document::default();
    };
    let figures = Figures {
        lines: false,
        ..Figures::ALL
    };
    let mut out = difference_part(record, first, figures);
    let mut ledgers = shown_ledgers(record, &[(first, figures)]).into_iter();
    if ledgers.any(|ledger| !ledger.is_kernel_split) {
        out.note(KERNEL_NOT_SPLIT);
    }
    out.explained(WHY_LEGEND)
}

/// The CPU time of servers without a baseline; nothing unless they were sampled. `unit_under` returns
/// the unit whose CPU time is compared under a load.
pub(crate) fn of_one(ledgers: &[CpuLedger], unit_under: &dyn Fn(&str) -> &'static str) -> Document {
    let mut out = Document::default();
    let mut loads = ledgers.iter().map(|ledger| &ledger.load);
    let first = loads.next();
    let are_several = loads.any(|load| Some(load) != first);
    for ledger in ledgers {
        let unit = unit_under(&ledger.load);
        let mut title = format!("CPU time of {}", clean_name(&ledger.subject));
        if are_several {
            title.push_str(&format!(", {}", clean_name(&ledger.load)));
        }
        out.title(title);
        out.table(Some(ledger_table(ledger, unit)), "");
        out.table(threads_of_one(ledger), "");
        let per_unit = format!("per {unit}");
        let work = counts_of_one(&per_unit, &ledger.work, Decimals::OF_COUNTS);
        out.table(work, "");
        let greatest = ledger.waits.first().map_or(0.0, |wait| wait.value);
        let decimals = Decimals::of(greatest);
        let waits = counts_of_one(&format!("µs waited {per_unit}"), &ledger.waits, decimals);
        out.table(waits, "");
    }
    out
}

fn difference_part(record: &StudyRecord, difference: &CpuDifference, figures: Figures) -> Document {
    let [subject, baseline] = names(difference);
    let unit = cost_unit(shape_under(record, &difference.load));
    let mut title = if difference.starts.is_some() {
        format!(
            "Why: starts of {} that differ",
            clean_name(&difference.subject)
        )
    } else {
        format!("Why: {subject} compared with {baseline}")
    };
    if record.measured.loads.len() > 1 {
        title.push_str(&format!(", {}", clean_name(&difference.load)));
    }
    let mut out = Document::default();
    out.title(title);
    let confounders = difference.confounders.iter();
    let confounders = confounders.map(|confounder| confounded(confounder, difference, unit));
    let sentences: Vec<String> = std::iter::once(reason(difference, figures.named, unit))
        .chain(confounders)
        .collect();
    out.paragraph(sentence(sentences.join(" "), difference));
    if figures.purposes {
        out.table(Some(purpose_table(difference, unit)), "");
    }
    if figures.lines {
        out.table(Some(line_table(difference, unit)), "");
        out.table(thread_table(difference), "");
        out.table(service_table(difference, unit), "");
        out.table(service_thread_table(difference), "");
    }
    if figures.work {
        let work = count_table(
            &format!("per {unit}"),
            difference,
            &difference.work,
            Decimals::OF_COUNTS,
        );
        out.table(work, "");
    }
    if figures.lines {
        let waits = difference.waits.iter().flat_map(|wait| wait.values);
        let decimals = Decimals::of(waits.fold(0.0, f64::max));
        let waits = count_table(
            &format!("µs waited per {unit}"),
            difference,
            &difference.waits,
            decimals,
        );
        out.table(waits, "");
    }
    out
}

const KERNEL_NOT_SPLIT: &str = "The kernel's work is one line, because this machine did not let abx \
     sample it by function. `abx doctor` shows the command that allows it.";

const WHY_LEGEND: &str = "A cost is its share of the samples, times the CPU time that the counted \
     slices measured, averaged over blocks. abx took the samples after these slices. All intervals \
     of a table hold together in 95 of 100 studies.";

/// One sentence with the difference and its largest certain parts.
fn reason(difference: &CpuDifference, most: usize, unit: &str) -> String {
    let [subject, baseline] = names(difference);
    let decimals = Decimals::of_sides(difference.us_per_response);
    let micro = |us| decimals.micro(us);
    let [ours, theirs] = difference.us_per_response.map(|us| decimals.show(us));
    let is_more = difference.difference_us.mean > 0.0;
    let ((more, more_us), (less, less_us)) = if is_more {
        ((&subject, &ours), (&baseline, &theirs))
    } else {
        ((&baseline, &theirs), (&subject, &ours))
    };
    let difference_us = difference.difference_us.mean.abs();
    let intro = if decimals.shows_zero(difference_us) {
        format!("{subject} and {baseline} use the same CPU per {unit} ({ours} and {theirs} µs).")
    } else {
        let us = micro(difference_us);
        format!("{more} uses {us} more CPU per {unit} than {less} ({more_us} and {less_us}).")
    };
    let mut named = named(difference);
    named.truncate(most);
    if named.is_empty() {
        return format!("{intro} No single part of the difference is certain.");
    }
    let side = usize::from(is_more);
    let parts_us = named.iter().map(|part| part.cost.difference_us.mean.abs());
    let rest_us = parts_us.sum::<f64>() - difference_us;
    let cause = |part: &&PurposeDifference| cause(part, difference, side, less);
    if rest_us > 0.0 && !decimals.shows_zero(rest_us) {
        let parts = named.iter().map(|part| {
            let more = micro(part.cost.difference_us.mean.abs());
            format!("{more} more for {}", cause(part))
        });
        let parts = listed(&parts.collect::<Vec<_>>());
        let rest_us = micro(rest_us);
        let who = if decimals.shows_zero(difference_us) {
            more
        } else {
            "It"
        };
        return format!(
            "{intro} {who} uses {parts}, and {rest_us} less for all the rest together."
        );
    }
    let parts = named.iter().map(|part| {
        let share = whole_percent(part.cost.share.unwrap_or_default());
        format!("{share} is {}", cause(part))
    });
    let parts = listed(&parts.collect::<Vec<_>>());
    format!("{intro} Of the difference, {parts}.")
}

/// The certain purposes that make up the most of the difference.
fn named(difference: &CpuDifference) -> Vec<&PurposeDifference> {
    most_of(&difference.purposes, |part| &part.cost)
}

/// The certain parts that make up the most of a difference, of parts in descending order.
fn most_of<T>(parts: &[T], cost: fn(&T) -> &CostDifference) -> Vec<&T> {
    let mut named = Vec::new();
    let mut covered = 0.0;
    let certain = parts.iter().filter(|part| cost(part).is_certain());
    for part in certain.filter(|part| cost(part).share >= Some(NAMED_SHARE_MIN)) {
        if covered >= NAMED_SHARE || named.len() == NAMED_MAX {
            break;
        }
        covered += cost(part).share.unwrap_or_default();
        named.push(part);
    }
    named
}

/// A part with the libraries or system calls that make up most of it. It adds whether the cheaper
/// side makes no such call, or has no sample of them if calls were not counted.
fn cause(
    part: &PurposeDifference,
    difference: &CpuDifference,
    cheaper: usize,
    less: &str,
) -> String {
    let direction = difference.difference_us.mean.signum();
    let is_libraries = part.purpose == Purpose::Libraries;
    let lines = difference.lines.iter().filter(|line| {
        let more = line.cost.difference_us.mean * direction;
        line.purpose == part.purpose
            && (is_libraries || line.name.starts_with(SYSTEM_CALL))
            && more >= CALL_SHARE_MIN * part.cost.difference_us.mean.abs()
    });
    let lines: Vec<&LineDifference> = lines.take(CALLS_MAX).collect();
    let name = purpose_name(part.purpose);
    if lines.is_empty() {
        return name.to_owned();
    }
    let shown: Vec<String> = lines.iter().map(|line| shown_name(&line.name)).collect();
    let calls = |line: &&LineDifference| {
        let call = line.name.strip_prefix(SYSTEM_CALL)?;
        let mut counted = difference.system_calls.iter();
        let counted = counted.find(|count| count.name == call)?;
        Some(counted.values[cheaper])
    };
    let counted: Vec<Option<f64>> = lines.iter().map(calls).collect();
    let has_samples = lines
        .iter()
        .any(|line| line.cost.us_per_response[cheaper] > 0.0);
    // Rare calls may have no sample.
    let avoided = if has_samples || counted.iter().any(|calls| *calls > Some(0.0)) {
        String::new()
    } else if counted.iter().all(Option::is_some) {
        format!(", which {less} does not call")
    } else {
        format!(", of which {less} has no sample")
    };
    format!("{name} ({}{avoided})", listed(&shown))
}

/// A difference between the responses themselves, or in the work of services, which is no merit of
/// either server. The side with more CPU time comes first.
fn confounded(confounder: &Confounder, difference: &CpuDifference, unit: &str) -> String {
    let mut per_response = confounder.per_response;
    if let (ConfounderKind::ServiceCpu, Some(services)) = (confounder.what, &difference.services) {
        // The sampled blocks, whose lines add up to it.
        per_response = services.us_per_response;
    }
    let values = costlier_first(per_response, difference);
    let differ = |what: &str, times: f64, unit: &str| {
        let [costlier, cheaper] = values.map(|value| count((value * times).round() as u64));
        format!("The {what} differ: {costlier} and {cheaper} {unit}.")
    };
    let bytes = format!("bytes per {unit}");
    match confounder.what {
        ConfounderKind::Failures => {
            let [costlier, cheaper] = values.map(whole_percent);
            format!("{costlier} and {cheaper} of the {unit}s failed a check.")
        }
        ConfounderKind::BodyBytes => differ("bodies", 1.0, &bytes),
        ConfounderKind::HeaderBytes => differ("headers", 1.0, &bytes),
        ConfounderKind::Connections => differ("connections", 1e3, &format!("per 1,000 {unit}s")),
        ConfounderKind::ServiceCpu => {
            let decimals = Decimals::of_sides(values);
            let [costlier, cheaper] = values.map(|us| decimals.show(us));
            let parts = service_parts(difference, decimals);
            format!(
                "In addition, services use {costlier} and {cheaper} µs of CPU per {unit}{parts}."
            )
        }
    }
}

/// The certain lines that make up the most of what services cost one side more than the other, with
/// the costs of both: the side whose own CPU time is larger comes first.
fn service_parts(difference: &CpuDifference, decimals: Decimals) -> String {
    let Some(services) = &difference.services else {
        return String::new();
    };
    let parts = most_of(&services.lines, |line| &line.cost).into_iter();
    let parts = parts.map(|line| {
        let [costlier, cheaper] =
            costlier_first(line.cost.us_per_response, difference).map(|us| decimals.show(us));
        format!("{} {costlier} and {cheaper}", shown_name(&line.name))
    });
    let parts = parts.collect::<Vec<_>>().join(", ");
    if parts.is_empty() {
        parts
    } else {
        format!(": {parts}")
    }
}

/// The values of subject and baseline, that of the side with more CPU time first.
fn costlier_first([subject, baseline]: [f64; 2], difference: &CpuDifference) -> [f64; 2] {
    if difference.difference_us.mean > 0.0 {
        [subject, baseline]
    } else {
        [baseline, subject]
    }
}

/// Notes on samples that these ledgers lack, for each subject with any.
fn gaps(record: &StudyRecord, ledgers: &[&CpuLedger]) -> Vec<String> {
    let notes = record.measured.subjects.iter().filter_map(|subject| {
        let of_subject = ledgers.iter().copied();
        let of_subject = of_subject.filter(|ledger| ledger.subject == subject.name);
        let of_subject: Vec<&CpuLedger> = of_subject.collect();
        let mut gaps = Vec::new();
        let total = |counter: fn(&CpuLedger) -> u64| {
            let counts = of_subject.iter().map(|ledger| counter(ledger));
            counts.fold(0, u64::saturating_add)
        };
        let lost = total(|ledger| ledger.lost);
        if lost > 0 {
            // This includes lost samples of other programs on the same CPUs.
            let was = if lost == 1 { "was" } else { "were" };
            gaps.push(format!("up to {} {was} lost", plural(lost, "sample")));
        }
        let throttled = total(|ledger| ledger.throttled);
        if throttled > 0 {
            gaps.push(format!(
                "the kernel suspended sampling {}, because it took too much CPU time",
                plural(throttled, "time")
            ));
        }
        let left_out = of_subject.iter().map(|ledger| ledger.threads_left_out);
        let left_out = left_out.fold(0, u64::max);
        if left_out > 0 {
            let was = if left_out == 1 { "was" } else { "were" };
            gaps.push(format!(
                "{} with the least CPU time {was} not sampled",
                plural(left_out, "thread")
            ));
        }
        let partly = of_subject
            .iter()
            .find(|ledger| (1..ledger.blocks).contains(&ledger.blocks_with_calls));
        if let Some(ledger) = partly {
            gaps.push(format!(
                "system calls were counted in {} of {} blocks",
                ledger.blocks_with_calls, ledger.blocks
            ));
        }
        let (first, others) = gaps.split_first()?;
        let others = others.iter().map(|gap| format!(" {}.", capitalized(gap)));
        let others: String = others.collect();
        Some(format!("{}: {first}.{others}", clean_name(&subject.name)))
    });
    notes.chain(unnamed_functions(record, ledgers)).collect()
}

/// The subjects with much user code in functions without names, and its largest share under any
/// load; the largest shares first.
fn unnamed_functions(record: &StudyRecord, ledgers: &[&CpuLedger]) -> Option<String> {
    let shares = record.measured.subjects.iter().filter_map(|subject| {
        let share = ledgers
            .iter()
            .filter(|ledger| ledger.subject == subject.name)
            .filter_map(|ledger| ledger.without_symbols)
            .fold(0.0, f64::max);
        (share > WITHOUT_SYMBOLS_MAX).then_some((share, &subject.name))
    });
    let mut shares: Vec<(f64, &String)> = shares.collect();
    shares.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let mut texts: Vec<String> = shares
        .iter()
        .take(UNNAMED_MAX)
        .map(|(share, name)| format!("{} of {}", whole_percent(*share), clean_name(name)))
        .collect();
    match shares.len() - texts.len() {
        0 => {}
        left_out => texts.push(format!("smaller shares of {left_out} more")),
    }
    (!texts.is_empty()).then(|| {
        format!(
            "Functions have no names in up to {} (shares of user code). Install debug symbols, or \
             have the runtime write a perf map.",
            listed(&texts)
        )
    })
}

/// The text with a capital letter, unless it begins with the name of a subject.
fn sentence(text: String, difference: &CpuDifference) -> String {
    match text.strip_prefix("the ") {
        Some(rest) if difference.starts.is_some() => format!("The {rest}"),
        _ => text,
    }
}
