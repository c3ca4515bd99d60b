//! Which process descends from which, by one scan of /proc.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io;

use crate::Nanos;
use crate::kernel_files::{if_there, read_lossy};
use crate::process::stat::{Process, ProcessStat};

/// One descendant of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Relative {
    pub process: Process,
    pub parent: u32,
    pub state: RelativeState,
    /// CPU time of the children that it has reaped, in steps of a clock tick.
    pub reaped_cpu: Nanos,
}

/// The state of a descendant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelativeState {
    /// It runs, or waits for something.
    Runs,
    /// A signal has stopped it, and another lets it continue.
    Stopped,
    /// It has ended, and its parent has not yet reaped it.
    Ended,
}

impl From<&ProcessStat> for RelativeState {
    fn from(stat: &ProcessStat) -> RelativeState {
        match (stat.is_dead(), stat.is_stopped()) {
            (true, _) => RelativeState::Ended,
            (false, true) => RelativeState::Stopped,
            (false, false) => RelativeState::Runs,
        }
    }
}

/// All descendants of `root`, parents before children, the root excluded.
///
/// # Errors
/// The kernel's error if /proc cannot be read.
pub fn descendants(root: u32) -> io::Result<Vec<Relative>> {
    Ok(scan(&[root])?.relatives)
}

pub(super) struct Family {
    pub(super) relatives: Vec<Relative>,
    pub(super) roots: Vec<Relative>,
    /// Whether every process of the scan has its parent in it.
    pub(super) is_complete: bool,
}

/// A scan takes time. A process whose parent ended meanwhile names a parent
/// that is no longer listed, and would be taken for a stranger: look again.
const SCANS_MAX: usize = 4;

/// The descendants of all roots. No root is below another.
pub(super) fn scan(roots: &[u32]) -> io::Result<Family> {
    let mut scans = 0;
    loop {
        scans += 1;
        let all_relatives = processes()?;
        let is_complete = has_all_parents(&all_relatives);
        if is_complete || scans == SCANS_MAX {
            return Ok(Family {
                relatives: roots
                    .iter()
                    .flat_map(|root| relatives(*root, &all_relatives))
                    .collect(),
                roots: { all_relatives.iter() }
                    .filter(|relative| roots.contains(&relative.process.pid))
                    .copied()
                    .collect(),
                is_complete,
            });
        }
    }
}

fn processes() -> io::Result<Vec<Relative>> {
    let mut relatives = Vec::new();
    for entry in std::fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        relatives.extend(relative(pid)?);
    }
    Ok(relatives)
}

/// The process or thread with this number, if there is one that may be seen.
pub(super) fn relative(pid: u32) -> io::Result<Option<Relative>> {
    match ProcessStat::read(pid) {
        Ok(stat) => Ok(stat.map(|stat| Relative {
            process: stat.process(pid),
            parent: stat.parent,
            state: RelativeState::from(&stat),
            reaped_cpu: stat.reaped_cpu(),
        })),
        // If /proc hides other users' processes, the hidden ones are not ours.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether a number is that of a process, and not of a thread of one.
pub(super) fn is_process(number: u32) -> io::Result<bool> {
    let text = if_there(read_lossy(format!("/proc/{number}/status")))?.unwrap_or_default();
    let group = text.lines().find_map(|line| line.strip_prefix("Tgid:"));
    Ok(group.and_then(|group| group.trim().parse().ok()) == Some(number))
}

fn has_all_parents(relatives: &[Relative]) -> bool {
    let listed: HashSet<u32> = relatives
        .iter()
        .map(|relative| relative.process.pid)
        .collect();
    // The first process has no parent, nor has one that came from outside a container.
    relatives
        .iter()
        .all(|relative| relative.parent == 0 || listed.contains(&relative.parent))
}

fn relatives(root: u32, relatives: &[Relative]) -> Vec<Relative> {
    let links = relatives
        .iter()
        .map(|relative| (relative.process.pid, relative.parent));
    let numbers = below(root, &links.collect::<Vec<_>>());
    let by_number: HashMap<u32, Relative> = relatives
        .iter()
        .map(|relative| (relative.process.pid, *relative))
        .collect();
    let result = numbers.iter().filter_map(|pid| by_number.get(pid));
    result.copied().collect()
}

/// The numbers of all descendants of a process, parents before children, by pairs of a process
/// and its parent.
pub(crate) fn below(root: u32, links: &[(u32, u32)]) -> Vec<u32> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for (pid, parent) in links {
        children.entry(*parent).or_default().push(*pid);
    }
    let mut numbers = Vec::new();
    let mut parents = VecDeque::from([root]);
    // Each parent is removed once, so that a ring of links has an end.
    while let Some(parent) = parents.pop_front() {
        for child in children.remove(&parent).unwrap_or_default() {
            parents.push_back(child);
            numbers.push(child);
        }
    }
    numbers
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn relative(pid: u32, parent: u32) -> Relative {
        Relative {
            process: Process {
                pid,
                start_ticks: 0,
            },
            parent,
            state: RelativeState::Runs,
            reaped_cpu: Nanos(0),
        }
    }

    #[test]
    fn descendants_come_after_their_parents_and_strangers_are_left_out() {
        // Method: numbers that went round, so that children have lower ones.
        let pairs = [(1, 0), (3, 9), (4, 3), (7, 1), (9, 5), (5, 1)];
        let all_relatives = pairs.map(|(pid, parent)| relative(pid, parent));
        let numbers: Vec<u32> = relatives(5, &all_relatives)
            .iter()
            .map(|relative| relative.process.pid)
            .collect();
        assert_eq!(numbers, [9, 3, 4]);
        assert!(has_all_parents(&all_relatives));
        assert!(!has_all_parents(&all_relatives[1..]));
    }

    proptest! {
        #[test]
        fn any_links_have_an_end(links in prop::collection::vec((0..9_u32, 0..9_u32), 0..30)) {
            // Method: random links, rings and doubles among them.
            let all_relatives: Vec<Relative> = links.iter().map(|(pid, parent)| relative(*pid, *parent)).collect();
            prop_assert!(relatives(1, &all_relatives).len() <= all_relatives.len());
        }
    }
}
