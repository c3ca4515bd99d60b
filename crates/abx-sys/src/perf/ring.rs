//! The memory that the kernel writes an event's records into.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};

use perf_event_open_sys::bindings::perf_event_mmap_page;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// A page of positions, then a power of two pages of records.
#[derive(Debug)]
pub(super) struct Ring {
    base: NonNull<u8>,
    page_bytes: usize,
    record_bytes: usize,
}

// SAFETY: The memory belongs to this value alone, and no thread of this process but the one
// that holds `&mut Ring` reads it or moves its tail.
#[allow(unsafe_code)]
unsafe impl Send for Ring {}

impl Ring {
    /// Maps the ring of an event, with room for at least `bytes`, at most [`RING_BYTES_MAX`].
    ///
    /// # Errors
    /// EPERM if the user may lock no more memory (`kernel.perf_event_mlock_kb`, `ulimit -l`).
    #[allow(unsafe_code)]
    pub(super) fn map(event: &OwnedFd, bytes: usize) -> io::Result<Ring> {
        let page_bytes = rustix::param::page_size();
        let pages = bytes.min(RING_BYTES_MAX).div_ceil(page_bytes).max(1);
        let record_bytes = pages.next_power_of_two() * page_bytes;
        // SAFETY: The kernel chooses the place, so that nothing else is mapped there.
        let base = unsafe {
            mmap(
                ptr::null_mut(),
                page_bytes + record_bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                event.as_fd(),
                0,
            )
        }?;
        Ok(Ring {
            base: NonNull::new(base.cast()).expect("the kernel maps nothing at zero"),
            page_bytes,
            record_bytes,
        })
    }

    /// Moves all records that the kernel has finished to the end of `out`.
    #[allow(unsafe_code)]
    pub(super) fn take(&mut self, out: &mut Vec<u8>) {
        // What the kernel wrote before the head is seen after the head was.
        let head = self.head().load(Ordering::Acquire);
        let tail = self.tail().load(Ordering::Relaxed);
        let unread = usize::try_from(head.wrapping_sub(tail)).expect("64-bit processors only");
        let unread = unread.min(self.record_bytes);
        let start = usize::try_from(tail).expect("64-bit processors only") % self.record_bytes;
        let first = unread.min(self.record_bytes - start);
        for (start, bytes) in [(start, first), (0, unread - first)] {
            let from = self.base.as_ptr().wrapping_add(self.page_bytes + start);
            out.reserve(bytes);
            let end = out.len();
            // SAFETY: `from` and `bytes` stay inside the mapping, the kernel writes nothing
            // between tail and head, and `out` has just reserved the room.
            unsafe {
                ptr::copy_nonoverlapping(from, out.as_mut_ptr().add(end), bytes);
                out.set_len(end + bytes);
            }
        }
        // The kernel writes here only after the copies above.
        self.tail().store(head, Ordering::Release);
    }

    /// Bytes written since the ring was mapped; the kernel moves it.
    #[allow(unsafe_code)]
    fn head(&self) -> &AtomicU64 {
        let positions: *mut perf_event_mmap_page = self.base.as_ptr().cast();
        // SAFETY: The first page is this struct, mapped as long as `self`, and aligned.
        unsafe { AtomicU64::from_ptr(&raw mut (*positions).data_head) }
    }

    /// Bytes read since the ring was mapped; [`Ring::take`] moves it.
    #[allow(unsafe_code)]
    fn tail(&self) -> &AtomicU64 {
        let positions: *mut perf_event_mmap_page = self.base.as_ptr().cast();
        // SAFETY: The first page is this struct, mapped as long as `self`, and aligned.
        unsafe { AtomicU64::from_ptr(&raw mut (*positions).data_tail) }
    }
}

impl Drop for Ring {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        let bytes = self.page_bytes + self.record_bytes;
        // SAFETY: The mapping was made with this length, and no reference to it is left.
        let unmapped = unsafe { munmap(self.base.as_ptr().cast(), bytes) };
        debug_assert!(unmapped.is_ok(), "{unmapped:?}");
    }
}

/// The largest ring, for one CPU.
const RING_BYTES_MAX: usize = 32 << 20;
