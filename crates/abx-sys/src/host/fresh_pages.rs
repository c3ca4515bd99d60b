//! Memory that the kernel has to provide again each time that it is used.

use std::io;
use std::ptr::{self, NonNull};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// Pages whose every [`FreshPages::touch`] costs a page fault each.
#[derive(Debug)]
pub struct FreshPages {
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: The memory belongs to this value alone, and only `&mut FreshPages` writes to it.
#[allow(unsafe_code)]
unsafe impl Send for FreshPages {}

impl FreshPages {
    /// Reserves this many pages, at least one, which are not yet in memory.
    ///
    /// # Errors
    /// ENOMEM if there is no such room.
    #[allow(unsafe_code)]
    pub fn new(pages: usize) -> io::Result<FreshPages> {
        let bytes = pages.max(1).checked_mul(rustix::param::page_size());
        let bytes = bytes.ok_or(io::ErrorKind::OutOfMemory)?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: The kernel chooses the place, so that nothing else is mapped there.
        let base =
            unsafe { mmap_anonymous(ptr::null_mut(), bytes, protection, MapFlags::PRIVATE) }?;
        let base = NonNull::new(base.cast()).expect("the kernel maps nothing at zero");
        let pages = FreshPages { base, bytes };
        // One fault would provide 512 pages. Kernels that cannot do that refuse this.
        let _ = pages.advise(Advice::LinuxNoHugepage);
        Ok(pages)
    }

    /// Writes to each page, and gives all back to the kernel.
    ///
    /// # Errors
    /// The kernel's; none is known.
    #[allow(unsafe_code)]
    pub fn touch(&mut self) -> io::Result<()> {
        for offset in (0..self.bytes).step_by(rustix::param::page_size()) {
            // SAFETY: The byte is inside the mapping, which may be written to.
            unsafe { self.base.as_ptr().add(offset).write_volatile(1) };
        }
        self.advise(Advice::LinuxDontNeed)
    }

    #[allow(unsafe_code)]
    fn advise(&self, advice: Advice) -> io::Result<()> {
        // SAFETY: The mapping is whole, and no reference into it exists.
        Ok(unsafe { madvise(self.base.as_ptr().cast(), self.bytes, advice) }?)
    }
}

impl Drop for FreshPages {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // SAFETY: The mapping was made with this length, and no reference into it exists.
        let unmapped = unsafe { munmap(self.base.as_ptr().cast(), self.bytes) };
        debug_assert!(unmapped.is_ok(), "{unmapped:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Page faults of this thread without input or output, from `/proc/thread-self/stat`.
    fn faults() -> u64 {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        let fields = stat.rsplit_once(')').unwrap().1;
        fields.split_whitespace().nth(7).unwrap().parse().unwrap()
    }

    #[test]
    fn each_page_is_a_fault_each_time() {
        // Method: the kernel's count of this thread's page faults, over many touches, allowing
        // for some faults of the test itself.
        let mut pages = FreshPages::new(600).unwrap();
        let before = faults();
        for _ in 0..10 {
            pages.touch().unwrap();
        }
        let added = faults() - before;
        assert!((6000..6100).contains(&added), "{added}");
    }
}
