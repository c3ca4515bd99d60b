//! Makes a ledger of samples as they arrive.

mod frame_names;
mod processes;
mod raw_stacks;
mod threads;

use std::fmt;
use std::sync::Arc;

use crate::kernel::inside;
use crate::user::{CodeFiles, CodeKind, CodeMapping, Symbols};
use crate::{Kallsyms, Ledger, Line};
use frame_names::FrameNames;
use processes::Processes;
use raw_stacks::{Frame, RawStacks};
use threads::Threads;

/// Takes the events of a sampler, in the order of time, and makes a [`Ledger`] of the samples of
/// some processes.
///
/// Symbols of programs are read at the end, from files that were opened when they were first
/// sampled, so that programs may end meanwhile.
pub struct Collector<F> {
    kallsyms: Arc<Kallsyms>,
    processes: Processes<F>,
    files: CodeFiles,
    stacks: RawStacks,
    threads: Threads,
}

impl<F: Fn(u32) -> bool> Collector<F> {
    /// `is_member` returns whether the samples of a process count. The samples of processes that a
    /// member starts while it is sampled count too.
    pub fn new(kallsyms: Arc<Kallsyms>, is_member: F) -> Collector<F> {
        Collector {
            kallsyms,
            processes: Processes::new(is_member),
            files: CodeFiles::default(),
            stacks: RawStacks::default(),
            threads: Threads::default(),
        }
    }

    /// Notes the code in the memory of members, before they are sampled: a process that has ended by
    /// then shows it no more.
    pub fn expect(&mut self, members: impl IntoIterator<Item = u32>) {
        for pid in members {
            self.processes.is_member(pid, &mut self.files);
        }
    }

    /// A sample of a process and its thread: its addresses in the kernel and outside, innermost
    /// first. A chain of user code ends at an address that is not in code, which an invalid frame
    /// pointer leads to.
    pub fn sample(&mut self, [pid, tid]: [u32; 2], kernel: &[u64], user: &[u64]) {
        if !self.processes.is_member(pid, &mut self.files) {
            return;
        }
        self.threads.add(pid, tid);
        let mut frames = Vec::with_capacity(kernel.len() + user.len());
        for (depth, address) in user.iter().enumerate() {
            let Some((kind, offset)) =
                self.processes
                    .code(pid, inside(depth, *address), depth == 0, &mut self.files)
            else {
                break;
            };
            frames.push(match kind {
                CodeKind::Jit => Frame::Jit {
                    pid,
                    address: inside(depth, *address),
                },
                CodeKind::File(file) => {
                    self.files.open(file, pid);
                    Frame::File { file, offset }
                }
            });
        }
        let line = match frames.first() {
            _ if !kernel.is_empty() => self.kallsyms.line(kernel),
            None => Line::Unattributed,
            Some(Frame::File { file, .. }) => Line::user(self.files.name(*file)),
            Some(_) => Line::user(Line::JIT_CODE),
        };
        let caller = frames.first().copied();
        frames.reverse();
        let functions = kernel.iter().enumerate();
        let functions =
            functions.map(|(depth, address)| self.kallsyms.function(inside(depth, *address)));
        frames.extend(functions.rev().map(Frame::Kernel));
        self.stacks.add(line, &frames, caller);
    }

    /// A process maps code into its memory.
    pub fn mapping(&mut self, pid: u32, mapping: &CodeMapping<'_>) {
        self.processes.map(pid, mapping, &mut self.files);
    }

    /// A process starts another one.
    pub fn fork(&mut self, parent: u32, child: u32) {
        self.processes.fork(parent, child, &mut self.files);
    }

    /// A process begins another program.
    pub fn exec(&mut self, pid: u32) {
        self.processes.exec(pid);
    }

    /// A process ends.
    pub fn exit(&mut self, pid: u32) {
        self.processes.exit(pid);
    }

    /// The ledger of all samples until now, with the names of functions, and the `stacks_max`
    /// stacks with the most samples. The caller adds the samples that the sampler lost.
    #[must_use]
    pub fn finish(mut self, symbols: &Symbols, stacks_max: usize) -> Ledger {
        self.stacks.charge_entries();
        let mut ledger = Ledger {
            by_thread: self.threads.by_name(),
            ..Ledger::default()
        };
        let perf_maps = self.processes.into_perf_maps();
        let mut names = FrameNames::new(&self.kallsyms, &self.files, perf_maps, symbols);
        for stack in self.stacks.counts() {
            let frames = stack.frames.iter().map(|frame| names.name(*frame));
            let mut frames: Vec<Arc<str>> = frames.collect();
            // Several frames of a program without symbols show no more than a single one.
            frames.dedup();
            if frames.is_empty() {
                frames.push("[unknown]".into());
            }
            ledger.add(stack.line, frames.iter().map(|name| &**name), stack.samples);
            let innermost = stack
                .frames
                .last()
                .filter(|_| matches!(stack.line, Line::User(_)));
            if innermost.is_some_and(|frame| names.lacks_symbols(*frame)) {
                ledger.without_symbols += stack.samples;
            }
        }
        for (line, samples) in self.stacks.others() {
            ledger.add_others(line, *samples);
        }
        ledger.stacks.keep_heaviest(stacks_max);
        ledger
    }
}

impl<F> fmt::Debug for Collector<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Collector").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
