//! Tables of the CPU time and the other costs of a response.

use abx_verdict::{
    CostDifference, Count, CountDifference, CpuDifference, CpuLedger, LedgerLine, MeanInterval,
    Purpose, ServiceDifference,
};

use crate::document::Table;
use crate::words::units::{GLUE, fixed, or_unknown, plural, whole_percent};
use crate::words::wrap::{clean_name, shorten};

/// Lines below this share of the more costly subject's total are shown together.
const SHOWN_SHARE_MIN: f64 = 0.01;

/// A row for each purpose.
pub(super) fn purpose_table(difference: &CpuDifference, unit: &str) -> Table {
    let parts = difference.purposes.iter();
    let parts = parts.map(|part| (purpose_name(part.purpose).to_owned(), &part.cost, None));
    let whole = Whole::of(difference, format!("CPU µs per {unit}"));
    difference_table(difference, whole, parts.collect(), false).captioned("CPU time by purpose")
}

/// A row for each line of services, which are no part of the other tables; `None` unless services
/// were sampled.
pub(super) fn service_table(difference: &CpuDifference, unit: &str) -> Option<Table> {
    let services = difference.services.as_ref()?;
    let whole = Whole::of_services(services, format!("µs of services per {unit}"));
    let parts = services.lines.iter();
    let parts = parts.map(|line| (shown_name(&line.name), &line.cost, None));
    let table = difference_table(difference, whole, parts.collect(), false);
    Some(table.captioned("CPU time of services by line"))
}

/// A row for each line, with the system calls of both sides if they were counted.
pub(super) fn line_table(difference: &CpuDifference, unit: &str) -> Table {
    let calls = |name: &str| {
        let name = name.strip_prefix(SYSTEM_CALL)?;
        let mut calls = difference.system_calls.iter();
        calls.find(|call| call.name == name).map(|call| call.values)
    };
    let lines = difference.lines.iter();
    let lines = lines.map(|line| (shown_name(&line.name), &line.cost, calls(&line.name)));
    let are_counted = !difference.system_calls.is_empty();
    let whole = Whole::of(difference, format!("CPU µs per {unit}"));
    difference_table(difference, whole, lines.collect(), are_counted).captioned("CPU time by line")
}

/// A row for each thread's name; `None` unless a side has several.
pub(super) fn thread_table(difference: &CpuDifference) -> Option<Table> {
    let whole = Whole::of(difference, "CPU µs by thread".to_owned());
    let table = table_of_threads(difference, whole, &difference.threads)?;
    Some(table.captioned("CPU time by thread"))
}

/// A row for each name of a service's thread; `None` unless there are several.
pub(super) fn service_thread_table(difference: &CpuDifference) -> Option<Table> {
    let services = difference.services.as_ref()?;
    let whole = Whole::of_services(services, "µs of services by thread".to_owned());
    let table = table_of_threads(difference, whole, &services.threads)?;
    Some(table.captioned("CPU time of services by thread"))
}

fn table_of_threads(
    difference: &CpuDifference,
    whole: Whole<'_>,
    threads: &[CountDifference],
) -> Option<Table> {
    let are_several = [0, 1].iter().any(|side| {
        let least_us = SHOWN_SHARE_MIN * whole.us_per_response[*side];
        let threads = threads.iter();
        threads
            .filter(|thread| thread.values[*side] > least_us)
            .count()
            > 1
    });
    let costs = threads.iter().map(|thread| CostDifference {
        us_per_response: thread.values,
        difference_us: thread.difference,
        share: None,
    });
    let costs: Vec<CostDifference> = costs.collect();
    let parts = threads.iter().zip(&costs);
    let parts = parts.map(|(thread, cost)| (thread_name(&thread.name), cost, None));
    are_several.then(|| difference_table(difference, whole, parts.collect(), false))
}

/// What a table's parts add up to.
struct Whole<'a> {
    /// The header of the first column.
    what: String,
    us_per_response: [f64; 2],
    difference_us: &'a MeanInterval,
}

impl Whole<'_> {
    /// The CPU time of the two subjects themselves.
    fn of(difference: &CpuDifference, what: String) -> Whole<'_> {
        Whole {
            what,
            us_per_response: difference.us_per_response,
            difference_us: &difference.difference_us,
        }
    }

    /// The CPU time of services for the responses of the two.
    fn of_services(services: &ServiceDifference, what: String) -> Whole<'_> {
        Whole {
            what,
            us_per_response: services.us_per_response,
            difference_us: &services.difference_us,
        }
    }
}

/// A name with its cost, and the calls of subject and baseline.
type Part<'a> = (String, &'a CostDifference, Option<[f64; 2]>);

