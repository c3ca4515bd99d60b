//! Call chains with their numbers of samples.

mod form;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Line, frame_name};
pub use form::FoldedError;
use form::{FRAMES_MAX, FoldedForm, FormIndex};

/// Stacks of function names with their numbers of samples, each under its line.
///
/// Only the most frequent stacks are kept: [`Folded::keep_heaviest`] counts the others by line. In
/// memory as in a file, stacks share their outer frames: a small file may describe very many.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "FoldedForm", into = "FoldedForm")]
#[schemars(with = "FoldedForm")]
pub struct Folded {
    form: FoldedForm,
    /// `None` for stacks of a file, to which none was added.
    index: Option<FormIndex>,
}

/// A stack: its line, its frames outermost first, and its samples.
type Stack<'a> = (&'a Line, Vec<&'a str>, u64);

impl Folded {
    /// Counts a stack; its frames stand outermost first. Names are cleaned ([`frame_name`]), and
    /// frames beyond 512 left out, outermost first.
    pub fn add<'a>(
        &mut self,
        line: &Line,
        frames: impl IntoIterator<Item = &'a str>,
        samples: u64,
    ) {
        if samples == 0 {
            return;
        }
        let frames: Vec<String> = frames.into_iter().map(frame_name).collect();
        let inner = &frames[frames.len().saturating_sub(FRAMES_MAX)..];
        let form = &mut self.form;
        let index = self.index.get_or_insert_with(|| FormIndex::of(form));
        form.add(index, line, inner, samples);
    }

    /// Counts samples of unknown stacks.
    pub fn add_others(&mut self, line: &Line, samples: u64) {
        if samples > 0 {
            let count = self.form.other_stacks.entry(line.clone()).or_default();
            *count = count.saturating_add(samples);
        }
    }

    /// Adds the counts of other stacks.
    pub fn merge(&mut self, other: &Folded) {
        for (line, frames, samples) in other.stacks() {
            self.add(line, frames, samples);
        }
        for (line, samples) in other.others() {
            self.add_others(line, *samples);
        }
    }

    /// Keeps at most this many stacks, those with the most samples, and counts the others by
    /// line.
    pub fn keep_heaviest(&mut self, stacks_max: usize) {
        let mut stacks = self.sorted();
        // Stable, so that equal stacks keep their order.
        stacks.sort_by_key(|(_, _, samples)| std::cmp::Reverse(*samples));
        let mut kept = Folded::default();
        for (number, (line, frames, samples)) in stacks.into_iter().enumerate() {
            if number < stacks_max {
                kept.add(line, frames, samples);
            } else {
                kept.add_others(line, samples);
            }
        }
        for (line, samples) in self.others() {
            kept.add_others(line, *samples);
        }
        *self = kept;
    }

    /// The stacks that are kept, each with its line, its frames outermost first, and its samples.
    pub fn stacks(&self) -> impl Iterator<Item = (&Line, Vec<&str>, u64)> {
        let stacks = 0..self.form.stack_count();
        let stacks = stacks.map(|stack| {
            let (line, samples) = self.form.count(stack);
            (line, self.form.frames(stack), samples)
        });
        stacks.filter(|(_, _, samples)| *samples > 0)
    }

    /// The innermost frame of each stack that has frames, with its line and its samples.
    pub fn innermost(&self) -> impl Iterator<Item = (&Line, &str, u64)> {
        let stacks = 0..self.form.stack_count();
        stacks.filter_map(|stack| {
            let (line, samples) = self.form.count(stack);
            Some((line, self.form.innermost(stack)?, samples))
        })
    }

    /// The samples of stacks that are not kept, by line.
    #[must_use]
    pub fn others(&self) -> &BTreeMap<Line, u64> {
        &self.form.other_stacks
    }

    /// The number of samples of all stacks.
    #[must_use]
    pub fn samples(&self) -> u64 {
        let stacks = (0..self.form.stack_count()).map(|stack| self.form.count(stack).1);
        let counts = stacks.chain(self.others().values().copied());
        counts.fold(0, u64::saturating_add)
    }

    /// A line `outermost;…;innermost COUNT` per stack, after these names, as tools for flame graphs
    /// read it. A stack without frames has its line in their place.
    #[must_use]
    pub fn to_text(&self, before: &[&str]) -> String {
        let before: String = before.iter().map(|name| frame_name(name) + ";").collect();
        let stacks = self.sorted().into_iter();
        let stacks = stacks.map(|(line, frames, samples)| match &frames[..] {
            [] => format!("{before}[{line}] {samples}\n"),
            frames => format!("{before}{} {samples}\n", frames.join(";")),
        });
        let others = self
            .others()
            .iter()
            .map(|(line, samples)| format!("{before}[other stacks];[{line}] {samples}\n"));
        stacks.chain(others).collect()
    }

    /// The stacks by line and frames.
    fn sorted(&self) -> Vec<Stack<'_>> {
        let mut stacks: Vec<Stack> = self.stacks().collect();
        stacks.sort_unstable();
        stacks
    }
}

impl PartialEq for Folded {
    fn eq(&self, other: &Folded) -> bool {
        self.sorted() == other.sorted() && self.others() == other.others()
    }
}

impl Eq for Folded {}

impl From<Folded> for FoldedForm {
    fn from(folded: Folded) -> FoldedForm {
        if folded.index.is_none() {
            return folded.form;
        }
        let mut sorted = FoldedForm::default();
        let mut index = FormIndex::default();
        for (line, frames, samples) in folded.sorted() {
            sorted.add(&mut index, line, &frames, samples);
        }
        sorted.other_stacks = folded.form.other_stacks;
        sorted
    }
}

impl TryFrom<FoldedForm> for Folded {
    type Error = FoldedError;

    fn try_from(mut form: FoldedForm) -> Result<Folded, FoldedError> {
        form.check()?;
        for name in &mut form.names {
            *name = frame_name(name);
        }
        Ok(Folded { form, index: None })
    }
}

#[cfg(test)]
mod tests;
