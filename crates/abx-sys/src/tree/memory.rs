//! What memory a tree holds, each shared page counted once in all.

use std::io;

use super::ProcTree;
use crate::process::{if_there, read_lossy};

/// Memory by its proportional share: a page that n processes share counts 1/n
/// for each of them, so that a tree's sum counts it once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProportionalMemory {
    /// All of it, in bytes.
    pub all_bytes: u64,
    /// What belongs to no file: heap, stacks, made by the program itself.
    pub anonymous_bytes: u64,
}

impl ProcTree {
    /// Memory in RAM of all members, by /proc/PID/smaps_rollup.
    ///
    /// Dear: the kernel walks through all pages of each process.
    ///
    /// # Errors
    /// `PermissionDenied` for a process that may not be looked into; `NotFound`
    /// when no member has memory; what the kernel says else.
    pub fn proportional_memory(&mut self) -> io::Result<ProportionalMemory> {
        self.refresh()?;
        let mut sum = None;
        for process in self.members() {
            let path = format!("/proc/{}/smaps_rollup", process.pid);
            let Some(text) = if_there(read_lossy(path))? else {
                continue;
            };
            // One that has ended and was not reaped yet has an empty file.
            if let Some(memory) = parse(&text) {
                let all: &mut ProportionalMemory = sum.get_or_insert_default();
                all.all_bytes = all.all_bytes.saturating_add(memory.all_bytes);
                all.anonymous_bytes = all.anonymous_bytes.saturating_add(memory.anonymous_bytes);
            }
        }
        sum.ok_or_else(|| io::ErrorKind::NotFound.into())
    }
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
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proportional_memory_is_told_from_its_parts() {
        // Method: a text in which the name of one line begins that of others.
        let text = "55d5-7fff ---p 00000000 00:00 0    [rollup]\nRss:    1640 kB\n\
            Pss:     232 kB\nPss_Dirty:  1 kB\nPss_Anon:   116 kB\n";
        let expected = ProportionalMemory {
            all_bytes: 232 * 1024,
            anonymous_bytes: 116 * 1024,
        };
        assert_eq!(parse(text), Some(expected));
        assert_eq!(parse("Pss: 232 kB\n"), None);
    }
}