fn difference_table(
    difference: &CpuDifference,
    whole: Whole<'_>,
    parts: Vec<Part>,
    has_calls: bool,
) -> Table {
    let greatest = whole.us_per_response.into_iter().fold(0.0, f64::max);
    let is_shown = |(_, cost, _): &Part| {
        let [ours, theirs] = cost.us_per_response;
        ours.max(theirs) >= SHOWN_SHARE_MIN * greatest
    };
    let (shown, others): (Vec<_>, Vec<_>) = parts.into_iter().partition(is_shown);
    let decimals = Decimals::of(greatest);
    let row = |name, costs: [f64; 2], difference_us: &MeanInterval, calls: Option<[f64; 2]>| {
        let [ours, theirs] = costs.map(|us| decimals.show(us));
        let calls = calls.map(|calls| calls.map(|calls| Decimals::OF_COUNTS.show(calls)));
        let [our_calls, their_calls] = calls.unwrap_or_default();
        let mut row = vec![name, theirs, ours];
        if has_calls {
            row.insert(2, their_calls);
            row.push(our_calls);
        }
        row.push(decimals.signed(difference_us.mean));
        row.push(decimals.interval(difference_us));
        row
    };
    let mut rows: Vec<Vec<String>> = shown
        .into_iter()
        .map(|(name, cost, calls)| row(name, cost.us_per_response, &cost.difference_us, calls))
        .collect();
    if !others.is_empty() {
        let sum = |amount: &dyn Fn(&CostDifference) -> f64| -> f64 {
            others.iter().map(|(_, cost, _)| amount(cost)).sum()
        };
        let costs = [0, 1].map(|side| sum(&|cost| cost.us_per_response[side]));
        let rest = MeanInterval {
            mean: sum(&|cost| cost.difference_us.mean),
            low: None,
            high: None,
        };
        rows.push(row("others".to_owned(), costs, &rest, None));
    }
    rows.push(row(
        "total".to_owned(),
        whole.us_per_response,
        whole.difference_us,
        None,
    ));
    let [subject, baseline] = columns(difference);
    let mut headers = vec![whole.what, baseline, subject];
    if has_calls {
        headers.insert(2, "calls".to_owned());
        headers.push("calls".to_owned());
    }
    headers.extend(["difference", "95 % interval"].map(str::to_owned));
    Table::new(headers, rows)
}

/// The column headers: subject, baseline.
fn columns(difference: &CpuDifference) -> [String; 2] {
    match difference.starts {
        Some([few, others]) => [starts_of(few), plural(others as u64, "other")],
        None => names(difference).map(|name| shorten(&name, NAME_MAX)),
    }
}

/// A row per counter, with the values of both sides; `None` without counters.
pub(super) fn count_table(
    what: &str,
    difference: &CpuDifference,
    counts: &[CountDifference],
    decimals: Decimals,
) -> Option<Table> {
    let rows = counts.iter().map(|count| {
        let [ours, theirs] = count.values.map(|value| decimals.show(value));
        let difference = decimals.signed(count.difference.mean);
        let interval = decimals.interval(&count.difference);
        [shown_name(&count.name), theirs, ours, difference, interval]
    });
    let [subject, baseline] = columns(difference);
    let headers = [what, &baseline, &subject, "difference", "95 % interval"];
    (!counts.is_empty()).then(|| Table::new(headers, rows))
}

/// The first [`COUNTS_MAX`] counters of one subject; `None` without counters.
pub(super) fn counts_of_one(what: &str, counts: &[Count], decimals: Decimals) -> Option<Table> {
    let shown = counts.iter().take(COUNTS_MAX);
    let rows = shown.map(|count| [shown_name(&count.name), decimals.show(count.value)]);
    (!counts.is_empty()).then(|| Table::new([what, "count"], rows))
}

/// A row for each line of one subject's ledger, the small ones together, with its system calls
/// if they were counted.
pub(super) fn ledger_table(ledger: &CpuLedger, unit: &str) -> Table {
    let is_shown =
        |line: &&LedgerLine| line.us_per_response >= SHOWN_SHARE_MIN * ledger.us_per_response;
    let (shown, others): (Vec<_>, Vec<_>) = ledger.lines.iter().partition(is_shown);
    let calls = |line: &LedgerLine| {
        let name = line.name.strip_prefix(SYSTEM_CALL)?;
        let calls = ledger.system_calls.iter().find(|call| call.name == name)?;
        Some(Decimals::OF_COUNTS.show(calls.value))
    };
    let decimals = Decimals::of(ledger.us_per_response);
    let row = |name: String, cost: f64, calls: Option<String>, functions: &str| {
        let share = whole_percent(cost / ledger.us_per_response);
        let mut row = vec![name, decimals.show(cost), share];
        if !ledger.system_calls.is_empty() {
            row.push(calls.unwrap_or_default());
        }
        row.push(shorten(functions, FUNCTIONS_COLUMNS));
        row
    };
    let mut rows: Vec<Vec<String>> = shown
        .into_iter()
        .map(|line| {
            let functions = line.functions.iter();
            let functions = functions.map(|function| clean_name(&function.name));
            let functions = functions.collect::<Vec<_>>().join(", ");
            let name = shown_name(&line.name);
            row(name, line.us_per_response, calls(line), &functions)
        })
        .collect();
    if !others.is_empty() {
        let sum: f64 = others.iter().map(|line| line.us_per_response).sum();
        let others = plural(others.len() as u64, "other line");
        rows.push(row(others, sum, None, ""));
    }
    rows.push(row("total".to_owned(), ledger.us_per_response, None, ""));
    let what = format!("CPU µs per {unit}");
    let mut headers = vec![what.as_str(), "µs", "share", "mostly in"];
    if !ledger.system_calls.is_empty() {
        headers.insert(3, "calls");
    }
    Table::new(headers, rows)
}

