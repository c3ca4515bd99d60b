//! Control groups, in which the kernel adds up the use of all processes of a group: in the first
//! version of them, in the second, and where a machine has both.

use std::path::{Path, PathBuf};

use crate::Nanos;
use crate::kernel_files::{KeptFile, read_lossy};

/// A hierarchy of control groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hierarchy {
    /// The hierarchy of the first version with this controller.
    First(&'static str),
    Second,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GroupFolder {
    pub(crate) path: PathBuf,
    pub(crate) mount_point: PathBuf,
}

impl Hierarchy {
    /// The folder of a process's group in it; `groups` is its `cgroup` in /proc, `mounts` our
    /// own mountinfo. `None` if there is no such hierarchy.
    pub(crate) fn folder(self, groups: &str, mounts: &str) -> Option<GroupFolder> {
        let path = self.group(groups)?;
        let (root, point) = mounts.lines().find_map(|line| self.mount(line))?;
        // The mount may show only a part of the hierarchy.
        let below = Path::new(path).strip_prefix(root).unwrap_or(Path::new(""));
        Some(GroupFolder {
            path: Path::new(point).join(below),
            mount_point: PathBuf::from(point),
        })
    }

    /// The path of the group in it.
    fn group(self, groups: &str) -> Option<&str> {
        groups.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            let (controllers, path) = (fields.next()?, fields.next()?);
            self.is_that_of(controllers).then_some(path)
        })
    }

    /// Which part of it is mounted and where, if a line of mountinfo is about it.
    fn mount(self, line: &str) -> Option<(&str, &str)> {
        let (before, after) = line.split_once(" - ")?;
        let mut fields = before.split(' ').skip(3);
        let (root, point) = (fields.next()?, fields.next()?);
        let mut fields = after.split(' ');
        let (kind, options) = (fields.next()?, fields.nth(1)?);
        let is_wanted = match self {
            Hierarchy::Second => kind == "cgroup2",
            Hierarchy::First(_) => kind == "cgroup" && self.is_that_of(options),
        };
        is_wanted.then_some((root, point))
    }

    /// The second version's hierarchy has no controllers in the list of a process.
    fn is_that_of(self, controllers: &str) -> bool {
        match self {
            Hierarchy::Second => controllers.is_empty(),
            Hierarchy::First(wanted) => controllers.split(',').any(|text| text == wanted),
        }
    }
}

/// The CPU time of a control group: that of all its processes, including those that have ended
/// and those in groups below it.
#[derive(Debug)]
pub(crate) struct ControlGroup {
    usage: KeptFile,
    hierarchy: Hierarchy,
}

impl ControlGroup {
    /// The group of a process; `None` if it is our group too, and if it cannot be read.
    pub(crate) fn of_process(pid: u32) -> Option<ControlGroup> {
        let groups = read_lossy(format!("/proc/{pid}/cgroup")).ok()?;
        let own_groups = read_lossy("/proc/self/cgroup").ok()?;
        let mounts = read_lossy("/proc/self/mountinfo").ok()?;
        let (file, hierarchy) = usage_file(&groups, &own_groups, &mounts)?;
        let mut group = ControlGroup {
            usage: KeptFile::open(file),
            hierarchy,
        };
        group.cpu().map(|_| group)
    }

    /// Its CPU time since it was created.
    pub(crate) fn cpu(&mut self) -> Option<Nanos> {
        parse(self.hierarchy, &self.usage.read()?)
    }
}

/// The file with the CPU time of a process's group. If both versions exist, the first one has it:
/// only one of them has the controllers.
fn usage_file(groups: &str, own_groups: &str, mounts: &str) -> Option<(PathBuf, Hierarchy)> {
    let first = Hierarchy::First("cpuacct");
    let (hierarchy, name) = if mounts.lines().any(|line| first.mount(line).is_some()) {
        (first, "cpuacct.usage")
    } else {
        (Hierarchy::Second, "cpu.stat")
    };
    let folder = hierarchy.folder(groups, mounts)?;
    // The time of a process in our own group, or in the root group, includes that of others.
    let is_apart =
        hierarchy.folder(own_groups, mounts)? != folder && folder.path != folder.mount_point;
    is_apart.then(|| (folder.path.join(name), hierarchy))
}

/// The first version has nanoseconds alone, the second microseconds among other lines.
fn parse(hierarchy: Hierarchy, text: &str) -> Option<Nanos> {
    match hierarchy {
        Hierarchy::First(_) => text.trim().parse().ok().map(Nanos),
        Hierarchy::Second => {
            let mut lines = text.lines();
            let micros = lines.find_map(|line| line.strip_prefix("usage_usec "))?;
            let micros: u64 = micros.trim().parse().ok()?;
            Some(Nanos(micros.checked_mul(1_000)?))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FIRST: &str = "32 31 0:29 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n\
        33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n";
    const SECOND: &str = "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
    const GROUPS: &str = "4:cpuset:/b\n3:cpu,cpuacct:/lib/1\n0::/slice/1\n";
    const OWN: &str = "4:cpuset:/\n3:cpu,cpuacct:/\n0::/slice\n";

    #[test]
    fn cpu_time_is_read_in_each_version() {
        // Method: the first version, the second, and both side by side.
        let file = |mounts: &str| usage_file(GROUPS, OWN, mounts).unwrap();
        let first = Hierarchy::First("cpuacct");
        let usage = PathBuf::from("/sys/fs/cgroup/cpu,cpuacct/lib/1/cpuacct.usage");
        assert_eq!(file(FIRST), (usage.clone(), first));
        assert_eq!(file(&[SECOND, FIRST].concat()), (usage, first));
        let stat = PathBuf::from("/sys/fs/cgroup/slice/1/cpu.stat");
        assert_eq!(file(SECOND), (stat, Hierarchy::Second));
        assert_eq!(parse(first, "7000\n"), Some(Nanos(7_000)));
        let text = "nr_periods 9\nusage_usec 8\nuser_usec 5\n";
        assert_eq!(parse(Hierarchy::Second, text), Some(Nanos(8_000)));
    }

    #[test]
    fn a_group_with_other_processes_is_not_used() {
        // Method: our own group, the root group, and a machine without groups.
        assert_eq!(usage_file(GROUPS, GROUPS, FIRST), None);
        assert_eq!(usage_file(OWN, GROUPS, FIRST), None);
        assert_eq!(usage_file(GROUPS, OWN, ""), None);
        assert!(ControlGroup::of_process(std::process::id()).is_none());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in any::<String>(), other in any::<String>()) {
            // Method: any texts, alone and where paths stand.
            let _ = usage_file(&text, &other, &text);
            let mount = format!("1 2 3 {other} {text} - cgroup2 x rw");
            let _ = usage_file(&format!("0::{text}"), "0::/x", &mount);
            let _ = parse(Hierarchy::Second, &text);
            let _ = parse(Hierarchy::First("cpuacct"), &text);
        }
    }
}
