//! The CPU time of responses by call chain, from which flame graphs are drawn.

use std::collections::BTreeMap;

use abx_evidence::Measured;
use abx_evidence::record::LoadRecord;
use abx_ledger::Line;

use super::purpose::Purpose;
use super::sampled_block::{SampledBlock, sampled};
use crate::view::SubjectView;

/// The call chains of one subject, or of a pair, under one load.
#[derive(Debug, Clone, PartialEq)]
pub struct FlameGraph {
    /// CPU time per complete response of subject and baseline, in µs; 0 without a baseline.
    pub us_per_response: [f64; 2],
    /// The outermost functions; they add up to it.
    pub functions: Vec<FlameFunction>,
}

/// A function in a call chain, with everything that it calls.
#[derive(Debug, Clone, PartialEq)]
pub struct FlameFunction {
    pub name: String,
    /// CPU time per complete response of subject and baseline, in µs, including its callees.
    pub us_per_response: [f64; 2],
    /// The purpose of most of that time.
    pub purpose: Purpose,
    /// By name.
    pub callees: Vec<FlameFunction>,
}

/// The most functions of one chain; deeper ones are summed up as [`DEEPER`].
pub const FLAME_DEPTH_MAX: usize = 48;
/// The name of everything below the deepest function.
pub const DEEPER: &str = "…";

/// The call chains of a subject under a load, averaged over the sampled blocks; `None` if none
/// was sampled.
#[must_use]
pub fn flame_graph(measured: &Measured, load: &LoadRecord, subject: &str) -> Option<FlameGraph> {
    let view = SubjectView::of(measured, load, subject);
    let blocks: Vec<SampledBlock> = view.blocks.iter().filter_map(sampled).collect();
    let mut calls = Calls::default();
    for block in &blocks {
        calls.add(block, 0, blocks.len());
    }
    calls.graph()
}

/// The call chains of subject and baseline under a load, averaged over the blocks in which both
/// were sampled; `None` if there is no such block.
#[must_use]
pub fn flame_graph_of_pair(
    measured: &Measured,
    load: &LoadRecord,
    pair: [&str; 2],
) -> Option<FlameGraph> {
    let [subject, baseline] = pair.map(|name| SubjectView::of(measured, load, name));
    let blocks = subject.blocks.iter().zip(&baseline.blocks);
    let blocks: Vec<[SampledBlock; 2]> = blocks
        .filter_map(|(block, other)| Some([sampled(block)?, sampled(other)?]))
        .collect();
    let mut calls = Calls::default();
    for pair in &blocks {
        for (side, block) in pair.iter().enumerate() {
            calls.add(block, side, blocks.len());
        }
    }
    calls.graph()
}

/// A function with its callees by name.
#[derive(Default)]
struct Calls {
    us: [f64; 2],
    by_purpose: BTreeMap<Purpose, f64>,
    callees: BTreeMap<String, Calls>,
}

impl Calls {
    /// Adds the mean share of one of `blocks` blocks.
    fn add(&mut self, block: &SampledBlock, side: usize, blocks: usize) {
        let us = |samples| block.us(samples) / blocks as f64;
        for (line, frames, samples) in block.ledger.stacks.stacks() {
            let depth = match frames.len() {
                ..=FLAME_DEPTH_MAX => frames.len(),
                _ => FLAME_DEPTH_MAX - 1,
            };
            let deeper = (depth < frames.len()).then_some(DEEPER);
            let names = frames[..depth].iter().copied().chain(deeper);
            let unknown = format!("[{line}]");
            let unknown = frames.is_empty().then_some(unknown.as_str());
            self.charge(names.chain(unknown), side, Purpose::of(line), us(samples));
        }
        for (line, samples) in block.ledger.stacks.others() {
            let name = format!("[{line}]");
            let names = ["[other stacks]", &name].into_iter();
            self.charge(names, side, Purpose::of(line), us(*samples));
        }
        if block.kernel_us > 0.0 {
            let name = format!("[{}]", Line::WholeKernel);
            let kernel_us = block.kernel_us / blocks as f64;
            let names = std::iter::once(name.as_str());
            self.charge(names, side, Purpose::WholeKernel, kernel_us);
        }
    }

    fn charge<'a>(
        &mut self,
        names: impl Iterator<Item = &'a str>,
        side: usize,
        purpose: Purpose,
        us: f64,
    ) {
        let mut calls = self;
        calls.us[side] += us;
        for name in names {
            let callee = calls.callees.entry(name.to_owned()).or_default();
            callee.us[side] += us;
            *callee.by_purpose.entry(purpose).or_default() += us;
            calls = callee;
        }
    }

    fn graph(self) -> Option<FlameGraph> {
        let graph = FlameGraph {
            us_per_response: self.us,
            functions: functions(self.callees),
        };
        (!graph.functions.is_empty()).then_some(graph)
    }
}

fn functions(callees: BTreeMap<String, Calls>) -> Vec<FlameFunction> {
    let function = |(name, calls): (String, Calls)| {
        let by_purpose = calls.by_purpose.into_iter();
        let most = by_purpose.max_by(|(_, us), (_, other)| us.total_cmp(other));
        FlameFunction {
            name,
            us_per_response: calls.us,
            purpose: most.map_or(Purpose::Others, |(purpose, _)| purpose),
            callees: functions(calls.callees),
        }
    };
    callees.into_iter().map(function).collect()
}
