//! Makes waits of thread switches as they arrive.

use std::collections::HashMap;
use std::sync::Arc;

use crate::{Kallsyms, Line, Waits};

/// Takes thread switches in the order of time, and makes [`Waits`] of them.
///
/// A wait that began before the first switch, or has no end, does not count.
#[derive(Debug)]
pub struct WaitCollector {
    kallsyms: Arc<Kallsyms>,
    /// The line and the start of the wait of each thread without a CPU.
    waiting: HashMap<u32, (Line, u64)>,
    waits: Waits,
}

impl WaitCollector {
    #[must_use]
    pub fn new(kallsyms: Arc<Kallsyms>) -> WaitCollector {
        WaitCollector {
            kallsyms,
            waiting: HashMap::new(),
            waits: Waits::default(),
        }
    }

    /// A thread leaves its CPU at this time, in ns, with these addresses in the kernel, innermost
    /// first.
    pub fn leaves(&mut self, thread: u32, time_ns: u64, kernel: &[u64]) {
        let line = self.kallsyms.line_of_wait(kernel);
        self.waiting.insert(thread, (line, time_ns));
    }

    /// The thread that has just left did not wait: another one took its CPU.
    pub fn was_preempted(&mut self, thread: u32) {
        self.waiting.remove(&thread);
    }

    /// A thread gets a CPU at this time, in ns.
    pub fn returns(&mut self, thread: u32, time_ns: u64) {
        if let Some((line, since_ns)) = self.waiting.remove(&thread) {
            self.waits.add(line, time_ns.saturating_sub(since_ns));
        }
    }

    /// All waits until now. The caller adds the switches that the sampler lost.
    #[must_use]
    pub fn finish(self) -> Waits {
        self.waits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WaitTime;

    #[test]
    fn a_wait_has_the_time_until_the_thread_comes_back() {
        // Method: a thread that waits twice in a system call, one that waits in a page fault, one that
        // is preempted, one that had left before, and one that does not return.
        let list = "1000 t do_syscall_64\n2000 T __x64_sys_futex\n3000 T schedule\n\
                    4000 T exc_page_fault\n5000 T end\n";
        let kallsyms = Arc::new(Kallsyms::parse(list.as_bytes()).unwrap());
        let mut collector = WaitCollector::new(kallsyms);
        let futex = [0x3010, 0x2010, 0x1010];
        collector.returns(3, 50);
        for (left_ns, back_ns) in [(100, 130), (200, 270)] {
            collector.leaves(1, left_ns, &futex);
            collector.returns(1, back_ns);
        }
        collector.leaves(5, 100, &[0x3010, 0x4010]);
        collector.returns(5, 107);
        collector.leaves(2, 100, &futex);
        collector.was_preempted(2);
        collector.returns(2, 200);
        collector.leaves(4, 300, &futex);
        let in_futex = WaitTime { count: 2, ns: 100 };
        let in_faults = WaitTime { count: 1, ns: 7 };
        let lines = [
            (Line::system_call("futex"), in_futex),
            (Line::PageFaults, in_faults),
        ];
        assert_eq!(collector.finish().lines, lines.into());
    }
}
