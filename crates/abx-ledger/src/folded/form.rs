//! Folded stacks in files, which have each name and each beginning of a stack once.

use std::collections::{BTreeMap, HashMap};

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

/// The numbers of everything in a form, by content.
#[derive(Debug, Clone, Default)]
pub(super) struct FormIndex {
    lines: BTreeMap<Line, u32>,
    names: HashMap<String, u32>,
    /// By parent and name.
    nodes: HashMap<(u32, u32), u32>,
    /// By line and node.
    stacks: HashMap<(u32, u32), usize>,
}

impl FormIndex {
    /// The numbers in a checked form.
    pub(super) fn of(form: &FoldedForm) -> FormIndex {
        let lines = form.lines.iter().cloned().enumerate();
        let names = form.names.iter().cloned().enumerate();
        let nodes = form.node_parents.iter().zip(&form.node_names).enumerate();
        let stacks = form.stack_lines.iter().zip(&form.stack_nodes).enumerate();
        FormIndex {
            lines: lines.map(|(index, line)| (line, number(index))).collect(),
            names: names.map(|(index, name)| (name, number(index))).collect(),
            nodes: nodes
                .map(|(index, (parent, name))| ((*parent, *name), number(index + 1)))
                .collect(),
            stacks: stacks
                .map(|(index, (line, node))| ((*line, *node), index))
                .collect(),
        }
    }
}

impl FoldedForm {
    /// Counts a stack, outermost frame first.
    pub(super) fn add<S: AsRef<str>>(
        &mut self,
        index: &mut FormIndex,
        line: &Line,
        frames: &[S],
        samples: u64,
    ) {
        let line = match index.lines.get(line) {
            Some(known) => *known,
            None => {
                self.lines.push(line.clone());
                let new = number(self.lines.len() - 1);
                index.lines.insert(line.clone(), new);
                new
            }
        };
        let mut node = 0;
        for frame in frames {
            let name = match index.names.get(frame.as_ref()) {
                Some(known) => *known,
                None => {
                    self.names.push(frame.as_ref().to_owned());
                    let new = number(self.names.len() - 1);
                    index.names.insert(frame.as_ref().to_owned(), new);
                    new
                }
            };
            node = *index.nodes.entry((node, name)).or_insert_with(|| {
                self.node_parents.push(node);
                self.node_names.push(name);
                number(self.node_parents.len())
            });
        }
        let stack = *index.stacks.entry((line, node)).or_insert_with(|| {
            self.stack_nodes.push(node);
            self.stack_lines.push(line);
            self.stack_samples.push(0);
            self.stack_samples.len() - 1
        });
        self.stack_samples[stack] = self.stack_samples[stack].saturating_add(samples);
    }

    /// Checks that all numbers exist, that parents come before their children, and that no stack is
    /// too deep.
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
        within("node", &self.stack_nodes, nodes + 1)?;
        let mut depths = Vec::with_capacity(nodes);
        for parent in &self.node_parents {
            let outer = parent
                .checked_sub(1)
                .map_or(0, |parent| depths[parent as usize]);
            if outer == FRAMES_MAX {
                return Err(FoldedError::Depth);
            }
            depths.push(outer + 1);
        }
        Ok(())
    }

    pub(super) fn stack_count(&self) -> usize {
        self.stack_nodes.len()
    }

    /// Line and samples of a stack.
    pub(super) fn count(&self, stack: usize) -> (&Line, u64) {
        let line = self.stack_lines[stack] as usize;
        (&self.lines[line], self.stack_samples[stack])
    }

    /// The frames of a stack, outermost first.
    pub(super) fn frames(&self, stack: usize) -> Vec<&str> {
        let mut frames = Vec::new();
        let mut next = self.stack_nodes[stack];
        while let Some(node) = next.checked_sub(1) {
            frames.push(self.name(node));
            next = self.node_parents[node as usize];
        }
        frames.reverse();
        frames
    }

    /// The innermost frame of a stack; `None` if it has none.
    pub(super) fn innermost(&self, stack: usize) -> Option<&str> {
        let node = self.stack_nodes[stack].checked_sub(1)?;
        Some(self.name(node))
    }

    fn name(&self, node: u32) -> &str {
        &self.names[self.node_names[node as usize] as usize]
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
