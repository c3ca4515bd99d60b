//! Stacks of addresses, before their functions have names.

use std::collections::{BTreeMap, HashMap};

use crate::Line;
use crate::user::FileId;

/// A place in code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Frame {
    /// The number of a function of the kernel, if it is known.
    Kernel(Option<usize>),
    File {
        file: FileId,
        offset: u64,
    },
    Jit {
        pid: u32,
        address: u64,
    },
}

/// Counts of stacks.
#[derive(Debug, Default)]
pub(super) struct RawStacks {
    counts: HashMap<RawStack, u64>,
    /// Samples of new stacks when there were `STACKS_MAX` already.
    others: BTreeMap<Line, u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct RawStack {
    line: Line,
    /// The place in user code that ran, or to which the kernel returns.
    caller: Option<Frame>,
    /// Outermost first.
    frames: Box<[Frame]>,
}

/// A stack and its samples.
#[derive(Debug)]
pub(super) struct CountedStack<'a> {
    pub(super) line: &'a Line,
    /// Outermost first.
    pub(super) frames: &'a [Frame],
    pub(super) samples: u64,
}

impl RawStacks {
    /// Counts a sample.
    pub(super) fn add(&mut self, line: Line, frames: &[Frame], caller: Option<Frame>) {
        let stack = RawStack {
            line,
            caller,
            frames: frames.into(),
        };
        if let Some(samples) = self.counts.get_mut(&stack) {
            *samples += 1;
        } else if self.counts.len() < STACKS_MAX {
            self.counts.insert(stack, 1);
        } else {
            *self.others.entry(stack.line).or_default() += 1;
        }
    }

    /// Charges the way into a system call and back to that call, if the call is known: almost all
    /// other samples that entered the kernel from the same place must be in it.
    ///
    /// SUBTLE: The clock's interrupt waits while the kernel returns with interrupts disabled, and
    /// arrives at the first instruction of user code. The time of a sample at that very place was
    /// spent in the kernel: two thirds of a short call.
    pub(super) fn charge_entries(&mut self) {
        let calls = self.calls_by_caller();
        let counts = std::mem::take(&mut self.counts);
        for (mut stack, samples) in counts {
            if matches!(stack.line, Line::SystemCallEntry | Line::User(_)) {
                let calls = stack.caller.and_then(|caller| calls.get(&caller));
                if let Some(line) = calls.and_then(most_frequent) {
                    stack.line = line.clone();
                }
            }
            *self.counts.entry(stack).or_default() += samples;
        }
    }

    pub(super) fn counts(&self) -> impl Iterator<Item = CountedStack<'_>> {
        self.counts.iter().map(|(stack, samples)| CountedStack {
            line: &stack.line,
            frames: &stack.frames,
            samples: *samples,
        })
    }

    /// Samples of stacks that are not kept, by line.
    pub(super) fn others(&self) -> &BTreeMap<Line, u64> {
        &self.others
    }

    /// The number of samples in each system call, by the place that enters the kernel.
    fn calls_by_caller(&self) -> HashMap<Frame, BTreeMap<Line, u64>> {
        let mut calls: HashMap<Frame, BTreeMap<Line, u64>> = HashMap::new();
        for (stack, samples) in &self.counts {
            if let (Line::SystemCall(_), Some(caller)) = (&stack.line, stack.caller) {
                let lines = calls.entry(caller).or_default();
                *lines.entry(stack.line.clone()).or_default() += samples;
            }
        }
        calls
    }
}

/// The line that has almost all samples.
fn most_frequent(lines: &BTreeMap<Line, u64>) -> Option<&Line> {
    let sum: u64 = lines.values().sum();
    let (line, samples) = lines.iter().max_by_key(|(_, samples)| **samples)?;
    (samples * 100 >= sum * ALMOST_ALL_PERCENT).then_some(line)
}

/// Some tens of megabytes.
const STACKS_MAX: usize = 1 << 16;
/// A function of the C library enters one system call; a function of Go, or `syscall`, many.
const ALMOST_ALL_PERCENT: u64 = 90;

#[cfg(test)]
mod tests {
    use super::*;

    const fn place(address: u64) -> Frame {
        Frame::Jit { pid: 1, address }
    }

    #[test]
    fn the_way_into_a_call_is_charged_to_it() {
        // Method: a place with one system call, one with two, one with none, and samples whose
        // place is unknown; each with samples of the way into the kernel. For the way back, there
        // are samples of user code at the first place and elsewhere.
        let (read, write) = (Line::system_call("read"), Line::system_call("write"));
        let entry = Line::SystemCallEntry;
        let user = Line::user("a");
        let mut stacks = RawStacks::default();
        let mut add = |line: &Line, place, samples| {
            for _ in 0..samples {
                stacks.add(line.clone(), &[], place);
            }
        };
        add(&read, Some(place(1)), 4);
        add(&entry, Some(place(1)), 3);
        add(&user, Some(place(1)), 5);
        add(&user, Some(place(4)), 6);
        add(&read, Some(place(2)), 2);
        add(&write, Some(place(2)), 2);
        for place in [Some(place(2)), Some(place(3)), None] {
            add(&entry, place, 1);
        }
        stacks.charge_entries();
        let mut lines: BTreeMap<Line, u64> = BTreeMap::new();
        for stack in stacks.counts() {
            *lines.entry(stack.line.clone()).or_default() += stack.samples;
        }
        assert_eq!(
            lines,
            BTreeMap::from([(read, 14), (write, 2), (entry, 3), (user, 6)])
        );
    }

    #[test]
    fn many_stacks_are_counted_without_their_frames() {
        // Method: more stacks than are kept, each once; then a kept one again.
        let mut stacks = RawStacks::default();
        for address in 0..=STACKS_MAX as u64 {
            stacks.add(Line::Kernel, &[place(address)], None);
        }
        stacks.add(Line::Kernel, &[place(0)], None);
        let kept: u64 = stacks.counts().map(|stack| stack.samples).sum();
        assert_eq!(kept, STACKS_MAX as u64 + 1);
        assert_eq!(stacks.others(), &BTreeMap::from([(Line::Kernel, 1)]));
    }
}
