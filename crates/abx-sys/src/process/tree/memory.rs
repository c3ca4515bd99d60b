//! The memory of a tree, with each shared page counted once.

use std::io;

use super::proc_tree::ProcTree;
use crate::kernel_files::{if_there, read_lossy};

/// Memory by its proportional share: a page that n processes share counts 1/n
/// for each of them, so that a tree's sum counts it once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProportionalMemory {
    pub all_bytes: u64,
    /// Memory that belongs to no file: heap, stacks, anything that the program allocates itself.
    pub anonymous_bytes: u64,
    /// Memory that processes share without a file on a disk.
    pub shared_bytes: u64,
}

impl ProportionalMemory {
    /// All except the pages of files. A tree's share of those changes whenever
    /// another process starts or ends the same program, or uses the same library.
    #[must_use]
    pub fn without_files_bytes(&self) -> u64 {
        self.anonymous_bytes.saturating_add(self.shared_bytes)
    }

    fn and(self, other: ProportionalMemory) -> ProportionalMemory {
        ProportionalMemory {
            all_bytes: self.all_bytes.saturating_add(other.all_bytes),
            anonymous_bytes: self.anonymous_bytes.saturating_add(other.anonymous_bytes),
            shared_bytes: self.shared_bytes.saturating_add(other.shared_bytes),
        }
    }
}

impl ProcTree {
    /// Memory in RAM, all members added up. Pages that several of them share
    /// count once for each, so this is an upper bound.
    ///
    /// # Errors
    /// The kernel's error if /proc cannot be read.
    pub fn rss_bytes(&mut self) -> io::Result<u64> {
        self.refresh()?;
        let mut bytes = 0_u64;
        for process in self.members() {
            bytes = bytes.saturating_add(rss_bytes(process.pid)?.unwrap_or_default());
        }
        Ok(bytes)
    }

    /// Memory in RAM of all members, by /proc/PID/smaps_rollup.
    ///
    /// Expensive: the kernel walks through all pages of each process.
    ///
    /// # Errors
    /// `PermissionDenied` for a process that may not be looked into; `NotFound`
    /// when no member has memory; otherwise the kernel's error.
    pub fn proportional_memory(&mut self) -> io::Result<ProportionalMemory> {
        self.refresh()?;
        let mut sum: Option<ProportionalMemory> = None;
        for process in self.members() {
            let path = format!("/proc/{}/smaps_rollup", process.pid);
            let Some(text) = if_there(read_lossy(path))? else {
                continue;
            };
            // A process that has ended and is not yet reaped has an empty file.
            if let Some(memory) = parse(&text) {
                sum = Some(sum.unwrap_or_default().and(memory));
            }
        }
        sum.ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// Memory of one process in RAM; `None` if it has ended.
fn rss_bytes(pid: u32) -> io::Result<Option<u64>> {
    let page_bytes = u64::try_from(rustix::param::page_size()).expect("a page is small");
    let text = if_there(read_lossy(format!("/proc/{pid}/statm")))?;
    let pages = text.as_deref().and_then(resident_pages);
    Ok(pages.map(|pages| pages.saturating_mul(page_bytes)))
}

/// The second number, behind all pages that the process has addresses for.
fn resident_pages(text: &str) -> Option<u64> {
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}

fn parse(text: &str) -> Option<ProportionalMemory> {
    let bytes = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        let kibibytes = line.trim().strip_suffix("kB")?.trim_end();
        kibibytes.parse::<u64>().ok()?.checked_mul(1024)
    };
    Some(ProportionalMemory {
        all_bytes: bytes("Pss:")?,
        anonymous_bytes: bytes("Pss_Anon:")?,
        shared_bytes: bytes("Pss_Shmem:")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_in_ram_is_the_second_number() {
        // Method: a line of the kernel, that of a process that has ended, and this one's.
        assert_eq!(resident_pages("1540 412 380 2 0 120 0\n"), Some(412));
        assert_eq!(resident_pages("0 0 0 0 0 0 0\n"), Some(0));
        assert_eq!(resident_pages(""), None);
        assert!(rss_bytes(std::process::id()).unwrap() > Some(0));
    }

    #[test]
    fn proportional_memory_is_distinguished_from_its_parts() {
        // Method: a text in which the name of one line begins that of others.
        let text = "55d5-7fff ---p 00000000 00:00 0    [rollup]\nRss:    1640 kB\n\
            Pss:     232 kB\nPss_Dirty:  1 kB\nPss_Anon:   116 kB\nPss_File:   108 kB\nPss_Shmem:    8 kB\n";
        let expected = ProportionalMemory {
            all_bytes: 232 * 1024,
            anonymous_bytes: 116 * 1024,
            shared_bytes: 8 * 1024,
        };
        assert_eq!(parse(text), Some(expected));
        assert_eq!(expected.without_files_bytes(), 124 * 1024);
        assert_eq!(parse("Pss: 232 kB\n"), None);
    }
}