/// The names of subject and baseline, each as the subject of a sentence in the singular.
pub(super) fn names(difference: &CpuDifference) -> [String; 2] {
    match difference.starts {
        Some([few, others]) => [
            format!("the group of {}", starts_of(few)),
            format!("the group of the other {}", starts_of(others)),
        ],
        None => [&difference.subject, &difference.baseline].map(|name| clean_name(name)),
    }
}

pub(super) fn starts_of(count: usize) -> String {
    plural(count as u64, "start")
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
        Purpose::Interruptions => "interrupts and scheduling",
        Purpose::Others => "other kernel work",
        Purpose::WholeKernel => "the kernel, not split",
    }
}

pub(super) const SYSTEM_CALL: &str = "system call ";
const NAME_MAX: usize = 14;
const FUNCTIONS_COLUMNS: usize = 32;

/// A line's name without the prefix for its kind.
pub(super) fn shown_name(name: &str) -> String {
    let short = name.strip_prefix(SYSTEM_CALL);
    let short = short.or_else(|| name.strip_prefix("user ")).unwrap_or(name);
    shorten(&clean_name(short), NAME_COLUMNS)
}

const NAME_COLUMNS: usize = 28;

fn thread_name(name: &str) -> String {
    shorten(&clean_name(name), NAME_COLUMNS)
}

/// The CPU time of one subject's threads; `None` unless there are several.
pub(super) fn threads_of_one(ledger: &CpuLedger) -> Option<Table> {
    let decimals = Decimals::of(ledger.us_per_response);
    let row = |name: String, us: f64| {
        let share = whole_percent(us / ledger.us_per_response);
        [name, decimals.show(us), share]
    };
    let is_shown = |thread: &&Count| thread.value >= SHOWN_SHARE_MIN * ledger.us_per_response;
    let (shown, others): (Vec<_>, Vec<_>) = ledger.threads.iter().partition(is_shown);
    let rows = shown
        .iter()
        .map(|thread| row(thread_name(&thread.name), thread.value));
    let mut rows: Vec<[String; 3]> = rows.collect();
    if !others.is_empty() {
        let us = others.iter().map(|thread| thread.value).sum();
        rows.push(row("others".to_owned(), us));
    }
    let headers = ["CPU µs by thread", "µs", "share"];
    (shown.len() > 1).then(|| Table::new(headers, rows).captioned("CPU time by thread"))
}

/// The decimals of figures that are shown together: so many that readers can add them up, and no
/// more than the greatest of them deserves.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Decimals(usize);

impl Decimals {
    /// Those of counts per response, such as 1.00 calls.
    pub(crate) const OF_COUNTS: Decimals = Decimals(2);

    /// Those of figures up to this one.
    pub(crate) fn of(greatest: f64) -> Decimals {
        Decimals(match greatest.abs() {
            greatest if greatest >= 1_000.0 => 0,
            greatest if greatest >= 100.0 => 1,
            _ => 2,
        })
    }

    /// Those of the costs of both sides.
    pub(crate) fn of_sides([ours, theirs]: [f64; 2]) -> Decimals {
        Decimals::of(ours.max(theirs))
    }

    pub(crate) fn show(self, value: f64) -> String {
        fixed(value, self.0)
    }

    pub(crate) fn micro(self, us: f64) -> String {
        format!("{}{GLUE}µs", self.show(us))
    }

    /// Whether a figure has no digit other than 0.
    pub(crate) fn shows_zero(self, value: f64) -> bool {
        self.show(value.abs()) == self.show(0.0)
    }

    fn signed(self, value: f64) -> String {
        let sign = match value {
            value if self.shows_zero(value) => "",
            value if value < 0.0 => "\u{2212}",
            _ => "+",
        };
        format!("{sign}{}", self.show(value.abs()))
    }

    fn interval(self, of: &MeanInterval) -> String {
        or_unknown(of.low.zip(of.high), |(low, high)| {
            format!("{} to {}", self.signed(low), self.signed(high))
        })
    }
}

const COUNTS_MAX: usize = 8;
