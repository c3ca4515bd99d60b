//! Call chains with their numbers of samples.

mod form;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Line, frame_name};
pub use form::FoldedError;
use form::{FRAMES_MAX, FoldedForm, FormIndex};

/// Stacks of function names with their numbers of samples, each under its line.
///
/// Only the most frequent stacks are kept: [`Folded::keep_heaviest`] counts the others by line.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "FoldedForm", into = "FoldedForm")]
#[schemars(with = "FoldedForm")]
pub struct Folded {
    stacks: BTreeMap<Stack, u64>,
    /// Samples of stacks that are not kept.
    others: BTreeMap<Line, u64>,
    /// One allocation for each name.
    names: HashSet<Arc<str>>,
}

/// A stack, outermost function first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Stack {
    line: Line,
    frames: Vec<Arc<str>>,
}

impl Folded {
    /// Counts a stack; its frames stand outermost first. Names are cleaned ([`frame_name`]), and
    /// frames beyond 512 left out, outermost first.
    pub fn add<'a>(
        &mut self,
        line: &Line,
        frames: impl IntoIterator<Item = &'a str>,
        samples: u64,
    ) {
        let mut frames: Vec<Arc<str>> = frames.into_iter().map(|name| self.name(name)).collect();
        frames.drain(..frames.len().saturating_sub(FRAMES_MAX));
        self.add_stack(line, frames, samples);
    }

    /// Counts samples of unknown stacks.
    pub fn add_others(&mut self, line: &Line, samples: u64) {
        add_samples(&mut self.others, line, samples);
    }

    /// Adds the counts of other stacks.
    pub fn merge(&mut self, other: &Folded) {
        for (stack, samples) in &other.stacks {
            let frames = stack.frames.iter().map(|name| &**name);
            self.add(&stack.line, frames, *samples);
        }
        for (line, samples) in &other.others {
            self.add_others(line, *samples);
        }
    }

    /// Keeps at most this many stacks, those with the most samples, and counts the others by
    /// line.
    pub fn keep_heaviest(&mut self, stacks_max: usize) {
        if self.stacks.len() <= stacks_max {
            return;
        }
        let stacks = std::mem::take(&mut self.stacks);
        let mut by_weight: Vec<(Stack, u64)> = stacks.into_iter().collect();
        // Stable, so that equal stacks keep their order.
        by_weight.sort_by_key(|(_, samples)| std::cmp::Reverse(*samples));
        for (stack, samples) in by_weight.drain(stacks_max..) {
            add_samples(&mut self.others, &stack.line, samples);
        }
        self.stacks.extend(by_weight);
        self.names.clear();
        let kept = self.stacks.keys().flat_map(|stack| stack.frames.iter());
        self.names.extend(kept.cloned());
    }

    /// The stacks that are kept, each with its line, its frames outermost first, and its samples.
    pub fn stacks(&self) -> impl Iterator<Item = (&Line, &[Arc<str>], u64)> {
        let stacks = self.stacks.iter();
        stacks.map(|(stack, samples)| (&stack.line, &stack.frames[..], *samples))
    }

    /// The samples of stacks that are not kept, by line.
    #[must_use]
    pub fn others(&self) -> &BTreeMap<Line, u64> {
        &self.others
    }

    /// The number of samples of all stacks.
    #[must_use]
    pub fn samples(&self) -> u64 {
        let counts = self.stacks.values().chain(self.others.values());
        counts.fold(0, |sum, samples| sum.saturating_add(*samples))
    }

    /// A line `outermost;…;innermost COUNT` per stack, after these names, as tools for flame graphs
    /// read it. A stack without frames has its line in their place.
    #[must_use]
    pub fn to_text(&self, before: &[&str]) -> String {
        let before: String = before.iter().map(|name| frame_name(name) + ";").collect();
        let stacks = self.stacks().map(|(line, frames, samples)| match frames {
            [] => format!("{before}[{line}] {samples}\n"),
            frames => format!("{before}{} {samples}\n", frames.join(";")),
        });
        let others = self
            .others
            .iter()
            .map(|(line, samples)| format!("{before}[other stacks];[{line}] {samples}\n"));
        stacks.chain(others).collect()
    }

    fn add_stack(&mut self, line: &Line, frames: Vec<Arc<str>>, samples: u64) {
        if samples == 0 {
            return;
        }
        let line = line.clone();
        let count = self.stacks.entry(Stack { line, frames }).or_default();
        *count = count.saturating_add(samples);
    }

    fn name(&mut self, name: &str) -> Arc<str> {
        let name = frame_name(name);
        if let Some(known) = self.names.get(name.as_str()) {
            return Arc::clone(known);
        }
        let name: Arc<str> = name.into();
        self.names.insert(Arc::clone(&name));
        name
    }
}

impl PartialEq for Folded {
    fn eq(&self, other: &Folded) -> bool {
        self.stacks == other.stacks && self.others == other.others
    }
}

impl Eq for Folded {}

impl From<Folded> for FoldedForm {
    fn from(folded: Folded) -> FoldedForm {
        let mut form = FoldedForm::default();
        let mut index = FormIndex::default();
        for (line, frames, samples) in folded.stacks() {
            form.push(&mut index, line, frames, samples);
        }
        form.other_stacks = folded.others;
        form
    }
}

impl TryFrom<FoldedForm> for Folded {
    type Error = FoldedError;

    fn try_from(form: FoldedForm) -> Result<Folded, FoldedError> {
        form.check()?;
        let mut folded = Folded::default();
        // Each name is cleaned once.
        let names: Vec<Arc<str>> = form.names.iter().map(|name| folded.name(name)).collect();
        for (line, frames, samples) in form.stacks() {
            let frames = frames?.into_iter().map(|name| Arc::clone(&names[name]));
            folded.add_stack(line, frames.collect(), samples);
        }
        for (line, samples) in &form.other_stacks {
            folded.add_others(line, *samples);
        }
        Ok(folded)
    }
}

fn add_samples(counts: &mut BTreeMap<Line, u64>, line: &Line, samples: u64) {
    if samples > 0 {
        let count = counts.entry(line.clone()).or_default();
        *count = count.saturating_add(samples);
    }
}

#[cfg(test)]
mod tests;
