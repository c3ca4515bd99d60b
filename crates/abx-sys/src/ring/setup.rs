//! How a ring is made, and why there may be none.
//!
//! What is asked of the kernel came with Linux 6.1 (deferred task work is the
//! newest part). Containers often forbid io_uring altogether.

use std::io;

use io_uring::{IoUring, Probe, opcode};

use super::buffers::Buffers;
use super::{BUFFER_GROUP, RingOptions};

/// Why there is no ring. What does the same work without one is the caller's to say.
#[derive(Debug, thiserror::Error)]
pub enum RingError {
    /// The kernel was built without io_uring or is older than it.
    #[error("this kernel has no io_uring (Linux 6.1 has what is needed)")]
    Absent,
    /// A seccomp filter or the setting `kernel.io_uring_disabled` forbids it.
    #[error(
        "io_uring is forbidden here, by a seccomp filter (containers) or by \
         `sysctl kernel.io_uring_disabled`"
    )]
    Forbidden,
    /// There is io_uring, but without something that is needed.
    #[error("this kernel's io_uring lacks {0}: Linux 6.1 or later has it")]
    Lacks(&'static str),
    /// A limit was met: locked memory, descriptors.
    #[error("no io_uring could be made: {0}; look at `ulimit -l` and `ulimit -n`")]
    Failed(#[from] io::Error),
}

/// A step of the setup, and what the kernel lacks when it does not know it.
#[derive(Debug, Clone, Copy)]
enum SetupStep {
    Make,
    Probe,
    Buffers,
}

/// Makes the ring and its buffers, and looks whether all that is used is there.
pub(super) fn make(options: &RingOptions) -> Result<(IoUring, Buffers), RingError> {
    let ring = bare(options.entries, &NEEDED)?;
    let mut buffers = Buffers::new(options.buffer_count, options.buffer_bytes)?;
    register(&ring, &buffers)?;
    buffers.offer_all();
    Ok((ring, buffers))
}

/// An operation by its number, and its name for people.
pub(crate) type Needed = (u8, &'static str);

/// What a ring for connections asks for.
const NEEDED: [Needed; 4] = [
    (opcode::Connect::CODE, "the operation connect"),
    (opcode::Send::CODE, "the operation send"),
    (opcode::Recv::CODE, "the operation recv"),
    (opcode::AsyncCancel::CODE, "the operation cancel"),
];

/// Makes a ring without buffers that knows these operations.
pub(crate) fn bare(entries: u32, needed: &[Needed]) -> Result<IoUring, RingError> {
    let ring = IoUring::builder()
        // One thread hands in and takes out; the kernel does its part of the
        // work in that thread's waits, not in interrupts of its parsing.
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_coop_taskrun()
        // A bad entry does not hold up those behind it.
        .setup_submit_all()
        .setup_clamp()
        // A wait may bring several completions for each entry handed in.
        .setup_cqsize(entries.saturating_mul(COMPLETIONS_PER_ENTRY))
        .dontfork()
        .build(entries)
        .map_err(|error| refused(error, SetupStep::Make))?;
    check_features(&ring)?;
    check_opcodes(&ring, needed)?;
    Ok(ring)
}

fn check_features(ring: &IoUring) -> Result<(), RingError> {
    let params = ring.params();
    let needed = [
        (
            params.is_feature_nodrop(),
            "completions that are never dropped",
        ),
        (
            params.is_feature_submit_stable(),
            "entries that are read when handed in",
        ),
        (
            params.is_feature_fast_poll(),
            "waiting for sockets without threads",
        ),
        (params.is_feature_ext_arg(), "waits with a time limit"),
        (params.is_feature_skip_cqe_on_success(), "silent success"),
    ];
    match needed.iter().find(|(is_there, _)| !is_there) {
        Some((_, name)) => Err(RingError::Lacks(name)),
        None => Ok(()),
    }
}

fn check_opcodes(ring: &IoUring, needed: &[Needed]) -> Result<(), RingError> {
    let mut probe = Probe::new();
    ring.submitter()
        .register_probe(&mut probe)
        .map_err(|error| refused(error, SetupStep::Probe))?;
    match needed.iter().find(|(code, _)| !probe.is_supported(*code)) {
        Some((_, name)) => Err(RingError::Lacks(name)),
        None => Ok(()),
    }
}

/// Tells the kernel where the buffers are: packed where that is safe, else whole.
#[allow(unsafe_code)]
fn register(ring: &IoUring, buffers: &Buffers) -> Result<(), RingError> {
    let with_flags = |flags| {
        // SAFETY: The list is a mapping of `count` entries that `Ring` keeps for
        // longer than the ring.
        unsafe {
            ring.submitter().register_buf_ring_with_flags(
                buffers.address(),
                buffers.count(),
                BUFFER_GROUP,
                flags,
            )
        }
    };
    if is_packing_safe() && with_flags(PACKED).is_ok() {
        return Ok(());
    }
    with_flags(0).map_err(|error| refused(error, SetupStep::Buffers))
}

/// Whether the kernel reports packed bytes in the order in which it wrote them.
///
/// Packing came with Linux 6.12. Until 6.16 a completion that had been put off
/// could be overtaken by one of a multishot receive, and the place of packed
/// bytes in their buffer follows from the order of completions alone.
fn is_packing_safe() -> bool {
    let release = rustix::system::uname();
    release
        .release()
        .to_str()
        .is_ok_and(|text| version(text) >= Some((6, 16)))
}

/// The first two numbers of a kernel's release, as in `6.18.4-generic`.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release
        .split(|character: char| !character.is_ascii_digit())
        .map_while(|word| word.parse().ok());
    Some((numbers.next()?, numbers.next()?))
}

fn refused(error: io::Error, step: SetupStep) -> RingError {
    match (error.raw_os_error(), step) {
        (Some(libc::ENOSYS), _) => RingError::Absent,
        (Some(libc::EPERM | libc::EACCES), _) => RingError::Forbidden,
        (Some(libc::EINVAL), SetupStep::Make) => RingError::Lacks("deferred task work"),
        (Some(libc::EINVAL), SetupStep::Probe) => RingError::Lacks("a list of its operations"),
        (Some(libc::EINVAL), SetupStep::Buffers) => RingError::Lacks("lists of provided buffers"),
        _ => RingError::Failed(error),
    }
}

const COMPLETIONS_PER_ENTRY: u32 = 4;
/// `IOU_PBUF_RING_INC` of the kernel's interface.
const PACKED: u16 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_what_is_missing() {
        // Method: what the kernel answers, by step, against the error that comes of it.
        let answer = |number, step| refused(io::Error::from_raw_os_error(number), step);
        assert!(matches!(
            answer(libc::ENOSYS, SetupStep::Make),
            RingError::Absent
        ));
        assert!(matches!(
            answer(libc::EPERM, SetupStep::Make),
            RingError::Forbidden
        ));
        assert!(matches!(
            answer(libc::EACCES, SetupStep::Buffers),
            RingError::Forbidden
        ));
        assert!(matches!(
            answer(libc::ENOMEM, SetupStep::Make),
            RingError::Failed(_)
        ));
        let lacks = answer(libc::EINVAL, SetupStep::Make).to_string();
        assert!(lacks.contains("deferred task work"), "{lacks}");
        let lacks = answer(libc::EINVAL, SetupStep::Buffers).to_string();
        assert!(lacks.contains("provided buffers"), "{lacks}");
    }

    #[test]
    fn releases_are_read_as_numbers() {
        // Method: releases as distributions write them, one of them not a release.
        assert_eq!(version("6.18.44-fc-v669"), Some((6, 18)));
        assert_eq!(version("6.1.0-13-amd64"), Some((6, 1)));
        assert_eq!(version("7.0-rc1"), Some((7, 0)));
        assert_eq!(version("linux"), None);
        assert!(version("6.9.1") < Some((6, 16)));
    }
}
