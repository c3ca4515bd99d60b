//! Reads, at the edges of a slice, what the subjects and the machine used.
//! Nothing is read inside a slice.

use abx_evidence::record::SliceRecord;
use abx_sys::Nanos;
use abx_sys::counters::{MachineCounters, TcpCounters, ticks_per_second};
use abx_sys::tree::{ProcTree, ThreadTimes};

/// Reads the subjects' processes and the machine's counters.
pub struct Meter {
    /// One for each subject; `None` for one whose processes cannot be seen.
    trees: Vec<Option<ProcTree>>,
    /// The processors that abx and its subjects use.
    cpus: Vec<usize>,
}

/// What was read at one edge.
#[derive(Debug, Clone)]
pub struct Reading {
    at: Nanos,
    subjects: Vec<Option<Nanos>>,
    machine: Option<MachineCounters>,
    tcp: TcpCounters,
}

/// What happened between two edges.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Window {
    /// How long it was.
    pub window_ns: u64,
    /// Processor time of the subject that was loaded.
    pub server_cpu_ns: Option<u64>,
    /// Processor time of the others together.
    pub others_cpu_ns: Option<u64>,
    /// Time that the hypervisor took from our processors.
    pub steal_ns: Option<u64>,
    /// Time for which our processors were busy.
    pub busy_ns: Option<u64>,
    /// Connections that the kernel turned away.
    pub listen_overflows: Option<u64>,
}

impl Meter {
    /// A meter of these process trees, in the order of the subjects.
    #[must_use]
    pub fn new(trees: Vec<Option<ProcTree>>, mut cpus: Vec<usize>) -> Meter {
        cpus.sort_unstable();
        cpus.dedup();
        Meter { trees, cpus }
    }

    /// Reads everything once.
    pub fn read(&mut self) -> Reading {
        let cpu = |tree: &mut Option<ProcTree>| tree.as_mut()?.cpu().ok();
        Reading {
            at: Nanos::now(),
            subjects: self.trees.iter_mut().map(cpu).collect(),
            machine: MachineCounters::read().ok(),
            tcp: TcpCounters::read().unwrap_or_default(),
        }
    }

    /// What happened between two readings while subject `loaded` was loaded.
    #[must_use]
    pub fn window(&self, before: &Reading, after: &Reading, loaded: usize) -> Window {
        let used: Vec<Option<u64>> = before
            .subjects
            .iter()
            .zip(&after.subjects)
            .map(|(before, after)| before.zip(*after).map(|(one, two)| two.since(one).0))
            .collect();
        let others = used
            .iter()
            .enumerate()
            .filter(|(place, _)| *place != loaded);
        let tick_ns = 1_000_000_000 / ticks_per_second().max(1);
        let ticks = |wanted: fn(abx_sys::counters::CpuTicks) -> u64| {
            let (before, after) = (before.machine.as_ref()?, after.machine.as_ref()?);
            let each = self.cpus.iter().map(|cpu| {
                let (before, after) = (before.cpus.get(cpu)?, after.cpus.get(cpu)?);
                Some(wanted(after.since(*before)) * tick_ns)
            });
            each.sum()
        };
        Window {
            window_ns: after.at.since(before.at).0,
            server_cpu_ns: used.get(loaded).copied().flatten(),
            others_cpu_ns: others.map(|(_, used)| *used).sum(),
            steal_ns: ticks(|cpu| cpu.steal),
            busy_ns: ticks(|cpu| cpu.busy()),
            listen_overflows: before
                .tcp
                .listen_overflows
                .zip(after.tcp.listen_overflows)
                .map(|(before, after)| after.saturating_sub(before)),
        }
    }

    /// Memory of one subject's processes, when it can be read.
    pub fn rss_bytes(&mut self, subject: usize) -> Option<u64> {
        self.trees.get_mut(subject)?.as_mut()?.rss_bytes().ok()
    }

    /// Processor time of one subject, when it can be read.
    pub fn cpu(&mut self, subject: usize) -> Option<Nanos> {
        self.trees.get_mut(subject)?.as_mut()?.cpu().ok()
    }

    /// Processor time of one subject's threads, when it can be read.
    pub fn threads(&mut self, subject: usize) -> Option<ThreadTimes> {
        self.trees.get_mut(subject)?.as_mut()?.thread_times().ok()
    }
}

impl Window {
    /// Puts what was read into a slice's record.
    pub fn note(&self, slice: &mut SliceRecord) {
        slice.window_ns = self.window_ns;
        slice.server_cpu_ns = self.server_cpu_ns;
        slice.others_cpu_ns = self.others_cpu_ns;
        slice.steal_ns = self.steal_ns;
        slice.busy_ns = self.busy_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(at: u64, subjects: &[Option<u64>]) -> Reading {
        Reading {
            at: Nanos(at),
            subjects: subjects.iter().map(|used| used.map(Nanos)).collect(),
            machine: None,
            tcp: TcpCounters::default(),
        }
    }

    #[test]
    fn the_loaded_subject_is_told_from_the_others() {
        // Method: three subjects, the second loaded.
        let meter = Meter::new(Vec::new(), vec![1, 0, 1]);
        let before = reading(10, &[Some(1), Some(2), Some(3)]);
        let after = reading(110, &[Some(5), Some(52), Some(4)]);
        let window = meter.window(&before, &after, 1);
        assert_eq!(window.window_ns, 100);
        assert_eq!(window.server_cpu_ns, Some(50));
        assert_eq!(window.others_cpu_ns, Some(5));
        assert_eq!(window.steal_ns, None);
    }

    #[test]
    fn what_cannot_be_read_is_absent_and_not_zero() {
        // Method: one subject that cannot be seen makes the others' sum unknown.
        let meter = Meter::new(Vec::new(), Vec::new());
        let before = reading(0, &[Some(1), None]);
        let window = meter.window(&before, &reading(9, &[Some(2), None]), 0);
        assert_eq!(
            (window.server_cpu_ns, window.others_cpu_ns),
            (Some(1), None)
        );
        let other = meter.window(&before, &reading(9, &[Some(2), None]), 1);
        assert_eq!((other.server_cpu_ns, other.others_cpu_ns), (None, Some(1)));
    }
}
