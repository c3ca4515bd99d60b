//! Counts per response in a block in addition to CPU time: system calls, segments, switches,
//! faults and waits.

use std::collections::BTreeMap;

use abx_evidence::record::{CallRecord, LedgerRecord};
use abx_evidence::share;
use abx_ledger::{Ledger, Line};

use crate::view::BlockView;

/// Everything that was counted in a block, by name.
#[derive(Debug, Default)]
pub(super) struct BlockCounts {
    pub(super) work: BTreeMap<String, f64>,
    /// `None` if calls were not counted.
    pub(super) system_calls: Option<BTreeMap<String, f64>>,
    /// In µs; `None` if context switches were not traced.
    pub(super) waits: Option<BTreeMap<String, f64>>,
    /// CPU time by thread, in µs; `None` if it is not known for all threads.
    pub(super) threads: Option<BTreeMap<String, f64>>,
}

pub(super) type PickCounts = fn(&BlockCounts) -> Option<&BTreeMap<String, f64>>;

/// The names of work per complete response, except the number of threads, in the order of
/// reports.
pub(super) const WORK: [&str; 6] = [
    "system calls",
    "context switches",
    "page faults",
    "segments received",
    "bytes received",
    "threads that ran",
];

impl BlockCounts {
    pub(super) fn of(block: &BlockView, record: &LedgerRecord) -> BlockCounts {
        let sums = &block.sums;
        let per_response = |count: Option<u64>| share(count?, sums.all_completed());
        let calls = record.calls.as_ref().filter(|calls| calls.completed > 0);
        let system_calls = calls.and_then(system_calls);
        let bytes = share(sums.bytes, sums.outcomes.completed());
        let values = [
            system_calls.as_ref().map(|calls| calls.values().sum()),
            per_response(sums.server_switches),
            per_response(sums.server_page_faults),
            bytes.and_then(|bytes| segments(record, bytes)),
            bytes,
            record.threads.map(|threads| threads as f64),
        ];
        let known = WORK.into_iter().zip(values);
        BlockCounts {
            work: known
                .filter_map(|(name, value)| Some((name.to_owned(), value?)))
                .collect(),
            system_calls,
            waits: calls.and_then(waits),
            threads: None,
        }
    }

    /// With the CPU time of each thread, whose sum is `us_per_response`.
    pub(super) fn with_threads(self, ledger: &Ledger, us_per_response: f64) -> BlockCounts {
        // Without the kernel's samples, the part of each thread is not known.
        let is_known = !ledger.without_kernel && !ledger.by_thread.is_empty();
        let us = |samples: u64| us_per_response * samples as f64 / ledger.samples as f64;
        let threads = ledger.by_thread.iter();
        let threads = threads.map(|(name, samples)| (name.clone(), us(*samples)));
        if ledger.samples == 0 {
            let unattributed = [(Line::Unattributed.to_string(), us_per_response)];
            return BlockCounts {
                threads: Some(unattributed.into()),
                ..self
            };
        }
        BlockCounts {
            threads: is_known.then(|| threads.collect()),
            ..self
        }
    }
}

fn system_calls(calls: &CallRecord) -> Option<BTreeMap<String, f64>> {
    let is_complete = calls.failure.is_none() && calls.missed == 0;
    let by_name = calls.by_name.iter();
    let counts = by_name.map(|(name, count)| Some((name.clone(), share(*count, calls.completed)?)));
    is_complete.then(|| counts.collect()).flatten()
}

/// In µs per response.
fn waits(calls: &CallRecord) -> Option<BTreeMap<String, f64>> {
    let waits = calls.waits.as_ref().filter(|waits| waits.lost == 0)?;
    let lines = waits.lines.iter();
    lines
        .map(|(line, wait)| Some((line.to_string(), share(wait.ns, calls.completed)? / 1e3)))
        .collect()
}

/// Segments per response. The segments of connections that were opened meanwhile are not known;
/// then the segments per byte of the other connections count for all.
fn segments(record: &LedgerRecord, bytes_per_response: f64) -> Option<f64> {
    let segments = record.segments?;
    if segments.opened == 0 {
        return share(segments.received, record.completed);
    }
    Some(share(segments.received, segments.bytes)? * bytes_per_response)
}
