//! Memory that the kernel fills with what comes in, and takes turns of with us.
//!
//! The kernel picks a buffer when bytes have arrived, not when a receive is
//! asked for, so that idle connections hold no memory. Every buffer is either
//! *offered* (the kernel may write to it) or *held* (bytes of it wait for the
//! caller); when its last bytes are given back it is offered again.

use std::io;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::types::BufRingEntry;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

/// Bytes that came in: so many of one buffer, from a place in it on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BufferSpan {
    pub(super) buffer: u16,
    pub(super) from: u32,
    pub(super) len: u32,
}

/// What one buffer is up to.
#[derive(Debug, Clone, Copy, Default)]
struct Use {
    /// So many bytes of it the kernel has filled. `0 <= filled <= size`.
    filled: u32,
    /// So many spans of it have not been given back.
    held: u32,
    /// The kernel writes no more to it until it is offered again.
    is_done: bool,
}

/// The buffers of one ring and the list by which the kernel knows them.
pub(super) struct Buffers {
    list: Mapping,
    memory: Mapping,
    uses: Vec<Use>,
    size: u32,
    /// How often a buffer was offered so far, modulo 2^16.
    tail: u16,
    /// So many buffers the kernel may write to.
    offered: usize,
}

impl Buffers {
    /// Makes `count` buffers of `size` bytes each; `count` is a power of two up to 2^15.
    pub(super) fn new(count: u16, size: u32) -> io::Result<Buffers> {
        assert!(
            count.is_power_of_two(),
            "the kernel's list wraps at a power of two"
        );
        let entries = usize::from(count);
        Ok(Buffers {
            list: Mapping::new(entries * size_of::<BufRingEntry>())?,
            memory: Mapping::new(entries * size as usize)?,
            uses: vec![Use::default(); entries],
            size,
            tail: 0,
            offered: 0,
        })
    }

    /// Where the list begins: page-aligned, and at one place for as long as the buffers live.
    pub(super) fn address(&self) -> u64 {
        self.list.start.expose_provenance() as u64
    }

    /// How many buffers there are.
    pub(super) fn count(&self) -> u16 {
        u16::try_from(self.uses.len()).expect("made from a u16")
    }

    /// Offers all of them, once, after the list was registered.
    pub(super) fn offer_all(&mut self) {
        for buffer in 0..self.count() {
            self.offer(buffer);
        }
        self.publish();
    }

    /// Whether the kernel has a buffer left to write to.
    pub(super) fn has_offered(&self) -> bool {
        self.offered > 0
    }

    /// Takes note that the kernel wrote `len` bytes to `buffer`, next to what it
    /// wrote there before; `has_more` says that it goes on with this buffer, else
    /// the next bytes come to another one, however much room is left.
    pub(super) fn filled(&mut self, buffer: u16, len: u32, has_more: bool) -> BufferSpan {
        let used = &mut self.uses[usize::from(buffer)];
        let from = used.filled;
        used.filled += len;
        assert!(
            used.filled <= self.size,
            "the kernel writes inside of a buffer"
        );
        used.held += 1;
        if !used.is_done && !has_more {
            used.is_done = true;
            self.offered -= 1;
        }
        BufferSpan { buffer, from, len }
    }

    /// The bytes of a span that was not given back.
    #[allow(unsafe_code)]
    pub(super) fn bytes(&self, span: BufferSpan) -> &[u8] {
        let used = &self.uses[usize::from(span.buffer)];
        assert!(used.held > 0 && span.from + span.len <= used.filled);
        let at = usize::from(span.buffer) * self.size as usize + span.from as usize;
        // SAFETY: The range lies inside of the mapping (the buffer's number was
        // just used as an index, and `from + len <= filled <= size`), which is
        // initialised by the kernel and lives as long as `self`. The kernel
        // writes to bytes of a buffer only once per offer, in order, so never
        // again to those below `filled`, and the buffer is not offered again
        // while a span of it is held, which giving it back (`&mut self`) ends.
        unsafe { std::slice::from_raw_parts(self.memory.start.add(at), span.len as usize) }
    }

    /// Ends the use of a span.
    pub(super) fn give_back(&mut self, buffer: u16) {
        let used = &mut self.uses[usize::from(buffer)];
        used.held -= 1;
        if used.held == 0 && used.is_done {
            self.offer(buffer);
        }
    }

