//! How many descriptors a process or a thread has open, and how many it may open.

use std::io;
use std::path::Path;

use crate::kernel_files::{if_there, read_lossy};
use crate::process::limits::descriptor_limit;

/// Open descriptors and their limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DescriptorUse {
    pub in_use: u64,
    /// How many may be open; `u64::MAX` is "no limit".
    pub limit: u64,
}

impl DescriptorUse {
    /// The one of the two that is nearer to its limit.
    #[must_use]
    pub fn nearer(self, other: DescriptorUse) -> DescriptorUse {
        // Cross-multiplied: in_use / limit without a division by zero.
        let weight = |descriptor_use: DescriptorUse, limit: u64| {
            u128::from(descriptor_use.in_use) * u128::from(limit)
        };
        if weight(self, other.limit) >= weight(other, self.limit) {
            self
        } else {
            other
        }
    }

    /// The descriptors of one process; `None` if it has ended.
    ///
    /// # Errors
    /// `PermissionDenied` for a process that may not be looked into; otherwise the
    /// kernel's error.
    pub fn of_process(pid: u32) -> io::Result<Option<DescriptorUse>> {
        let folder = format!("/proc/{pid}");
        let in_use = if_there(open_descriptors(Path::new(&folder)))?;
        let limits = if_there(read_lossy(format!("{folder}/limits")))?;
        let limit = limits.map(|text| parse_limit(&text).ok_or(io::ErrorKind::InvalidData));
        match (in_use, limit.transpose()?) {
            (Some(in_use), Some(limit)) => Ok(Some(DescriptorUse { in_use, limit })),
            _ => Ok(None),
        }
    }

    /// The descriptors of the thread of this process that has most open: threads may have separate
    /// tables.
    ///
    /// # Errors
    /// The kernel's error if /proc cannot be read.
    pub fn of_own_threads() -> io::Result<DescriptorUse> {
        let mut most = 0;
        for task in std::fs::read_dir("/proc/self/task")? {
            let Some(task) = if_there(task)? else { break };
            let in_use = if_there(open_descriptors(&task.path()))?;
            most = most.max(in_use.unwrap_or_default());
        }
        Ok(DescriptorUse {
            in_use: most,
            limit: descriptor_limit().soft,
        })
    }
}

/// Descriptors of a process or thread by its folder in /proc.
fn open_descriptors(folder: &Path) -> io::Result<u64> {
    let folder = folder.join("fd");
    // From Linux 6.2 on the folder's length is their number; before, it is zero.
    match std::fs::metadata(&folder)?.len() {
        0 => Ok(std::fs::read_dir(&folder)?.count() as u64),
        length => Ok(length),
    }
}

/// The soft limit in the text of /proc/PID/limits.
fn parse_limit(text: &str) -> Option<u64> {
    let mut lines = text.lines();
    let line = lines.find_map(|line| line.strip_prefix("Max open files"))?;
    match line.split_ascii_whitespace().next()? {
        "unlimited" => Some(u64::MAX),
        number => number.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_is_the_first_number() {
        // Method: the kernel's table, and "unlimited".
        let text = "Limit                     Soft Limit           Hard Limit           Units     \n\
            Max processes             15739                15739                processes \n\
            Max open files            1024                 4096                 files     \n";
        assert_eq!(parse_limit(text), Some(1024));
        let unlimited = text.replace("1024", "unlimited");
        assert_eq!(parse_limit(&unlimited), Some(u64::MAX));
        assert_eq!(parse_limit("Max open files\n"), None);
    }

    #[test]
    fn the_nearer_one_has_the_larger_share_rather_than_number() {
        // Method: 90 of 100 compared with 900 of 10,000, both ways, and no limit.
        let small = DescriptorUse {
            in_use: 90,
            limit: 100,
        };
        let large = DescriptorUse {
            in_use: 900,
            limit: 10_000,
        };
        let free = DescriptorUse {
            in_use: 9_000,
            limit: u64::MAX,
        };
        assert_eq!(small.nearer(large), small);
        assert_eq!(large.nearer(small), small);
        assert_eq!(free.nearer(large), large);
    }

    #[test]
    fn more_open_files_are_counted() {
        // Method: open many in this very process, whose other tests may close a few.
        let before = DescriptorUse::of_process(std::process::id())
            .unwrap()
            .unwrap();
        let files: Vec<_> = (0..200)
            .map(|_| std::fs::File::open("/dev/null").unwrap())
            .collect();
        let after = DescriptorUse::of_process(std::process::id())
            .unwrap()
            .unwrap();
        assert!(after.in_use >= before.in_use + 100, "{before:?}, {after:?}");
        assert!(DescriptorUse::of_own_threads().unwrap().in_use >= 200);
        assert_eq!(after.limit, descriptor_limit().soft);
        drop(files);
        assert_eq!(DescriptorUse::of_process(u32::MAX).unwrap(), None);
    }
}
