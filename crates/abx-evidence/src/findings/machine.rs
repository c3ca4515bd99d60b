//! Findings about what else ran on the machine.

use crate::findings::processors;
use crate::measure::share::share;
use crate::record::finding::{Finding, Level};
use crate::record::finding_id::FindingId;
use crate::stats::stop::blocks_for_verdict;
use crate::view::LoadView;

/// Processor time that is neither ours nor the subjects', as a share of all.
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

/// Processor time that is neither ours nor the subjects', as a share of all: with
/// much of it a subject may have been kept from what it can do.
const FOREIGN: Thresholds = Thresholds {
    note: FOREIGN_MAX,
    bound: 0.10,
};
const STEAL: Thresholds = Thresholds::noted_above(STEAL_MAX);
const WAIT: Thresholds = Thresholds::noted_above(WAIT_MAX);
/// Processor time of subjects that should idle, as a share of one processor.
const BACKGROUND: Thresholds = Thresholds::noted_above(0.01);

/// What else ran on the machine, under one load.
pub(super) fn machine(view: &LoadView) -> Vec<Finding> {
    let (record, load, all) = (view.study, view.load, view.sums());
    let capacity = all.window_ns * processors(record) as u64;
    let mut found = Vec::new();
    let mut look = |id: FindingId, part: Option<f64>, bar: Thresholds, what: &str| {
        if let Some(part) = part.filter(|part| *part > bar.note) {
            let message = format!("{what} {:.1} % of the time", 100.0 * part);
            let level = match part > bar.bound {
                true => Level::Bound,
                false => Level::Note,
            };
            found.push(Finding::new(id, message).at(level).under(&load.name));
        }
    };
    look(
        FindingId::Steal,
        all.steal_ns.and_then(|steal| share(steal, capacity)),
        STEAL,
        "the hypervisor gave our CPUs to others",
    );
    let servers = [
        all.server_cpu_ns,
        all.others_cpu_ns,
        all.all_services_cpu_ns(),
    ];
    let servers: Option<u64> = servers.into_iter().sum();
    let known = servers.map(|servers| servers + all.generator_cpu_ns + all.waiting_awake_ns);
    let foreign = all
        .busy_ns
        .zip(known)
        .map(|(busy, known)| busy.saturating_sub(known));
    look(
        FindingId::ForeignCpu,
        foreign.and_then(|foreign| share(foreign, capacity)),
        FOREIGN,
        "other programs used our CPUs",
    );
    let threads = record.settings.threads.max(1) as u64;
    look(
        FindingId::GeneratorWait,
        all.generator_wait_ns
            .and_then(|wait| share(wait, all.wall_ns * threads)),
        WAIT,
        "the generator was ready to run and had to wait for a CPU",
    );
    look(
        FindingId::BackgroundWork,
        all.others_cpu_ns
            .and_then(|others| share(others, all.window_ns)),
        BACKGROUND,
        "subjects that should have been idle used one CPU for",
    );
    found
}

/// Rounds that something from outside disturbed; they are marked and stay in. With too few
/// blocks beside them, no verdict without them could contradict the one with them.
pub(super) fn disturbed(view: &LoadView) -> Option<Finding> {
    let (disturbed, all) = view.disturbed_rounds();
    (disturbed > 0).then(|| {
        let (clean, blocks) = view.clean_blocks();
        let fewest = blocks_for_verdict(view.study.is_ordered());
        let unchecked = match clean < fewest && blocks >= fewest {
            true => format!(
                "; what they change is not checked: {} of {blocks} blocks have no clean part",
                blocks - clean
            ),
            false => String::new(),
        };
        Finding::new(
            FindingId::DisturbedRounds,
            format!(
                "{disturbed} of {all} rounds were disturbed from outside, by the hypervisor or by \
                 other programs; they still count{unchecked}"
            ),
        )
        .under(&view.load.name)
    })
}
