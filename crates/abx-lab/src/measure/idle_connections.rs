//! Connections that say nothing: the pilot of such a load, and one subject's
//! part in a block.

use std::collections::BTreeMap;

use abx_engine::LoadPlan;
use abx_evidence::Held;
use abx_evidence::record::{Interleave, PilotRecord, PilotSubject};

use crate::measure::running_subjects::{Bench, Halt, Opened};

/// Opens and holds one subject's connections once, and sets how blocks run:
/// nothing is warmed up, since a fresh server is what is looked at.
///
/// # Errors
/// [`Halt`].
pub fn pilot(bench: &mut Bench, plans: &[LoadPlan], hold_ns: u64) -> Result<PilotRecord, Halt> {
    let mut subjects = BTreeMap::new();
    let mut backend = None;
    for (subject, plan) in plans.iter().enumerate() {
        let opened = bench.open(plan)?;
        backend = Some(opened.pool.backend().name().to_owned());
        let held = hold(bench, subject, plan, &opened, hold_ns);
        bench.engine.close(opened.pool);
        let found = PilotSubject {
            throughput_per_s: held?.connect_rate_per_s().unwrap_or_default(),
            warm_up_ns: 0,
            settled: true,
            lingering: None,
        };
        subjects.insert(bench.names[subject].clone(), found);
    }
    Ok(PilotRecord {
        interleave: Interleave::Slices,
        interleave_reason: None,
        slice_ns: hold_ns,
        discard_ns: 0,
        slice_reason: None,
        slice_choice: None,
        rounds: 1,
        shortened: false,
        warm_up_ns: 0,
        backend,
        subjects,
    })
}

/// Holds the connections that were opened, and counts those that stand. The
/// memory before is that of [`Bench::memory_at_rest`], which has to be read
/// before they are opened to be there; the memory after is read with them.
///
/// # Errors
/// [`Halt`].
pub fn hold(
    bench: &mut Bench,
    subject: usize,
    plan: &LoadPlan,
    opened: &Opened,
    hold_ns: u64,
) -> Result<Held, Halt> {
    let standing = bench.hold(subject, opened.pool, hold_ns)?;
    let asked = u64::from(plan.connections);
    let memory = bench.meter.proportional_memory(subject);
    Ok(Held {
        asked,
        standing,
        lost: (asked - opened.missing).saturating_sub(standing),
        open_ns: opened.open_ns,
        memory_before_bytes: bench.memory_at_rest(subject),
        memory_after_bytes: memory.map(|memory| memory.without_files_bytes()),
    })
}
