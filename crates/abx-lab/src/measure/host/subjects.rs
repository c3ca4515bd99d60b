//! The host that subjects run on: the resources of their processes, and the machine's trouble
//! counters while they are loaded.

use std::collections::HashSet;

use abx_evidence::record::{InUse, SliceRecord};
use abx_sys::Nanos;
use abx_sys::strain::{Strain, StrainGauge};
use abx_sys::tree::{Effort, ProcTree, ProportionalMemory, Switches, ThreadTimes};

use crate::measure::host::generator::in_use;
use crate::measure::host::idle_time::IdleTime;

/// Context switches are read of this many threads at most: each takes some
/// 10 us, at both edges of every slice.
const SWITCHES_THREADS_MAX: usize = 100;
/// User and kernel time and page faults are read of this many: the kernel takes some 0.1 us for
/// each, and 10 us for a process.
const EFFORT_THREADS_MAX: usize = 1_000;

/// Reads the subjects' processes and their machine's troubles.
///
/// At a slice's edges only the subject that is loaded is read: one look at a process takes some 1
/// us, and there may be thousands. The use of the others meanwhile follows from the use of each of
/// them from one load of its own to the next.
pub struct SubjectHost {
    /// One for each subject; `None` for one whose processes cannot be seen.
    trees: Vec<Option<ProcTree>>,
    /// The processor time of each without load.
    idle: Vec<IdleTime>,
    strain: StrainGauge,
}

/// The counters at one edge.
#[derive(Debug, Clone)]
pub struct SubjectReading {
    /// Processor time of the subject that is loaded.
    pub cpu: Option<Nanos>,
    pub switches: Option<Switches>,
    pub effort: Option<Effort>,
    pub strain: Strain,
}

impl SubjectReading {
    /// Adds the use of the subject since an earlier reading to a slice's record.
    pub fn note_since(&self, before: &SubjectReading, slice: &mut SliceRecord) {
        let cpu = self.cpu.zip(before.cpu);
        let switches = self.switches.as_ref().zip(before.switches.as_ref());
        let effort = self.effort.as_ref().zip(before.effort.as_ref());
        let effort = effort.and_then(|(now, then)| now.since(then));
        slice.server_cpu_ns = cpu.map(|(now, then)| now.since(then).0);
        slice.server_switches = switches.and_then(|(now, then)| now.since(then));
        slice.server_user_ns = effort.map(|effort| effort.user.0);
        slice.server_system_ns = effort.map(|effort| effort.system.0);
        slice.server_page_faults = effort.map(|effort| effort.page_faults);
    }
}

impl SubjectHost {
    /// This machine, with these process trees in the order of the subjects.
    pub fn new(trees: Vec<Option<ProcTree>>) -> SubjectHost {
        SubjectHost {
            idle: vec![IdleTime::NONE; trees.len()],
            trees,
            strain: StrainGauge::open(),
        }
    }

    /// The process trees that can be seen.
    pub fn trees(&self) -> impl Iterator<Item = &ProcTree> {
        self.trees.iter().flatten()
    }

    /// The processes of one subject; `None` when they cannot be seen.
    pub fn members(&mut self, subject: usize) -> Option<HashSet<u32>> {
        let tree = self.trees.get_mut(subject)?.as_mut()?;
        tree.refresh().ok()?;
        Some(tree.members().map(|process| process.pid).collect())
    }

    /// Whether there is one subject and no other.
    pub fn has_one(&self) -> bool {
        self.trees.len() == 1
    }

    /// Reads everything once, before subject `loaded` is loaded.
    pub fn before(&mut self, loaded: usize) -> SubjectReading {
        let strain = self.strain.read();
        let switches = self.switches(loaded);
        let effort = self.effort(loaded, EFFORT_THREADS_MAX);
        let cpu = self.cpu(loaded);
        SubjectReading {
            cpu,
            switches,
            effort,
            strain,
        }
    }

    /// Reads everything once, in the other order, after subject `loaded` was loaded,
    /// and leaves it alone.
    pub fn after(&mut self, loaded: usize) -> SubjectReading {
        let cpu = self.cpu(loaded);
        if let Some(idle) = self.idle.get_mut(loaded) {
            idle.begin(Nanos::now(), cpu);
        }
        let effort = self.effort(loaded, EFFORT_THREADS_MAX);
        let switches = self.switches(loaded);
        let strain = self.strain.read();
        SubjectReading {
            cpu,
            switches,
            effort,
            strain,
        }
    }

    /// All subjects are left alone from now on, and the time before does not count.
    pub fn begin_idle(&mut self) {
        for (tree, idle) in self.trees.iter_mut().zip(&mut self.idle) {
            *idle = IdleTime::NONE;
            idle.begin(Nanos::now(), cpu(tree));
        }
    }

    /// A subject is about to be loaded, or to get connections.
    pub fn end_idle(&mut self, subject: usize) {
        if let (Some(tree), Some(idle)) = (self.trees.get_mut(subject), self.idle.get_mut(subject))
        {
            idle.end(Nanos::now(), || cpu(tree));
        }
    }

    /// The share of one processor that each subject used while it was left alone since
    /// [`SubjectHost::begin_idle`]; `None` for one that could not be read.
    pub fn idle_shares(&mut self) -> Vec<Option<f64>> {
        for subject in 0..self.trees.len() {
            self.end_idle(subject);
        }
        self.idle.iter().map(IdleTime::share).collect()
    }

    /// The machine's trouble counters until now.
    pub fn strain(&mut self) -> Strain {
        self.strain.read()
    }

    /// Processor time of one subject, when it can be read.
    pub fn cpu(&mut self, subject: usize) -> Option<Nanos> {
        cpu(self.trees.get_mut(subject)?)
    }

    fn switches(&self, subject: usize) -> Option<Switches> {
        let tree = self.trees.get(subject)?.as_ref()?;
        tree.switches(SWITCHES_THREADS_MAX).ok()?
    }

    /// The effort of one subject, however many threads it has, if that can be read.
    pub fn effort_of_all(&self, subject: usize) -> Option<Effort> {
        self.effort(subject, usize::MAX)
    }

    fn effort(&self, subject: usize, threads_max: usize) -> Option<Effort> {
        let tree = self.trees.get(subject)?.as_ref()?;
        tree.effort(threads_max).ok()?
    }

    /// Memory of one subject's processes with shared pages counted once, when it
    /// can be read.
    pub fn proportional_memory(&mut self, subject: usize) -> Option<ProportionalMemory> {
        let tree = self.trees.get_mut(subject)?.as_mut()?;
        tree.proportional_memory().ok()
    }

    /// Descriptors of the one of a subject's processes that is nearest to its
    /// limit, when they can be read.
    pub fn descriptors(&mut self, subject: usize) -> Option<InUse> {
        let tree = self.trees.get_mut(subject)?.as_mut()?;
        tree.descriptors().ok().map(in_use)
    }

    /// Memory of one subject's processes, when it can be read.
    pub fn rss_bytes(&mut self, subject: usize) -> Option<u64> {
        self.trees.get_mut(subject)?.as_mut()?.rss_bytes().ok()
    }

    /// Processor time of one subject's threads, when it can be read.
    pub fn threads(&mut self, subject: usize) -> Option<ThreadTimes> {
        self.trees.get_mut(subject)?.as_mut()?.thread_times().ok()
    }
}

fn cpu(tree: &mut Option<ProcTree>) -> Option<Nanos> {
    tree.as_mut()?.cpu().ok()
}
