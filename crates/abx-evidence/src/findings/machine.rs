//! Findings about what else ran on the machine.

use std::collections::BTreeMap;

use crate::findings::processors;
use crate::measure::share::share;
use crate::measure::sum::sum_known;
use crate::record::finding::{Finding, Level};
use crate::record::finding_id::FindingId;
use crate::record::{Disturbance, Measured, OtherProgram, Round};
use crate::view::OfferView;
use abx_stats::stop::blocks_for_verdict;

/// Processor time that is neither abx's nor the subjects', as a share of all.
pub(crate) const FOREIGN_MAX: f64 = 0.03;
/// Processor time that the hypervisor took, as a share of all.
pub(crate) const STEAL_MAX: f64 = 0.01;
/// Time for which the generator was ready and did not run.
pub(crate) const WAIT_MAX: f64 = 0.05;

/// From which shares on something is noted, and from which on it bounds a ratio.
#[derive(Debug, Clone, Copy)]
struct Thresholds {
    note: f64,
    bound: f64,
}

impl Thresholds {
    /// It never bounds.
    const fn noted_above(note: f64) -> Thresholds {
        Thresholds {
            note,
            bound: f64::INFINITY,
        }
    }
}

/// Processor time that is neither abx's nor the subjects', as a share of all: with
/// much of it a subject may have been kept from what it can do.
const FOREIGN: Thresholds = Thresholds {
    note: FOREIGN_MAX,
    bound: 0.10,
};
const STEAL: Thresholds = Thresholds::noted_above(STEAL_MAX);
const WAIT: Thresholds = Thresholds::noted_above(WAIT_MAX);
/// Processor time of subjects that should idle, as a share of one processor.
const BACKGROUND: Thresholds = Thresholds::noted_above(0.01);

/// The kernel counts processor time in ticks of 10 ms. A difference of two readings of one
/// processor is off by 10 ms / √6 (the standard deviation of a difference of two roundings);
/// work of others that is less than three of these errors is not claimed.
const TICK_ERROR_NS: f64 = 4.1e6;
const TICK_ERRORS: f64 = 3.0;
/// One tick of steal may be rounding.
const STEAL_MIN_NS: u64 = 20_000_000;
/// So many other programs are named, each that used at least this much CPU time.
const PROGRAMS: usize = 3;
const PROGRAM_CPU_MIN_S: f64 = 0.01;

/// What else ran on the machine, under one load.
pub(super) fn machine(view: &OfferView) -> Vec<Finding> {
    let (record, load, sums) = (view.study, view.load, view.sums());
    let cpus = processors(record) as u64;
    let capacity = sums.window_ns.saturating_mul(cpus);
    let of_all = |ns: u64| share(ns, capacity).map(|part| part.min(1.0));
    let foreign_min = TICK_ERRORS * TICK_ERROR_NS * (cpus as f64 * sums.slices as f64).sqrt();
    let mut findings = Vec::from_iter(paused(view));
    let mut look = |id: FindingId, part: Option<f64>, bar: Thresholds, what: [&str; 2]| {
        if let Some(part) = part.filter(|part| *part > bar.note) {
            let [before, after] = what;
            let message = format!("{before} {:.1} % of the time{after}", 100.0 * part);
            let level = if part > bar.bound {
                Level::Bound
            } else {
                Level::Note
            };
            findings.push(Finding::new(id, message).at(level).under(&load.name));
        }
    };
    look(
        FindingId::Steal,
        sums.steal_ns
            .filter(|ns| *ns >= STEAL_MIN_NS)
            .and_then(of_all),
        STEAL,
        [
            "the hypervisor gave the CPUs reserved for this measurement to others",
            "",
        ],
    );
    let servers = [
        sums.server_cpu_ns,
        sums.others_cpu_ns,
        sums.all_services_cpu_ns(),
    ];
    let generator = [sums.generator_cpu_ns, sums.waiting_awake_ns].map(Some);
    let known = sum_known(servers.into_iter().chain(generator));
    let foreign = sums
        .busy_ns
        .zip(known)
        .map(|(busy, known)| busy.saturating_sub(known))
        .filter(|foreign| *foreign as f64 > foreign_min);
    look(
        FindingId::ForeignCpu,
        foreign.and_then(of_all),
        FOREIGN,
        [
            "other programs used the CPUs reserved for this measurement",
            &busiest(record),
        ],
    );
    let threads = record.settings.threads.max(1) as u64;
    look(
        FindingId::GeneratorWait,
        sums.generator_wait_ns
            .and_then(|wait| share(wait, sums.wall_ns.saturating_mul(threads))),
        WAIT,
        [
            "the generator was ready to run and had to wait for a CPU",
            &busiest(record),
        ],
    );
    look(
        FindingId::BackgroundWork,
        sums.others_cpu_ns
            .and_then(|others| share(others, sums.window_ns)),
        BACKGROUND,
        ["subjects that should have been idle used one CPU for", ""],
    );
    findings
}

