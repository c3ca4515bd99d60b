//! Locks on files (`flock`), by which processes of abx keep out of each other's way. The system
//! releases a lock when its holder ends, even if it is killed, in every PID namespace.

use std::fs::File;
use std::io::{self, Write};
use std::ops::Deref;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// A file that is locked until this is dropped.
#[derive(Debug)]
pub struct LockedFile(File);

/// Which other holders a lock allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// Any that share it, too.
    Shared,
    /// None.
    Alone,
}

impl LockedFile {
    /// Locks a file; `None` if another holder does not allow it now.
    ///
    /// # Errors
    /// The error of the system, such as that of a file system without locks.
    pub fn take(file: File, hold: Hold) -> io::Result<Option<LockedFile>> {
        let operation = match hold {
            Hold::Shared => FlockOperation::NonBlockingLockShared,
            Hold::Alone => FlockOperation::NonBlockingLockExclusive,
        };
        match flock(&file, operation) {
            Ok(()) => Ok(Some(LockedFile(file))),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Locks a file for this holder alone, after all others have ended. On a file system without
    /// locks, the file stays unlocked.
    #[must_use]
    pub fn wait_for(file: File) -> LockedFile {
        let _ = flock(&file, FlockOperation::LockExclusive);
        LockedFile(file)
    }
}

impl Deref for LockedFile {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl Write for LockedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Drop for LockedFile {
    /// To close the file is not enough: a process that another thread is starting has a copy of it
    /// until it executes its program, and the lock with it.
    fn drop(&mut self) {
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(path: &std::path::Path) -> File {
        File::options()
            .create(true)
            .append(true)
            .open(path)
            .unwrap()
    }

    #[test]
    fn a_lock_allows_others_only_if_all_share_it() {
        // Method: every pair of holds; then the first is dropped.
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let take = |hold| LockedFile::take(open(&path), hold).unwrap();
        let first = take(Hold::Shared).unwrap();
        assert!(take(Hold::Shared).is_some());
        assert!(take(Hold::Alone).is_none());
        drop(first);
        let _alone = take(Hold::Alone).unwrap();
        assert!(take(Hold::Shared).is_none() && take(Hold::Alone).is_none());
    }

    #[test]
    fn a_copy_of_the_file_in_a_starting_process_does_not_keep_the_lock() {
        // Method: the copy shares the open file, as one made by `fork` does.
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let first = LockedFile::wait_for(open(&path));
        let _copy = first.try_clone().unwrap();
        drop(first);
        let second = LockedFile::take(open(&path), Hold::Alone).unwrap();
        assert!(second.is_some());
    }
}
