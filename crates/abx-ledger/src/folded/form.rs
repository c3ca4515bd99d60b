//! Folded stacks in files, which have each name and each beginning of a stack once.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Line;

/// Stacks as a tree, in columns. A stack is a node of the tree: the node's function, that of its
/// parent, and so on to the outermost.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub(super) struct FoldedForm {
    /// The lines to which `stack_lines` points.
    pub(super) lines: Vec<Line>,
    /// The names to which `node_names` points.
    pub(super) names: Vec<String>,
    /// Per node, the number of its parent plus 1, at most its own; 0 if it has none.
    node_parents: Vec<u32>,
    node_names: Vec<u32>,
    /// Per stack, the number of its innermost node plus 1; 0 if it has no frames.
    stack_nodes: Vec<u32>,
    stack_lines: Vec<u32>,
    stack_samples: Vec<u64>,
    /// Samples of stacks that were not kept.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) other_stacks: BTreeMap<Line, u64>,
}

/// The error in the stacks of a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FoldedError {
    #[error("columns of folded stacks have different lengths")]
    Columns,
    #[error("folded stacks have no {column} number {number}")]
    Number { column: &'static str, number: u32 },
    #[error("node {0} of folded stacks does not come after its parent")]
    Parent(usize),
    #[error("a folded stack has more than {FRAMES_MAX} frames")]
    Depth,
}

/// The most frames of a stack, several times as many as the kernel records of a chain.
pub(super) const FRAMES_MAX: usize = 512;

/// The numbers of names and nodes in a form that is being made.
#[derive(Debug, Default)]
pub(super) struct FormIndex {
    names: HashMap<Arc<str>, u32>,
    /// By parent and name.
    nodes: HashMap<(u32, u32), u32>,
}

impl FoldedForm {
    /// Adds a stack, outermost frame first. Stacks come in the order of their lines.
    pub(super) fn push(
        &mut self,
        index: &mut FormIndex,
        line: &Line,
        frames: &[Arc<str>],
        samples: u64,
    ) {
        if self.lines.last() != Some(line) {
            self.lines.push(line.clone());
        }
        let mut node = 0;
        for frame in frames {
            let names = &mut self.names;
            let name = index.names.entry(Arc::clone(frame)).or_insert_with(|| {
                names.push(frame.to_string());
                number(names.len() - 1)
            });
            node = *index.nodes.entry((node, *name)).or_insert_with(|| {
                self.node_parents.push(node);
                self.node_names.push(*name);
                number(self.node_parents.len())
            });
        }
        self.stack_nodes.push(node);
        self.stack_lines.push(number(self.lines.len() - 1));
        self.stack_samples.push(samples);
    }

    /// Checks that all numbers exist, and that parents come before their children.
    pub(super) fn check(&self) -> Result<(), FoldedError> {
        let nodes = self.node_parents.len();
        let stacks = self.stack_nodes.len();
        if self.node_names.len() != nodes
            || self.stack_lines.len() != stacks
            || self.stack_samples.len() != stacks
        {
            return Err(FoldedError::Columns);
        }
        if let Some(node) = (0..nodes).find(|node| self.node_parents[*node] as usize > *node) {
            return Err(FoldedError::Parent(node));
        }
        within("name", &self.node_names, self.names.len())?;
        within("line", &self.stack_lines, self.lines.len())?;
        within("node", &self.stack_nodes, nodes + 1)
    }

    /// Line, numbers of the frames' names, and samples of each stack in a checked form.
    pub(super) fn stacks(
        &self,
    ) -> impl Iterator<Item = (&Line, Result<Vec<usize>, FoldedError>, u64)> {
        let stacks = self.stack_nodes.iter().zip(&self.stack_lines);
        stacks
            .zip(&self.stack_samples)
            .map(|((node, line), samples)| {
                (&self.lines[*line as usize], self.frames(*node), *samples)
            })
    }

    /// The numbers of the names of a stack's frames, outermost first.
    fn frames(&self, node: u32) -> Result<Vec<usize>, FoldedError> {
        let mut frames = Vec::new();
        let mut next = node as usize;
        while let Some(node) = next.checked_sub(1) {
            if frames.len() == FRAMES_MAX {
                return Err(FoldedError::Depth);
            }
            frames.push(self.node_names[node] as usize);
            next = self.node_parents[node] as usize;
        }
        frames.reverse();
        Ok(frames)
    }
}

fn within(column: &'static str, numbers: &[u32], end: usize) -> Result<(), FoldedError> {
    let outside = numbers.iter().find(|number| **number as usize >= end);
    outside.map_or(Ok(()), |number| {
        let number = *number;
        Err(FoldedError::Number { column, number })
    })
}

fn number(index: usize) -> u32 {
    u32::try_from(index).expect("fewer frames than fit into memory")
}
