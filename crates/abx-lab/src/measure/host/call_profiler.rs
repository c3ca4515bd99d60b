//! The system calls of a subject, and the waits of its threads: each system call is counted, and
//! each context switch is examined.

use std::collections::HashSet;
use std::sync::Arc;

use abx_evidence::record::CallRecord;
use abx_ledger::{Kallsyms, WaitCollector, Waits};
use abx_sys::bpf::{CallCounter, CallCounting, CallCounts, CallLimit};
use abx_sys::perf::{CpuSampler, SamplerEvent, SwitchDirection};

use super::emptied::emptied;

/// Counts calls and waits. Both cost the subject some CPU time, so they have an interval of their
/// own.
pub struct CallProfiler {
    calls: Result<CallCounter, CallLimit>,
    /// Context switches on the subjects' processors; `None` if the machine forbids it.
    switches: Option<CpuSampler>,
    kallsyms: Arc<Kallsyms>,
}

impl CallProfiler {
    /// A profiler of these processors, which counts nothing yet. Each processor has a buffer of
    /// this size for context switches.
    pub fn open(cpus: &[usize], kallsyms: Arc<Kallsyms>, buffer_bytes: usize) -> CallProfiler {
        CallProfiler {
            calls: CallCounter::open(),
            switches: CpuSampler::of_switches(cpus, buffer_bytes).ok(),
            kallsyms,
        }
    }

    /// Has the kernel's functions again.
    pub fn know(&mut self, kallsyms: &Arc<Kallsyms>) {
        self.kallsyms = Arc::clone(kallsyms);
    }

    /// Why nothing at all can be counted, so that no load is needed.
    pub fn limit(&self) -> Option<CallLimit> {
        let limit = self.calls.as_ref().err().copied();
        limit.filter(|_| self.switches.is_none())
    }

    /// While `load` runs, counts the calls of these processes and of those that they start
    /// meanwhile. Returns the result of `load`; the caller adds time and responses.
    pub fn count<T>(
        &mut self,
        members: &HashSet<u32>,
        load: impl FnOnce() -> T,
    ) -> (T, CallRecord) {
        let counting = self.start();
        let counted_load = || {
            let result = load();
            // Not while the switches are sorted.
            (result, counting.map(drop))
        };
        let ((result, counted), recorded) = match &mut self.switches {
            Some(switches) => record_waits(switches, &self.kallsyms, members, counted_load),
            None => (counted_load(), None),
        };
        let (members, waits) = match recorded {
            Some((members, waits)) => (members, Some(waits)),
            None => (members.clone(), None),
        };
        let counts = counted.and_then(|()| self.take());
        let record = CallRecord {
            failure: counts.as_ref().err().cloned(),
            by_name: counts.as_ref().map_or_else(
                |_| Default::default(),
                |counts| counts.by_name(|process| members.contains(&process)),
            ),
            missed: counts.map_or(0, |counts| counts.missed),
            waits,
            ..CallRecord::default()
        };
        (result, record)
    }

    fn start(&self) -> Result<CallCounting, String> {
        let counter = self.calls.as_ref().map_err(ToString::to_string)?;
        counter.start().map_err(|error| error.to_string())
    }

    fn take(&self) -> Result<CallCounts, String> {
        let counter = self.calls.as_ref().map_err(ToString::to_string)?;
        counter.take().map_err(|error| error.to_string())
    }
}

/// Runs `load` while context switches are recorded. Also returns the processes, including those
/// that they started, and the waits of their threads.
fn record_waits<T>(
    switches: &mut CpuSampler,
    kallsyms: &Arc<Kallsyms>,
    members: &HashSet<u32>,
    load: impl FnOnce() -> T,
) -> (T, Option<(HashSet<u32>, Waits)>) {
    switches.drain(|_| {});
    let lost_before = switches.lost();
    let enabled = switches.enable();
    let result = emptied(switches, load);
    let disabled = enabled.and_then(|()| switches.disable());
    let waits = disabled.ok().map(|()| {
        let (members, mut waits) = waits_of(switches, kallsyms, members);
        waits.lost = switches.lost() - lost_before;
        (members, waits)
    });
    (result, waits)
}

fn waits_of(
    switches: &mut CpuSampler,
    kallsyms: &Arc<Kallsyms>,
    members: &HashSet<u32>,
) -> (HashSet<u32>, Waits) {
    let mut members = members.clone();
    let mut collector = WaitCollector::new(Arc::clone(kallsyms));
    switches.drain(|event| match event {
        SamplerEvent::Sample(sample) if members.contains(&sample.pid) => {
            collector.leaves(sample.tid, sample.time_ns, sample.kernel);
        }
        SamplerEvent::Switch(switch) => match switch.direction {
            SwitchDirection::In => collector.returns(switch.tid, switch.time_ns),
            SwitchDirection::Preempted => collector.was_preempted(switch.tid),
            SwitchDirection::Out => {}
        },
        SamplerEvent::Fork { parent, child } if members.contains(&parent) => {
            members.insert(child);
        }
        _ => {}
    });
    (members, collector.finish())
}