/// That abx itself stood still: what it then measured is its own pause.
fn paused(view: &OfferView) -> Option<Finding> {
    let rounds = || view.parts().flat_map(|part| &part.rounds);
    let is_paused = |round: &&Round| round.slices.iter().any(|slice| slice.paused_ns > 0);
    let paused_s = view.sums().paused_ns as f64 / 1e9;
    let place = match (rounds().filter(is_paused).count(), rounds().count()) {
        (0, _) => return None,
        (_, 1) => String::new(),
        (paused, total) => format!(", in {paused} of {total} rounds"),
    };
    let message = format!(
        "abx itself was paused for {paused_s:.1} s{place}: the throughput and the response times \
         that it measured then are those of the pause and not of a server"
    );
    Some(Finding::new(FindingId::GeneratorPaused, message).under(&view.load.name))
}

/// The other programs of this machine that used most CPU time during the blocks, to follow a
/// clause; empty if none is known.
fn busiest(record: &Measured) -> String {
    let blocks = record.complete_blocks();
    named(blocks.flat_map(|block| &block.other_programs))
        .map_or_else(String::new, |names| format!("; most active were {names}"))
}

/// The programs of several readings that used most CPU time together, with that time.
pub(crate) fn named<'a>(programs: impl Iterator<Item = &'a OtherProgram>) -> Option<String> {
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    for program in programs {
        *sums.entry(&program.name).or_default() += program.cpu_s;
    }
    let mut sums: Vec<(&str, f64)> = sums.into_iter().collect();
    sums.retain(|(_, cpu_s)| *cpu_s >= PROGRAM_CPU_MIN_S);
    sums.sort_by(|sum, other| other.1.total_cmp(&sum.1));
    let names: Vec<String> = sums
        .iter()
        .take(PROGRAMS)
        .map(|(name, cpu_s)| format!("{name} ({cpu_s:.2} s of CPU time)"))
        .collect();
    (!names.is_empty()).then(|| listed(&names))
}

/// `a`, `a and b`, or `a, b and c`.
fn listed(words: &[impl AsRef<str>]) -> String {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => words.concat(),
    }
}

/// Rounds that something from outside disturbed; they are marked and stay in. With too few
/// blocks beside them, no verdict without them could contradict the one with them.
pub(super) fn disturbed(view: &OfferView) -> Option<Finding> {
    let (disturbed, total) = view.disturbed_rounds();
    (disturbed > 0).then(|| {
        let (clean, blocks) = view.clean_blocks();
        let fewest = blocks_for_verdict(view.study.is_ordered());
        let unchecked = if clean < fewest && blocks >= fewest {
            format!(
                "; what they change is not checked: {} of {blocks} blocks have no clean part",
                blocks - clean
            )
        } else {
            String::new()
        };
        let is_seen = |kind: &Disturbance| {
            let mut rounds = view.parts().flat_map(|part| &part.rounds);
            rounds.any(|round| round.disturbed.contains(kind))
        };
        let kinds = Disturbance::ALL.into_iter().filter(is_seen);
        let causes: Vec<&str> = kinds
            .map(|kind| match kind {
                Disturbance::Steal => "the hypervisor",
                Disturbance::Wait => "other programs",
                Disturbance::Paused => "a pause of abx itself",
            })
            .collect();
        Finding::new(
            FindingId::DisturbedRounds,
            format!(
                "{disturbed} of {total} rounds were disturbed from outside, by {}; they still \
                 count{unchecked}",
                listed(&causes)
            ),
        )
        .under(&view.load.name)
    })
}
