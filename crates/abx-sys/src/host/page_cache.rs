//! How much of a file is in memory, and how to drop it from memory.

use std::fs::File;
use std::io;
use std::num::NonZeroUsize;

use rustix::fs::{Advice, fadvise};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::param::page_size;

/// Pages of a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pages {
    /// Pages that are in memory.
    pub resident: u64,
    pub all: u64,
}

impl Pages {
    /// The pages of both.
    #[must_use]
    pub fn plus(self, other: Pages) -> Pages {
        Pages {
            resident: self.resident + other.resident,
            all: self.all + other.all,
        }
    }
}

/// Makes the kernel drop a file from memory.
///
/// It keeps pages that are not written to the disk yet (see
/// [`File::sync_data`]), that some process has mapped, and all of them where the
/// file system has no disk; [`pages`] shows which are left.
///
/// # Errors
/// The kernel's error; not seen on a regular file.
pub fn drop_pages(file: &File) -> io::Result<()> {
    // No length stands for the whole file.
    Ok(fadvise(
        file,
        0,
        None::<std::num::NonZeroU64>,
        Advice::DontNeed,
    )?)
}

/// How much of a file is in memory. Nothing is read.
///
/// # Errors
/// The kernel's error: no room for a mapping, a file system without mappings.
#[allow(unsafe_code)]
pub fn pages(file: &File) -> io::Result<Pages> {
    let bytes = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
    let Some(bytes) = NonZeroUsize::new(bytes) else {
        return Ok(Pages::default());
    };
    let mut marks = vec![0_u8; bytes.get().div_ceil(page_size())];
    // SAFETY: Without MAP_FIXED the kernel chooses a place that nothing else
    // uses. The mapping is neither read nor written, so a file that shrinks
    // meanwhile does no harm.
    let start = unsafe {
        mmap(
            std::ptr::null_mut(),
            bytes.get(),
            ProtFlags::READ,
            MapFlags::SHARED,
            file,
            0,
        )?
    };
    // SAFETY: The range is the mapping, and `marks` has a byte for each of its pages.
    let response = unsafe { libc::mincore(start, bytes.get(), marks.as_mut_ptr()) };
    let error = io::Error::last_os_error();
    // SAFETY: The range was mapped above and nothing refers to it.
    unsafe { munmap(start, bytes.get())? };
    if response != 0 {
        return Err(error);
    }
    Ok(Pages {
        resident: marks.iter().filter(|mark| *mark & 1 != 0).count() as u64,
        all: marks.len() as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a file system without a disk calls itself.
    const TMPFS: i64 = 0x0102_1994;

    #[test]
    fn a_dropped_file_leaves_memory_if_it_has_a_disk_and_a_read_brings_it_back() {
        // Method: a file of 100 pages and one byte, written, dropped and read again,
        // in the folder for temporary files and in one that has no disk.
        let mut folders = vec![std::env::temp_dir()];
        folders.extend(
            std::fs::exists("/dev/shm")
                .unwrap()
                .then(|| "/dev/shm".into()),
        );
        let bytes = vec![7; 100 * page_size() + 1];
        for folder in folders {
            let folder = tempfile::tempdir_in(folder).unwrap();
            let path = folder.path().join("x");
            std::fs::write(&path, &bytes).unwrap();
            let file = File::open(&path).unwrap();
            let whole = Pages {
                resident: 101,
                all: 101,
            };
            assert_eq!(pages(&file).unwrap(), whole);
            file.sync_data().unwrap();
            drop_pages(&file).unwrap();
            let left = match rustix::fs::fstatfs(&file).unwrap().f_type {
                TMPFS => 101,
                _ => 0,
            };
            assert_eq!(pages(&file).unwrap().resident, left, "{}", path.display());
            std::fs::read(&path).unwrap();
            assert_eq!(pages(&file).unwrap(), whole);
        }
    }

    #[test]
    fn an_empty_file_has_no_pages() {
        // Method: an empty file, whose mapping the kernel would refuse.
        let file = tempfile::tempfile().unwrap();
        drop_pages(&file).unwrap();
        assert_eq!(pages(&file).unwrap(), Pages::default());
    }
}
