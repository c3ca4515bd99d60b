//! The CPU ledgers of single subjects.

use std::collections::BTreeMap;

use abx_evidence::share;
use abx_ledger::Line;
use schemars::JsonSchema;
use serde::Serialize;

use super::counts::{Count, in_order, means};
use super::sampled_block::{SampledBlock, sampled};
use crate::findings::bottleneck::Bottleneck;
use crate::view::{StudyView, SubjectView};

/// The CPU ledger of a subject under one load: the parts of its CPU time per response.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CpuLedger {
    pub load: String,
    pub subject: String,
    /// The number of sampled blocks.
    pub blocks: usize,
    /// Samples in all of them.
    pub samples: u64,
    /// Samples that were lost because a buffer was full, of any program on the subjects' CPUs.
    pub lost: u64,
    /// How often the kernel suspended sampling on these CPUs.
    pub throttled: u64,
    /// The most threads of the subject that were not sampled in a block.
    pub threads_left_out: u64,
    /// Whether the kernel's work is split into lines.
    pub is_kernel_split: bool,
    /// The share of its user code whose functions have no names; `None` without user code.
    pub without_symbols: Option<f64>,
    /// CPU time per complete response in the counted slices of these blocks, in µs.
    pub us_per_response: f64,
    /// Its parts, the greatest first. They add up to it.
    pub lines: Vec<LedgerLine>,
    /// Other counts per response, and how many threads ran.
    pub work: Vec<Count>,
    /// System calls per response by name, the most frequent first; empty if they were not
    /// counted.
    pub system_calls: Vec<Count>,
    /// The number of sampled blocks in which they were counted.
    pub blocks_with_calls: usize,
    /// The reason why they were counted in no block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls_failure: Option<String>,
    /// Waits of its threads by system call, in µs per response, the longest first. Empty if it had
    /// no CPU time to spare, or if waits were not measured.
    pub waits: Vec<Count>,
    /// CPU time by the name of the thread, in µs per response, the most first. Empty if only user
    /// code was sampled, and for older records.
    pub threads: Vec<Count>,
}

/// A line of one subject's ledger.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LedgerLine {
    /// `system call NAME`, `user FILE`, `page faults` and the like.
    pub name: String,
    /// CPU time per complete response, in µs: the mean over blocks.
    pub us_per_response: f64,
    /// The functions that ran, those with most CPU time first; at most three.
    pub functions: Vec<LedgerFunction>,
}

/// A function that ran for a line.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LedgerFunction {
    pub name: String,
    /// CPU time per complete response, in µs.
    pub us_per_response: f64,
}

const CALLS_MISSED: &str = "the kernel's table for them was full";
/// The most functions that a line names.
const FUNCTIONS_MAX: usize = 3;

/// The ledger of every sampled subject under each load.
pub(crate) fn cpu_ledgers(study: &StudyView) -> Vec<CpuLedger> {
    let mut ledgers = Vec::new();
    for load in &study.loads {
        let bottleneck = Bottleneck::of(load);
        for view in &load.subjects {
            let Some(mut ledger) = ledger_of(view) else {
                continue;
            };
            // A subject that uses all of its CPU time waits for it, whatever its threads wait in.
            if bottleneck.is_subject_bound(view.subject) {
                ledger.waits.clear();
            }
            ledgers.push(ledger);
        }
    }
    ledgers
}

fn ledger_of(view: &SubjectView) -> Option<CpuLedger> {
    let blocks: Vec<SampledBlock> = view.blocks.iter().filter_map(sampled).collect();
    if blocks.is_empty() {
        return None;
    }
    let count = blocks.len() as f64;
    let mut lines: BTreeMap<String, f64> = BTreeMap::new();
    let mut functions: BTreeMap<(String, &str), f64> = BTreeMap::new();
    for block in &blocks {
        for (name, us) in block.costs(Line::to_string) {
            *lines.entry(name).or_default() += us / count;
        }
        for (line, function, samples) in block.ledger.stacks.innermost() {
            let us = functions.entry((line.to_string(), function)).or_default();
            *us += block.us(samples) / count;
        }
    }
    let user_samples = |block: &SampledBlock| {
        let lines = block.ledger.lines.iter();
        let user_lines = lines.filter(|(line, _)| matches!(line, Line::User(_)));
        user_lines.fold(0, |sum: u64, (_, samples)| sum.saturating_add(*samples))
    };
    let sum = |count: &dyn Fn(&SampledBlock) -> u64| {
        let counts = blocks.iter().map(count);
        counts.fold(0, u64::saturating_add)
    };
    let with_calls = blocks
        .iter()
        .filter(|block| block.counts.system_calls.is_some());
    let blocks_with_calls = with_calls.count();
    let mut lines: Vec<LedgerLine> = lines
        .into_iter()
        .map(|(name, us_per_response)| LedgerLine {
            functions: greatest(&functions, &name),
            name,
            us_per_response,
        })
        .collect();
    lines.sort_by(|line, other| other.us_per_response.total_cmp(&line.us_per_response));
    Some(CpuLedger {
        load: view.load.name.clone(),
        subject: view.subject.to_owned(),
        blocks: blocks.len(),
        samples: sum(&|block| block.ledger.samples),
        lost: sum(&|block| block.ledger.lost),
        throttled: sum(&|block| block.ledger.throttled),
        threads_left_out: blocks
            .iter()
            .map(|block| block.ledger.threads_left_out)
            .fold(0, u64::max),
        is_kernel_split: blocks.iter().all(SampledBlock::is_kernel_split),
        without_symbols: share(
            sum(&|block| block.ledger.without_symbols),
            sum(&user_samples),
        ),
        us_per_response: blocks
            .iter()
            .map(|block| block.us_per_response)
            .sum::<f64>()
            / count,
        lines,
        work: in_order(means(&blocks, |counts| Some(&counts.work), None), |count| {
            &count.name
        }),
        system_calls: means(&blocks, |counts| counts.system_calls.as_ref(), Some(0.0)),
        blocks_with_calls,
        calls_failure: calls_failure(view).filter(|_| blocks_with_calls == 0),
        waits: means(&blocks, |counts| counts.waits.as_ref(), Some(0.0)),
        threads: means(&blocks, |counts| counts.threads.as_ref(), Some(0.0)),
    })
}

/// The first reason why calls were not counted.
fn calls_failure(view: &SubjectView) -> Option<String> {
    view.blocks.iter().find_map(|block| {
        let calls = block.ledger()?.calls.as_ref()?;
        let full = || (calls.missed > 0).then(|| CALLS_MISSED.to_owned());
        calls.failure.clone().or_else(full)
    })
}

/// The most expensive functions of a line, in descending order.
fn greatest(functions: &BTreeMap<(String, &str), f64>, line: &str) -> Vec<LedgerFunction> {
    let of_line = functions.iter().filter(|((name, _), _)| name == line);
    let mut of_line: Vec<LedgerFunction> = of_line
        .map(|((_, function), us)| LedgerFunction {
            name: (*function).to_owned(),
            us_per_response: *us,
        })
        .collect();
    of_line.sort_by(|function, other| other.us_per_response.total_cmp(&function.us_per_response));
    of_line.truncate(FUNCTIONS_MAX);
    of_line
}
