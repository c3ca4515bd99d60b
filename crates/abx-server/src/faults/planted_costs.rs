//! Costs of known kinds, planted in each response: the truth against which a ledger of CPU time is
//! checked.

use std::fs::File;
use std::io::{self, Write};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;

use super::sleeping_lock::SleepingLock;
use abx_sys::FreshPages;
use rustix::process::getppid;

/// The planted costs of each response, in addition to [`crate::Work`]. The default is none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlantedCosts {
    /// Calls of `getppid`.
    pub extra_syscalls: u32,
    /// The number of writes that send the ready bytes, of at least one byte each.
    pub split_writes: Option<NonZeroU32>,
    /// Pages of fresh memory that are written, and released by one `madvise`.
    pub touch_pages: u32,
    /// A file that gets a line per response, with one `write`.
    pub log: Option<PathBuf>,
    /// Whether the work of all threads is done under one lock.
    pub lock: bool,
}

/// Pays the costs on one thread.
#[derive(Debug)]
pub(crate) struct CostPlanter {
    extra_syscalls: u32,
    split_writes: usize,
    touch_pages: u32,
    /// Allocated at the first response of each thread.
    pages: Option<FreshPages>,
    log: Option<Arc<File>>,
    lock: Option<Arc<SleepingLock>>,
}

impl CostPlanter {
    /// Opens the log.
    ///
    /// # Errors
    /// If the log cannot be opened.
    pub(crate) fn open(costs: &PlantedCosts) -> io::Result<CostPlanter> {
        let open = |path: &PathBuf| File::options().append(true).create(true).open(path);
        Ok(CostPlanter {
            extra_syscalls: costs.extra_syscalls,
            split_writes: costs.split_writes.map_or(1, |writes| writes.get() as usize),
            touch_pages: costs.touch_pages,
            pages: None,
            log: costs.log.as_ref().map(open).transpose()?.map(Arc::new),
            lock: costs.lock.then(Arc::default),
        })
    }

    /// The same costs for another thread, with the same log and lock.
    pub(crate) fn for_thread(&self) -> CostPlanter {
        CostPlanter {
            pages: None,
            log: self.log.clone(),
            lock: self.lock.clone(),
            ..*self
        }
    }

    /// Pays for one response; `work` performs its CPU work.
    pub(crate) fn pay(&mut self, work: impl FnOnce()) {
        match &self.lock {
            None => work(),
            Some(lock) => lock.hold(work),
        }
        for _ in 0..self.extra_syscalls {
            let _ = getppid();
        }
        if self.touch_pages > 0 {
            self.touch();
        }
        if let Some(log) = &self.log {
            // A full disk must not affect responses.
            let _ = (&**log).write_all(LOG_LINE);
        }
    }

    /// The end of the write that begins at `sent`, of this many bytes in total.
    pub(crate) fn write_end(&self, sent: usize, bytes: usize) -> usize {
        if self.split_writes == 1 {
            return bytes;
        }
        let piece = bytes.div_ceil(self.split_writes).max(1);
        bytes.min((sent / piece + 1) * piece)
    }

    fn touch(&mut self) {
        let pages = self.touch_pages as usize;
        if self.pages.is_none() {
            self.pages = FreshPages::new(pages).ok();
        }
        // Without memory, no cost can be planted.
        let _ = self.pages.as_mut().map(FreshPages::touch);
    }
}

/// As long as a line of an access log.
const LOG_LINE: &[u8] = b"127.0.0.1 - - [01/Jan/2026:00:00:00 +0000] \"GET / HTTP/1.1\" 200 87\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_split_into_the_configured_number_of_writes() {
        // Method: the ends of all writes, with more and with fewer bytes than writes.
        let ends = |writes, bytes| {
            let planter = CostPlanter::open(&PlantedCosts {
                split_writes: NonZeroU32::new(writes),
                ..PlantedCosts::default()
            });
            let planter = planter.unwrap();
            let mut ends = vec![0];
            while ends[ends.len() - 1] < bytes {
                ends.push(planter.write_end(ends[ends.len() - 1], bytes));
            }
            ends
        };
        assert_eq!(ends(1, 10), [0, 10]);
        assert_eq!(ends(3, 10), [0, 4, 8, 10]);
        assert_eq!(ends(10, 3), [0, 1, 2, 3]);
    }

    #[test]
    fn threads_share_log_and_lock() {
        // Method: the planters of two threads; both hold the same lock during their work.
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut first = CostPlanter::open(&PlantedCosts {
            extra_syscalls: 2,
            touch_pages: 3,
            log: Some(path.clone()),
            lock: true,
            ..PlantedCosts::default()
        })
        .unwrap();
        let mut second = first.for_thread();
        let lock = first.lock.clone().unwrap();
        first.pay(|| assert!(lock.is_held()));
        second.pay(|| assert!(lock.is_held()));
        assert!(!lock.is_held());
        assert_eq!(std::fs::read(&path).unwrap(), LOG_LINE.repeat(2));
        assert!(first.pages.is_some());
    }
}
