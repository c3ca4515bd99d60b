//! The kinds of work of a tree's processes: in user mode, in the kernel, on page faults.

use std::io;

use super::proc_tree::ProcTree;
use crate::Nanos;
use crate::host::counters::ticks_per_second;
use crate::process::stat::{Process, ProcessStat};

/// The work of a tree's members since each was started, and of the children that they reaped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Effort {
    user_ticks: u64,
    system_ticks: u64,
    page_faults: u64,
}

/// The work between two looks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EffortSince {
    /// CPU time in user mode, in steps of a clock tick (10 ms).
    pub user: Nanos,
    /// CPU time in the kernel, in steps of a clock tick.
    pub system: Nanos,
    /// Page faults, with and without the disk.
    pub page_faults: u64,
}

impl Effort {
    /// The work since `earlier`; `None` if processes have ended meanwhile whose counts are lost.
    #[must_use]
    pub fn since(&self, earlier: &Effort) -> Option<EffortSince> {
        let tick_ns = 1_000_000_000 / ticks_per_second().max(1);
        let ns = |now: u64, then: u64| {
            let ticks = now.checked_sub(then)?;
            Some(Nanos(ticks.saturating_mul(tick_ns)))
        };
        Some(EffortSince {
            user: ns(self.user_ticks, earlier.user_ticks)?,
            system: ns(self.system_ticks, earlier.system_ticks)?,
            page_faults: self.page_faults.checked_sub(earlier.page_faults)?,
        })
    }

    fn of(stat: &ProcessStat) -> Effort {
        Effort {
            user_ticks: stat.user_ticks.saturating_add(stat.children_user_ticks),
            system_ticks: stat.system_ticks.saturating_add(stat.children_system_ticks),
            page_faults: stat.page_faults,
        }
    }

    fn plus(self, other: Effort) -> Effort {
        Effort {
            user_ticks: self.user_ticks.saturating_add(other.user_ticks),
            system_ticks: self.system_ticks.saturating_add(other.system_ticks),
            page_faults: self.page_faults.saturating_add(other.page_faults),
        }
    }
}

impl ProcTree {
    /// The work of its members, and of the children that they reaped. `None` above `threads_max`
    /// threads: the kernel adds up all of them for each look.
    ///
    /// Of the members of the last refresh, as [`ProcTree::switches`].
    ///
    /// # Errors
    /// The kernel's error if /proc cannot be read.
    pub fn effort(&self, threads_max: usize) -> io::Result<Option<Effort>> {
        work_of(self.members(), threads_max)
    }
}

fn work_of(
    processes: impl Iterator<Item = Process>,
    threads_max: usize,
) -> io::Result<Option<Effort>> {
    let mut sum = Effort::default();
    let mut threads = 0;
    for process in processes {
        if let Some(stat) = ProcessStat::read(process.pid)? {
            threads += stat.threads as usize;
            sum = sum.plus(Effort::of(&stat));
        }
        if threads > threads_max {
            return Ok(None);
        }
    }
    Ok(Some(sum))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_between_two_looks_is_split_by_kind() {
        // Method: by hand, and counts that fell because a process has gone.
        let earlier = Effort {
            user_ticks: 10,
            system_ticks: 20,
            page_faults: 300,
        };
        let later = earlier.plus(Effort {
            user_ticks: 1,
            system_ticks: 2,
            page_faults: 7,
        });
        let tick_ns = 1_000_000_000 / ticks_per_second();
        let expected = EffortSince {
            user: Nanos(tick_ns),
            system: Nanos(2 * tick_ns),
            page_faults: 7,
        };
        assert_eq!(later.since(&earlier), Some(expected));
        assert_eq!(earlier.since(&later), None);
    }

    #[test]
    fn fresh_memory_is_seen_as_page_faults_of_this_process() {
        // Method: 1,000 pages are written to between two looks at this process. Its children are
        // left out: those of other tests end meanwhile.
        let own = Process::find(std::process::id()).unwrap().unwrap();
        let work = |threads_max| work_of(std::iter::once(own), threads_max).unwrap();
        let before = work(usize::MAX).unwrap();
        crate::FreshPages::new(1_000).unwrap().touch().unwrap();
        let after = work(usize::MAX).unwrap();
        assert!(after.since(&before).unwrap().page_faults >= 1_000);
        assert_eq!(work(0), None);
    }
}
