//! File descriptors that the generator needs.

/// Descriptors that a thread needs in addition to those of its connections.
pub const OWN_DESCRIPTORS: u64 = 64;

/// File descriptors that each of several worker threads needs if they share these connections.
#[must_use]
pub fn descriptors_needed(connections: u64, threads: usize) -> u64 {
    let threads = u64::try_from(threads.max(1)).unwrap_or(u64::MAX);
    connections
        .div_ceil(threads)
        .saturating_add(OWN_DESCRIPTORS)
}
