//! The files that killed processes of abx leave behind, and how a later run recognizes them.
//!
//! A process that makes a file or folder that a kill could leave locks it.

use std::fs::OpenOptions;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use crate::locked_file::{Hold, LockedFile};

/// Whether a process with this number runs here, of this user or another.
pub fn is_alive(process: u32) -> bool {
    Path::new("/proc").join(process.to_string()).exists()
}

/// Locks a regular file of this user; `None` if a process has locked it, or if that cannot be
/// determined.
pub fn lock_if_free(path: &Path) -> Option<LockedFile> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(i32::try_from(flags.bits()).ok()?)
        .open(path)
        .ok()?;
    let metadata = file.metadata().ok()?;
    let is_ours = metadata.is_file() && metadata.uid() == rustix::process::geteuid().as_raw();
    let file = is_ours.then_some(file)?;
    LockedFile::take(file, Hold::Alone).ok()?
}
