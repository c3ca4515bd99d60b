//! Connections without requests: the pilot of such a load, and one subject's part in a block.

use std::collections::BTreeMap;

use abx_engine::LoadPlan;
use abx_evidence::Held;
use abx_evidence::record::{Interleave, PilotRecord, PilotSubject};

use crate::measure::opened_pool::OpenedPool;
use crate::measure::running_subjects::{Abort, RunningSubjects};

/// Opens and holds each subject's connections once, except those of the subjects left out, and sets
/// how blocks run: without a warm-up, since the load measures a fresh server.
pub fn pilot(
    running: &mut RunningSubjects,
    plans: &[LoadPlan],
    left_out: &[usize],
    hold_ns: u64,
) -> Result<PilotRecord, Abort> {
    let mut subjects = BTreeMap::new();
    let offered = plans.iter().enumerate();
    for (subject, plan) in offered.filter(|(subject, _)| !left_out.contains(subject)) {
        let opened = running.open(plan)?;
        let held = hold(running, subject, plan, &opened, hold_ns);
        running.close(opened.pool);
        let pilot_subject = PilotSubject {
            throughput_per_s: held?.connect_rate_per_s().unwrap_or_default(),
            warm_up_ns: 0,
            settled: true,
            ..PilotSubject::default()
        };
        subjects.insert(running.names[subject].clone(), pilot_subject);
    }
    Ok(PilotRecord {
        interleave: Interleave::Slices,
        interleave_reason: None,
        slice_ns: hold_ns,
        slice_requests: None,
        discard_ns: 0,
        slice_reason: None,
        rounds: 1,
        shortened: false,
        warm_up_ns: 0,
        subjects,
    })
}

/// Holds the connections that were opened, and counts those that stand.
pub fn hold(
    running: &mut RunningSubjects,
    subject: usize,
    plan: &LoadPlan,
    opened: &OpenedPool,
    hold_ns: u64,
) -> Result<Held, Abort> {
    let standing = running.hold(subject, opened.pool, hold_ns)?;
    Ok(held(running, subject, plan, opened, standing))
}

/// The result for connections of which `standing` are open. The memory before comes from
/// [`RunningSubjects::memory_at_rest`], which must be read before they are opened; the memory after
/// is read now.
pub fn held(
    running: &mut RunningSubjects,
    subject: usize,
    plan: &LoadPlan,
    opened: &OpenedPool,
    standing: u64,
) -> Held {
    let asked = u64::from(plan.connections);
    let memory = running.meter.subjects.proportional_memory(subject);
    Held {
        asked,
        standing,
        lost: (asked - opened.missing()).saturating_sub(standing),
        open_ns: opened.opening.open_ns,
        memory_before_bytes: running.memory_at_rest(subject),
        memory_after_bytes: memory.map(|memory| memory.without_files_bytes()),
    }
}