    /// Lets the kernel see what was offered since the last call.
    #[allow(unsafe_code)]
    pub(super) fn publish(&self) {
        let first: *const BufRingEntry = self.list.start.cast();
        // SAFETY: The mapping holds at least one entry, is aligned to a page,
        // initialised with zeros, and lives as long as `self`. The tail is 16
        // aligned bits in its first entry that we alone write; the kernel reads
        // them at any time, hence the atomic, whose release orders the entries
        // written before it.
        unsafe {
            let tail = BufRingEntry::tail(first).cast_mut();
            AtomicU16::from_ptr(tail).store(self.tail, Ordering::Release);
        }
    }

    #[allow(unsafe_code)]
    fn offer(&mut self, buffer: u16) {
        self.uses[usize::from(buffer)] = Use::default();
        self.offered += 1;
        let mask = self.count() - 1;
        let place = usize::from(self.tail & mask);
        let at = usize::from(buffer) * self.size as usize;
        let entries: *mut BufRingEntry = self.list.start.cast();
        // SAFETY: `place` is below the number of entries that the mapping was
        // made for. At most that many buffers are offered at a time, so the
        // kernel is done with what this entry said before. The three setters
        // leave the entry's other two bytes alone, which hold the tail in the first.
        unsafe {
            let entry = &mut *entries.add(place);
            entry.set_addr(self.memory.start.add(at).expose_provenance() as u64);
            entry.set_len(self.size);
            entry.set_bid(buffer);
        }
        self.tail = self.tail.wrapping_add(1);
    }
}

/// Zeroed pages, shared with children so that a fork never moves them away from the kernel.
struct Mapping {
    start: *mut u8,
    len: usize,
}

impl Mapping {
    #[allow(unsafe_code)]
    fn new(len: usize) -> io::Result<Mapping> {
        // SAFETY: Without MAP_FIXED the kernel chooses a place that nothing else uses.
        let start = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                len,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
            )?
        };
        Ok(Mapping {
            start: start.cast(),
            len,
        })
    }
}

impl Drop for Mapping {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // SAFETY: The range was mapped by `new` and is unmapped only here; spans
        // of it borrow the buffers that own it. `Ring` keeps it when the kernel
        // may still write to it.
        // An error is impossible for such a range, and nothing could be done about it.
        let _ = unsafe { munmap(self.start.cast(), self.len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(count: u16, size: u32) -> Buffers {
        let mut buffers = Buffers::new(count, size).unwrap();
        buffers.offer_all();
        buffers
    }

    #[test]
    fn a_packed_buffer_is_offered_again_after_its_last_span() {
        // Method: three spans of one buffer, given back in another order than they came.
        let mut buffers = packed(1, 100);
        let first = buffers.filled(0, 40, true);
        let second = buffers.filled(0, 50, true);
        buffers.give_back(first.buffer);
        let third = buffers.filled(0, 10, false);
        assert_eq!((first.from, second.from, third.from), (0, 40, 90));
        assert!(!buffers.has_offered());
        buffers.give_back(third.buffer);
        assert!(!buffers.has_offered());
        buffers.give_back(second.buffer);
        assert!(buffers.has_offered());
        assert_eq!(buffers.filled(0, 1, true).from, 0);
    }

    #[test]
    fn a_packed_buffer_with_room_stays_with_the_kernel() {
        // Method: everything of a half-filled buffer is given back; the next
        // bytes must be expected behind the first, where the kernel writes them.
        let mut buffers = packed(1, 100);
        let first = buffers.filled(0, 40, true);
        buffers.give_back(first.buffer);
        assert!(buffers.has_offered());
        assert_eq!(buffers.filled(0, 10, true).from, 40);
    }

    #[test]
    fn a_whole_buffer_is_done_after_one_span() {
        // Method: one byte in each of two buffers.
        let mut buffers = Buffers::new(2, 100).unwrap();
        buffers.offer_all();
        buffers.filled(1, 1, false);
        assert!(buffers.has_offered());
        buffers.filled(0, 1, false);
        assert!(!buffers.has_offered());
        buffers.give_back(1);
        assert_eq!(buffers.filled(1, 100, false).from, 0);
    }

    #[test]
    #[should_panic(expected = "inside of a buffer")]
    fn more_than_a_buffer_holds_is_a_bug() {
        // Method: a count that cannot be true.
        packed(1, 100).filled(0, 101, false);
    }
}
