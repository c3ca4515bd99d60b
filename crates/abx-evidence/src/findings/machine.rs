//! Findings about what else ran on the machine, and what could not be read of it.

use crate::comparison::disturbed_rounds;
use crate::finding::{Finding, Level};
use crate::findings::processors;
use crate::record::{LoadRecord, StudyRecord};
use crate::summary::{Sums, share};

/// Processor time that is neither ours nor the subjects', as a share of all.
pub(crate) const FOREIGN_MAX: f64 = 0.03;
/// Processor time that the hypervisor took, as a share of all.
pub(crate) const STEAL_MAX: f64 = 0.01;
/// Time for which the generator was ready and did not run.
pub(crate) const WAIT_MAX: f64 = 0.05;
/// Processor time of subjects that should idle, as a share of one processor.
const BACKGROUND_MAX: f64 = 0.01;

/// What else ran on the machine, under one load.
pub(super) fn machine(record: &StudyRecord, load: &LoadRecord) -> Vec<Finding> {
    let all = Sums::of_load(record, load);
    let capacity = all.window_ns * processors(record) as u64;
    let quiet = "close other programs, or run on a machine of your own";
    let mut found = Vec::new();
    let mut look = |id: &str, part: Option<f64>, most: f64, what: &str, remedy: &str| {
        if let Some(part) = part.filter(|part| *part > most) {
            let message = format!("{what} {:.1} % of the time", 100.0 * part);
            found.push(Finding::new(id, Level::Note, message, remedy).under(&load.name));
        }
    };
    look(
        "steal",
        all.steal_ns.and_then(|steal| share(steal, capacity)),
        STEAL_MAX,
        "the hypervisor gave our processors to others",
        "run at a quieter time, or on a machine of your own",
    );
    let known = all
        .server_cpu_ns
        .zip(all.others_cpu_ns)
        .map(|(server, others)| server + others + all.generator_cpu_ns);
    let foreign = all
        .busy_ns
        .zip(known)
        .map(|(busy, known)| busy.saturating_sub(known));
    look(
        "foreign_cpu",
        foreign.and_then(|foreign| share(foreign, capacity)),
        FOREIGN_MAX,
        "other programs had our processors",
        quiet,
    );
    let threads = record.settings.threads.max(1) as u64;
    look(
        "generator_wait",
        all.generator_wait_ns
            .and_then(|wait| share(wait, all.wall_ns * threads)),
        WAIT_MAX,
        "the generator was ready to run and had to wait",
        quiet,
    );
    look(
        "background_work",
        all.others_cpu_ns
            .and_then(|others| share(others, all.window_ns)),
        BACKGROUND_MAX,
        "subjects that should have been idle worked, by one processor's measure,",
        "compare by `--interleave trials`, in which background work meets its own subject",
    );
    found
}

/// What could not be read is said, never taken for zero.
pub(super) fn unread(record: &StudyRecord, load: &LoadRecord) -> Vec<Finding> {
    let all = Sums::of_load(record, load);
    let mut sides = record
        .block_loads(&load.name)
        .flat_map(|part| part.sides.values());
    let mounted = "run where /proc is mounted";
    let looks = [
        (
            all.busy_ns.is_none() || all.steal_ns.is_none(),
            "steal and foreign processor time were not checked: /proc/stat cannot be read",
            mounted,
        ),
        (
            all.server_cpu_ns.is_none() || all.others_cpu_ns.is_none(),
            "the processor time of at least one subject was not checked: who was its limit is \
             known of the generator only, and foreign and background work are not known",
            "let abx start the subjects, on this machine",
        ),
        (
            all.generator_wait_ns.is_none(),
            "whether the generator had to wait for its processor was not checked: \
             /proc/thread-self/schedstat cannot be read",
            "run on a kernel with scheduler statistics",
        ),
        (
            sides.any(|side| side.listen_overflows.is_none()),
            "full listen queues were not checked: /proc/net/netstat cannot be read",
            mounted,
        ),
    ];
    let unread = looks.into_iter().filter(|(is_unread, ..)| *is_unread);
    unread
        .map(|(_, message, remedy)| {
            Finding::new("not_checked", Level::Note, message, remedy).under(&load.name)
        })
        .collect()
}

/// Rounds that something from outside disturbed; they are marked and stay in.
pub(super) fn disturbed(record: &StudyRecord, load: &LoadRecord) -> Option<Finding> {
    let (disturbed, all) = disturbed_rounds(record, load);
    (disturbed > 0).then(|| {
        Finding::new(
            "disturbed_rounds",
            Level::Note,
            format!(
                "{disturbed} of {all} rounds were disturbed from outside, by the hypervisor or by \
                 other programs; they count all the same"
            ),
            "run at a quieter time; more blocks even out what hits all subjects alike",
        )
        .under(&load.name)
    })
}
