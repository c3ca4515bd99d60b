//! How often, and for how long, the limit of a control group kept us from the
//! CPUs: our own group's limit, or that of one around it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::counters_table::counters;
use crate::host::control_group::Hierarchy;
use crate::kernel_files::{KeptFile, read_lossy};

counters! {
    /// Totals since the groups were made, those of all groups added up; `None` when
    /// no group can be looked into.
    pub struct ThrottlingCounters {
        /// Periods in which a group had used up its quota.
        throttled,
        /// For how long its threads were kept from running, in microseconds.
        throttled_us,
    }
}

impl ThrottlingCounters {
    /// Parses the text of a cpu.stat of either version of control groups.
    /// A group without the counters has no limit, so it throttles nothing.
    fn parse(text: &str) -> (u64, u64) {
        let number = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            line.strip_prefix(' ')?.trim().parse::<u64>().ok()
        };
        let time_us = number("throttled_usec")
            .or_else(|| number("throttled_time").map(|time_ns| time_ns / 1_000));
        (
            number("nr_throttled").unwrap_or_default(),
            time_us.unwrap_or_default(),
        )
    }
}

/// The open files of [`ThrottlingCounters`], one per group around this process.
#[derive(Debug)]
pub(crate) struct ThrottlingFiles(Vec<KeptFile>);

impl ThrottlingFiles {
    /// The files of the calling process's groups; none if /proc does not list them.
    pub(crate) fn open() -> ThrottlingFiles {
        let groups = read_lossy("/proc/self/cgroup").unwrap_or_default();
        let mounts = read_lossy("/proc/self/mountinfo").unwrap_or_default();
        let folders = folders(&groups, &mounts);
        ThrottlingFiles(
            folders
                .iter()
                .map(|folder| KeptFile::open(folder.join("cpu.stat")))
                .collect(),
        )
    }

    pub(crate) fn read(&mut self) -> ThrottlingCounters {
        let mut sum = None;
        for file in &mut self.0 {
            if let Some(text) = file.read() {
                let (periods, time_us) = ThrottlingCounters::parse(&text);
                let (all_periods, all_us): &mut (u64, u64) = sum.get_or_insert_default();
                *all_periods = all_periods.saturating_add(periods);
                *all_us = all_us.saturating_add(time_us);
            }
        }
        ThrottlingCounters {
            throttled: sum.map(|(periods, _)| periods),
            throttled_us: sum.map(|(_, time_us)| time_us),
        }
    }
}

/// The folders of a process's group for CPUs and of all groups around it, in
/// every hierarchy that may hold a limit.
pub(super) fn folders(groups: &str, mounts: &str) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    let mut known = HashSet::new();
    for hierarchy in [Hierarchy::First("cpu"), Hierarchy::Second] {
        let Some(group_folder) = hierarchy.folder(groups, mounts) else {
            continue;
        };
        let ancestors = group_folder.path.ancestors();
        let around = ancestors.take_while(|path| path.starts_with(&group_folder.mount_point));
        paths.extend(
            around
                .map(Path::to_owned)
                .filter(|path| known.insert(path.clone())),
        );
    }
    paths
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MOUNTS: &str = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n\
        32 31 0:29 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n\
        33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n\
        41 31 0:38 /docker /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
    const GROUPS: &str = "4:cpuset:/b\n3:cpu,cpuacct:/a/b\n0::/docker/1\n";

    #[test]
    fn the_groups_around_a_group_are_found() {
        // Method: both versions side by side, one mounted as a whole and one in part.
        let paths = folders(GROUPS, MOUNTS);
        let expected = [
            "/sys/fs/cgroup/cpu,cpuacct/a/b",
            "/sys/fs/cgroup/cpu,cpuacct/a",
            "/sys/fs/cgroup/cpu,cpuacct",
            "/sys/fs/cgroup/unified/1",
            "/sys/fs/cgroup/unified",
        ];
        assert_eq!(paths, expected.map(PathBuf::from));
        assert!(folders(GROUPS, "").is_empty());
    }

    #[test]
    fn both_versions_are_counted_in_microseconds() {
        // Method: a text of each version, and one of a group without a limit.
        let first = "nr_periods 9\nnr_throttled 2\nthrottled_time 7000\n";
        let second = "usage_usec 5\nnr_periods 9\nnr_throttled 3\nthrottled_usec 8\n";
        assert_eq!(ThrottlingCounters::parse(first), (2, 7));
        assert_eq!(ThrottlingCounters::parse(second), (3, 8));
        assert_eq!(ThrottlingCounters::parse("usage_usec 5\n"), (0, 0));
    }

    #[test]
    fn without_a_group_the_counters_are_unknown() {
        // Method: no files, and a file that does not exist.
        assert_eq!(
            ThrottlingFiles(Vec::new()).read(),
            ThrottlingCounters::default()
        );
        let missing = KeptFile::open("/proc/no/such/file");
        assert_eq!(ThrottlingFiles(vec![missing]).read().throttled, None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in any::<String>(), other in any::<String>()) {
            // Method: any texts, alone and where paths stand.
            let _ = folders(&text, &other);
            let _ = folders(&format!("0::{text}"), &format!("1 2 3 {other} {text} - cgroup2 x rw"));
            let _ = ThrottlingCounters::parse(&text);
        }
    }
}
