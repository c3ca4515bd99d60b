//! The resources that services use: read at the edges of every slice of any subject, since all
//! subjects need them.

use std::collections::HashSet;

use abx_sys::Nanos;
use abx_sys::tree::{ProcTree, ThreadTimes};

/// Reads the processes of services.
#[derive(Default)]
pub struct ServiceHost {
    /// One for each service; `None` if its processes cannot be seen.
    trees: Vec<Option<ProcTree>>,
    /// The CPU time of each service when the block began.
    at_first: Vec<Option<Nanos>>,
    /// The most memory seen of each service.
    rss_bytes_max: Vec<Option<u64>>,
}

/// The counters of one service at one edge.
#[derive(Debug, Clone)]
pub struct ServiceReading {
    cpu: Option<Nanos>,
    threads: Option<ThreadTimes>,
}

impl ServiceReading {
    /// The CPU time since `earlier`, in ns: of all threads, and of the busiest one.
    #[must_use]
    pub fn since(&self, earlier: &ServiceReading) -> [Option<u64>; 2] {
        let cpu = self.cpu.zip(earlier.cpu);
        let threads = self.threads.as_ref().zip(earlier.threads.as_ref());
        [
            cpu.map(|(now, then)| now.since(then).0),
            threads.map(|(now, then)| now.busiest_since(then).0),
        ]
    }
}

impl ServiceHost {
    /// The process trees that can be seen.
    pub fn trees(&self) -> impl Iterator<Item = &ProcTree> {
        self.trees.iter().flatten()
    }

    /// The host of these process trees, in the order of the services.
    #[must_use]
    pub fn new(mut trees: Vec<Option<ProcTree>>) -> ServiceHost {
        let at_first = trees.iter_mut().map(cpu).collect();
        ServiceHost {
            rss_bytes_max: vec![None; trees.len()],
            at_first,
            trees,
        }
    }

    /// The processes of all services that can be seen.
    pub fn members(&mut self) -> HashSet<u32> {
        let trees = self.trees.iter_mut().flatten();
        let readable = trees.filter_map(|tree| tree.refresh().ok().map(|()| &*tree));
        let processes = readable.flat_map(ProcTree::members);
        processes.map(|process| process.pid).collect()
    }

    /// Reads all services once.
    pub fn read(&mut self) -> Vec<ServiceReading> {
        let read = |tree: &mut Option<ProcTree>| ServiceReading {
            cpu: cpu(tree),
            threads: threads(tree),
        };
        self.trees.iter_mut().map(read).collect()
    }

    /// Reads how much memory each service has.
    pub fn note_memory(&mut self) {
        for (tree, most) in self.trees.iter_mut().zip(&mut self.rss_bytes_max) {
            let now = tree.as_mut().and_then(|tree| tree.rss_bytes().ok());
            *most = (*most).max(now);
        }
    }

    /// The most memory seen of a service.
    #[must_use]
    pub fn rss_bytes_max(&self, service: usize) -> Option<u64> {
        self.rss_bytes_max.get(service).copied().flatten()
    }

    /// CPU time of a service since the block began.
    pub fn cpu_of_block(&mut self, service: usize) -> Option<Nanos> {
        let then = *self.at_first.get(service)?;
        Some(cpu(self.trees.get_mut(service)?)?.since(then?))
    }
}

fn cpu(tree: &mut Option<ProcTree>) -> Option<Nanos> {
    tree.as_mut()?.cpu().ok()
}

fn threads(tree: &mut Option<ProcTree>) -> Option<ThreadTimes> {
    tree.as_mut()?.thread_times().ok()
}
