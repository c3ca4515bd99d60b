//! The host that subjects run on: the resources of their processes, and the machine's trouble
//! counters while they are loaded.

use std::collections::HashSet;

use abx_evidence::record::{InUse, SliceRecord};
use abx_sys::Nanos;
use abx_sys::strain::{Strain, StrainGauge};
use abx_sys::tree::{Effort, ProcTree, ProportionalMemory, Switches, ThreadTimes};

use crate::measure::host::generator::in_use;
use crate::measure::host::idle_time::IdleTime;

/// The most threads whose context switches are read: each takes some 10 us at both edges of every
/// slice.
const SWITCHES_THREADS_MAX: usize = 100;
/// The most threads whose user time, kernel time and page faults are read: the kernel takes some
/// 0.1 us for each thread, and 10 us for a process.
const EFFORT_THREADS_MAX: usize = 1_000;

/// Reads the subjects' processes and the trouble counters of their machine.
///
/// At a slice's edges only the loaded subject is read: reading a process takes some 1 us, and there
/// may be thousands. The use of the other subjects meanwhile is estimated from the use of each of
/// them between its own loads.
pub struct SubjectHost {
    /// One for each subject; `None` if its processes cannot be seen.
    trees: Vec<Option<ProcTree>>,
    /// The CPU time of each subject without load.
    idle: Vec<IdleTime>,
    strain: StrainGauge,
}

/// The counters at one edge.
#[derive(Debug, Clone)]
pub struct SubjectReading {
    /// CPU time of the loaded subject.
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

    /// The processes of one subject; `None` if they cannot be seen.
    pub fn members(&mut self, subject: usize) -> Option<HashSet<u32>> {
        let tree = self.trees.get_mut(subject)?.as_mut()?;
        tree.refresh().ok()?;
        Some(tree.members().map(|process| process.pid).collect())
    }

    /// Whether there is exactly one subject.
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

    /// Reads everything once, in reverse order, after subject `loaded` was loaded. Its time without
    /// load begins.
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

    /// No subject has load from now on, and earlier times without load do not count.
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

    /// The share of one processor that each subject used while it had no load since
    /// [`SubjectHost::begin_idle`]; `None` if it could not be read.
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

    /// CPU time of one subject, if it can be read.
    pub fn cpu(&mut self, subject: usize) -> Option<Nanos> {
        cpu(self.trees.get_mut(subject)?)
    }

    fn switches(&self, subject: usize) -> Option<Switches> {
        let tree = self.trees.get(subject)?.as_ref()?;
        tree.switches(SWITCHES_THREADS_MAX).ok()?
    }

    /// The effort of one subject, however many threads it has, if it can be read.
    pub fn effort_of_all(&self, subject: usize) -> Option<Effort> {
        self.effort(subject, usize::MAX)
    }

    fn effort(&self, subject: usize, threads_max: usize) -> Option<Effort> {
        let tree = self.trees.get(subject)?.as_ref()?;
        tree.effort(threads_max).ok()?
    }

    /// Memory of one subject's processes with shared pages counted once, if it can be read.
    pub fn proportional_memory(&mut self, subject: usize) -> Option<ProportionalMemory> {
        let tree = self.trees.get_mut(subject)?.as_mut()?;
        tree.proportional_memory().ok()
    }

    /// Descriptors of a subject's process that is nearest to its limit, if they can be read.
    pub fn descriptors(&mut self, subject: usize) -> Option<InUse> {
        let tree = self.trees.get_mut(subject)?.as_mut()?;
        tree.descriptors().ok().map(in_use)
    }

    /// Memory of one subject's processes, if it can be read.
    pub fn rss_bytes(&mut self, subject: usize) -> Option<u64> {
        self.trees.get_mut(subject)?.as_mut()?.rss_bytes().ok()
    }

    /// CPU time of one subject's threads, if it can be read.
    pub fn threads(&mut self, subject: usize) -> Option<ThreadTimes> {
        self.trees.get_mut(subject)?.as_mut()?.thread_times().ok()
    }
}

fn cpu(tree: &mut Option<ProcTree>) -> Option<Nanos> {
    tree.as_mut()?.cpu().ok()
}
