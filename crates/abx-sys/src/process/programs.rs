//! The programs of the whole machine that use CPU time. Start at [`ProgramTimes`].

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;

use crate::Nanos;
use crate::host::counters::ticks_per_second;
use crate::kernel_files::{if_there, read_lossy};
use crate::process::stat::{Process, ProcessStat};
use crate::process::tree::below;

/// The kernel's own threads are children of this one. Part of their work is the load's.
const KERNEL_THREADS: u32 = 2;

/// The CPU time that each process of the machine had used at one moment. Reading it takes some
/// 10 µs per process.
#[derive(Debug, Default)]
pub struct ProgramTimes {
    processes: HashMap<Process, ProgramTime>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct ProgramTime {
    name: String,
    parent: u32,
    own_ticks: u64,
    /// Ticks of the children that it has reaped.
    children_ticks: u64,
}

impl ProgramTimes {
    /// Reads all processes except the kernel's, these, and their descendants.
    ///
    /// # Errors
    /// The kernel's error if /proc cannot be read.
    pub fn read_without(numbers: &[u32]) -> io::Result<ProgramTimes> {
        let mut processes = HashMap::new();
        for entry in std::fs::read_dir("/proc")? {
            let name = entry?.file_name();
            let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            // If /proc hides other users' processes, nothing is known of them.
            let text = if_there(read_lossy(format!("/proc/{pid}/stat"))).unwrap_or_default();
            processes.extend(text.and_then(|text| program_time(pid, &text)));
        }
        Ok(ProgramTimes { processes }.without(numbers))
    }

    fn without(mut self, numbers: &[u32]) -> ProgramTimes {
        let links = self.processes.iter();
        let links: Vec<(u32, u32)> = links
            .map(|(process, time)| (process.pid, time.parent))
            .collect();
        let mut left_out: HashSet<u32> = HashSet::from_iter(numbers.iter().copied());
        left_out.insert(KERNEL_THREADS);
        let roots: Vec<u32> = left_out.iter().copied().collect();
        left_out.extend(roots.into_iter().flat_map(|root| below(root, &links)));
        self.processes
            .retain(|process, _| !left_out.contains(&process.pid));
        self
    }

    /// The CPU time that each program used since an earlier reading, the most first: all processes
    /// of one name together. A process that has ended counts under its parent's name.
    #[must_use]
    pub fn since(&self, earlier: &ProgramTimes) -> Vec<(String, Nanos)> {
        let mut ended: HashMap<u32, u64> = HashMap::new();
        for (process, then) in &earlier.processes {
            if !self.processes.contains_key(process) {
                *ended.entry(then.parent).or_default() += then.own_ticks + then.children_ticks;
            }
        }
        let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
        for (process, now) in &self.processes {
            let then = earlier.processes.get(process);
            let (own_ticks, children_ticks) =
                then.map_or((0, 0), |then| (then.own_ticks, then.children_ticks));
            // The earlier time of a child is in its parent's sum once it is reaped.
            let counted = ended.get(&process.pid).copied().unwrap_or_default();
            let of_children = now.children_ticks.saturating_sub(children_ticks + counted);
            let used = now.own_ticks.saturating_sub(own_ticks) + of_children;
            *sums.entry(&now.name).or_default() += used;
        }
        let tick_ns = 1_000_000_000 / ticks_per_second().max(1);
        let mut pairs: Vec<(String, Nanos)> = sums
            .into_iter()
            .filter(|(_, ticks)| *ticks > 0)
            .map(|(name, ticks)| (name.to_owned(), Nanos(ticks.saturating_mul(tick_ns))))
            .collect();
        pairs.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
        pairs
    }
}

/// A process by its line of /proc/PID/stat; `None` for a line of another form.
fn program_time(pid: u32, text: &str) -> Option<(Process, ProgramTime)> {
    let stat = ProcessStat::parse(text)?;
    let (name, _) = text.split_once('(')?.1.rsplit_once(')')?;
    let time = ProgramTime {
        name: name.chars().map(shown).collect(),
        parent: stat.parent,
        own_ticks: stat.user_ticks.saturating_add(stat.system_ticks),
        children_ticks: { stat.children_user_ticks }.saturating_add(stat.children_system_ticks),
    };
    Some((stat.process(pid), time))
}

/// A letter of a name as it may be printed, because a process may choose any name.
fn shown(letter: char) -> char {
    if letter.is_alphanumeric() || letter == ' ' || letter.is_ascii_punctuation() {
        letter
    } else {
        char::REPLACEMENT_CHARACTER
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reading of processes: number, name, parent, own ticks, and those of reaped children.
    fn look(parts: &[(u32, &str, u32, u64, u64)]) -> ProgramTimes {
        let processes = parts.iter().map(|(pid, name, parent, ticks, children)| {
            let text = format!(
                "{pid} ({name}) S {parent} 1 1 0 -1 0 0 0 0 0 {ticks} 0 {children} 0 20 0 1 0 7 0"
            );
            program_time(*pid, &text).unwrap()
        });
        ProgramTimes {
            processes: processes.collect(),
        }
    }

    fn seconds(ticks: u64) -> Nanos {
        Nanos(ticks * 1_000_000_000 / ticks_per_second())
    }

    #[test]
    fn programs_are_summed_by_name_and_ended_ones_count_under_their_parent() {
        // Method: two compilers, one of them new; a shell that reaps a child of which 30 ticks
        // were seen before, and one that came and went; a program that does nothing.
        let earlier = look(&[
            (10, "cc1", 1, 100, 0),
            (11, "sh", 1, 5, 50),
            (12, "child", 11, 30, 0),
            (13, "idle", 1, 9, 9),
        ]);
        let now = look(&[
            (10, "cc1", 1, 140, 0),
            (11, "sh", 1, 6, 50 + 35 + 20),
            (13, "idle", 1, 9, 9),
            (14, "cc1", 1, 7, 0),
        ]);
        let expected = [("cc1", 47), ("sh", 1 + 5 + 20)];
        let expected = expected.map(|(name, ticks)| (name.to_owned(), seconds(ticks)));
        assert_eq!(now.since(&earlier), expected);
    }

    #[test]
    fn own_processes_and_those_of_the_kernel_are_left_out() {
        // Method: a tree of two below number 20, a thread of the kernel, and a stranger.
        let program_times = look(&[
            (2, "kthreadd", 0, 1, 0),
            (3, "kworker", 2, 1, 0),
            (20, "abx", 9, 1, 0),
            (22, "server", 21, 1, 0),
            (21, "keeper", 20, 1, 0),
            (9, "sh", 1, 1, 0),
        ]);
        let left = program_times.without(&[20]).since(&ProgramTimes::default());
        assert_eq!(left, [("sh".to_owned(), seconds(1))]);
    }

    #[test]
    fn names_have_no_control_characters_of_terminals() {
        // Method: an escape sequence, a line feed, a bracket and a mark that reverses text.
        let earlier = ProgramTimes::default();
        let pairs = look(&[(5, "a\u{1b}[2J\n) b\u{202e}", 1, 1, 0)]).since(&earlier);
        assert_eq!(pairs[0].0, "a\u{fffd}[2J\u{fffd}) b\u{fffd}");
    }

    #[test]
    fn this_machine_can_be_read() {
        // Method: the test's own process is among all of them, and not if it is left out.
        let own_pid = std::process::id();
        let has_own = |left_out: &[u32]| {
            let times = ProgramTimes::read_without(left_out).unwrap();
            times.processes.keys().any(|known| known.pid == own_pid)
        };
        assert!(has_own(&[]) && !has_own(&[own_pid]));
    }
}
