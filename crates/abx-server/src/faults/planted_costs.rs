//! Costs of known kinds, planted in each response: the truth that a ledger of CPU time is
//! checked against.

use std::fs::File;
use std::io::{self, Write};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use abx_sys::FreshPages;
use rustix::process::getppid;

/// What each response costs on purpose, beside [`crate::Work`]. The default is nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlantedCosts {
    /// Calls of `getppid`.
    pub extra_syscalls: u32,
    /// How many writes send what is ready to be sent, as far as it has as many bytes.
    pub split_writes: Option<NonZeroU32>,
    /// Pages of fresh memory that are written to, and given back by one `madvise`.
    pub touch_pages: u32,
    /// A file that gets a line per response, with one `write`.
    pub log: Option<PathBuf>,
    /// Whether the work of all threads is done under one lock.
    pub lock: bool,
}

/// The costs as one thread pays them.
#[derive(Debug)]
pub(crate) struct CostPlanter {
    extra_syscalls: u32,
    split_writes: usize,
    touch_pages: u32,
    /// Made with the first response, for each thread.
    pages: Option<FreshPages>,
    log: Option<Arc<File>>,
    lock: Option<Arc<Mutex<()>>>,
}

impl CostPlanter {
    /// Opens the log.
    ///
    /// # Errors
    /// Those of the log.
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

    /// The same costs for one more thread, with the same log and lock.
    pub(crate) fn for_thread(&self) -> CostPlanter {
        CostPlanter {
            pages: None,
            log: self.log.clone(),
            lock: self.lock.clone(),
            ..*self
        }
    }

    /// Pays for one response, whose work is given.
    pub(crate) fn pay(&mut self, work: impl FnOnce()) {
        match &self.lock {
            None => work(),
            Some(lock) => {
                let _held = lock.lock().unwrap_or_else(PoisonError::into_inner);
                work();
            }
        }
        for _ in 0..self.extra_syscalls {
            let _ = getppid();
        }
        if self.touch_pages > 0 {
            self.touch();
        }
        if let Some(log) = &self.log {
            // A full disk is the log's trouble, and no response's.
            let _ = (&**log).write_all(LOG_LINE);
        }
    }

    /// Where the write that begins at `sent` ends, of so many bytes.
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
        // Without memory there is no cost to plant.
        let _ = self.pages.as_mut().map(FreshPages::touch);
    }
}

/// As long as a line of an access log.
const LOG_LINE: &[u8] = b"127.0.0.1 - - [01/Jan/2026:00:00:00 +0000] \"GET / HTTP/1.1\" 200 87\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_are_as_many_as_planned() {
        // Method: the ends of all writes, of more and of fewer bytes than writes.
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
        // Method: two threads' planters, of which the second pays while the first works.
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
        first.pay(|| assert!(lock.try_lock().is_err()));
        second.pay(|| assert!(lock.try_lock().is_err()));
        assert!(lock.try_lock().is_ok());
        assert_eq!(std::fs::read(&path).unwrap(), LOG_LINE.repeat(2));
        assert!(first.pages.is_some());
    }
}
