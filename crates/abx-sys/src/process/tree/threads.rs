//! CPU time and context switches of the threads of a tree.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use super::proc_tree::ProcTree;
use crate::Nanos;
use crate::host::counters::ThreadSchedule;
use crate::kernel_files::{if_there, read_lossy};
use crate::process::stat::Process;

/// CPU time of the threads of a tree at one moment. The kernel brings it up to
/// date at its clock tick only, so each may lag by some milliseconds.
#[derive(Debug, Clone, Default)]
pub struct ThreadTimes(pub(super) HashMap<u32, Nanos>);

impl ThreadTimes {
    /// CPU time of the thread that used most since `earlier`.
    #[must_use]
    pub fn busiest_since(&self, earlier: &ThreadTimes) -> Nanos {
        self.used_since(earlier).max().unwrap_or_default()
    }

    /// How many of the remaining threads ran since `earlier`.
    #[must_use]
    pub fn ran_since(&self, earlier: &ThreadTimes) -> usize {
        let used = self.used_since(earlier);
        used.filter(|used| *used > Nanos(0)).count()
    }

    fn used_since<'a>(&'a self, earlier: &'a ThreadTimes) -> impl Iterator<Item = Nanos> + 'a {
        self.0
            .iter()
            .map(|(thread, now)| match earlier.0.get(thread) {
                Some(then) if then <= now => now.since(*then),
                // New, or new under an old number.
                _ => *now,
            })
    }
}

/// Context switches of the threads of a tree since each was started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Switches(pub(super) HashMap<u32, u64>);

impl Switches {
    /// The switches since `earlier`; `None` if a thread has ended meanwhile, because its count is
    /// lost. Threads that started and ended in between are not in the sum.
    #[must_use]
    pub fn since(&self, earlier: &Switches) -> Option<u64> {
        let of_old = earlier.0.iter().map(|(thread, then)| {
            let now = self.0.get(thread)?;
            // A lower count is another thread's under the same number.
            now.checked_sub(*then)
        });
        let new = self.0.iter().filter(|pair| !earlier.0.contains_key(pair.0));
        of_old.chain(new.map(|(_, count)| Some(*count))).sum()
    }
}

impl ProcTree {
    /// CPU time of every thread; two readings show the busiest thread between them.
    ///
    /// # Errors
    /// The kernel's error if /proc cannot be read.
    pub fn thread_times(&mut self) -> io::Result<ThreadTimes> {
        self.refresh()?;
        let mut times = HashMap::new();
        for process in self.members() {
            each_thread(process, |thread, folder| {
                let text = if_there(read_lossy(folder.join("schedstat")))?;
                let schedule = text.and_then(|text| ThreadSchedule::parse(&text));
                times.extend(schedule.map(|schedule| (thread, schedule.run)));
                Ok(())
            })?;
        }
        Ok(ThreadTimes(times))
    }

    /// Context switches of every thread, both those in which it waited and those
    /// in which it was made to. `None` above `threads_max` threads: each costs
    /// several microseconds.
    ///
    /// Of the members of the last refresh: [`ProcTree::cpu`] looks for new ones
    /// at the same edges, and once is enough.
    ///
    /// # Errors
    /// The kernel's error if /proc cannot be read.
    pub fn switches(&self, threads_max: usize) -> io::Result<Option<Switches>> {
        // Each of them has a thread.
        if self.members().count() > threads_max {
            return Ok(None);
        }
        let mut switches = HashMap::new();
        let mut threads = 0;
        for process in self.members() {
            each_thread(process, |thread, folder| {
                threads += 1;
                if threads <= threads_max {
                    let text = if_there(read_lossy(folder.join("status")))?;
                    let count = text.and_then(|text| parse_switches(&text));
                    switches.extend(count.map(|count| (thread, count)));
                }
                Ok(())
            })?;
        }
        Ok((threads <= threads_max).then_some(Switches(switches)))
    }
}

/// Shows each thread of a process, by number and folder; none if the process has ended.
fn each_thread(
    process: Process,
    mut show: impl FnMut(u32, &Path) -> io::Result<()>,
) -> io::Result<()> {
    let Some(tasks) = if_there(std::fs::read_dir(format!("/proc/{}/task", process.pid)))? else {
        return Ok(());
    };
    for task in tasks {
        // The listing itself may end early when the process does.
        let Some(task) = if_there(task)? else { break };
        let name = task.file_name();
        if let Some(thread) = name.to_str().and_then(|name| name.parse().ok()) {
            show(thread, &task.path())?;
        }
    }
    Ok(())
}

/// The sum of both counts in the text of a thread's status file.
fn parse_switches(text: &str) -> Option<u64> {
    let number = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.strip_prefix(':')?.trim().parse::<u64>().ok()
    };
    number("voluntary_ctxt_switches")?.checked_add(number("nonvoluntary_ctxt_switches")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn switches(pairs: &[(u32, u64)]) -> Switches {
        Switches(pairs.iter().copied().collect())
    }

    #[test]
    fn both_kinds_of_switches_are_added_up() {
        // Method: the end of a status file, and one that lacks a line.
        let text = "Threads:\t1\nvoluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t7\n";
        assert_eq!(parse_switches(text), Some(157));
        assert_eq!(parse_switches("voluntary_ctxt_switches:\t150\n"), None);
    }

    #[test]
    fn switches_of_a_thread_that_has_ended_make_the_sum_unknown() {
        // Method: two threads that continue and a new one; one that ended; one whose
        // number a new one has.
        let earlier = switches(&[(1, 10), (2, 20)]);
        let all_switches = switches(&[(1, 11), (2, 25), (3, 4)]);
        assert_eq!(all_switches.since(&earlier), Some(1 + 5 + 4));
        assert_eq!(switches(&[(1, 11)]).since(&earlier), None);
        assert_eq!(switches(&[(1, 11), (2, 3)]).since(&earlier), None);
    }
}
