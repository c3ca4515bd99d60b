//! How a ring is made, and why it may not be possible.
//!
//! Its kernel features came with Linux 6.1 (deferred task work is the
//! newest part). Containers often forbid io_uring altogether.

use std::io;

use io_uring::{IoUring, Probe, opcode};

/// Why there is no ring. The caller states what does the same work without one.
#[derive(Debug, thiserror::Error)]
pub enum RingError {
    #[error("this kernel has no io_uring: Linux 6.1 or later has it")]
    Absent,
    #[error(
        "a seccomp filter (containers) or `sysctl kernel.io_uring_disabled` forbids io_uring here"
    )]
    Forbidden,
    #[error("this kernel's io_uring lacks {0}: Linux 6.1 or later has it")]
    Lacks(&'static str),
    #[error("cannot set up io_uring: {0}; check `ulimit -l` and `ulimit -n`")]
    Failed(#[from] io::Error),
}

/// A step of the setup, which names what the kernel lacks if it does not know the step.
#[derive(Debug, Clone, Copy)]
enum SetupStep {
    Make,
    Probe,
}

/// The operations that are used, each with its name in messages.
const NEEDED: [(u8, &str); 2] = [
    (opcode::Read::CODE, "the operation read"),
    (opcode::Send::CODE, "the operation send"),
];

/// Makes a ring, and checks that the kernel has everything that is used.
pub(super) fn make(entries: u32) -> Result<IoUring, RingError> {
    let ring = IoUring::builder()
        // One thread submits and reaps; the kernel does its part of the
        // work in that thread's waits, not in interrupts of its parsing.
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_coop_taskrun()
        // A bad entry does not block later ones.
        .setup_submit_all()
        .setup_clamp()
        // More may be under way than one call submits.
        .setup_cqsize(entries.saturating_mul(COMPLETIONS_PER_ENTRY))
        .dontfork()
        .build(entries)
        .map_err(|error| refused(error, SetupStep::Make))?;
    check_features(&ring)?;
    check_opcodes(&ring)?;
    Ok(ring)
}

fn check_features(ring: &IoUring) -> Result<(), RingError> {
    let params = ring.params();
    let needed = [
        (params.is_feature_nodrop(), "IORING_FEAT_NODROP"),
        (
            params.is_feature_submit_stable(),
            "IORING_FEAT_SUBMIT_STABLE",
        ),
        (params.is_feature_fast_poll(), "IORING_FEAT_FAST_POLL"),
        (params.is_feature_ext_arg(), "IORING_FEAT_EXT_ARG"),
    ];
    match needed.iter().find(|(is_there, _)| !is_there) {
        Some((_, name)) => Err(RingError::Lacks(name)),
        None => Ok(()),
    }
}

fn check_opcodes(ring: &IoUring) -> Result<(), RingError> {
    let mut probe = Probe::new();
    ring.submitter()
        .register_probe(&mut probe)
        .map_err(|error| refused(error, SetupStep::Probe))?;
    match NEEDED.iter().find(|(code, _)| !probe.is_supported(*code)) {
        Some((_, name)) => Err(RingError::Lacks(name)),
        None => Ok(()),
    }
}

fn refused(error: io::Error, step: SetupStep) -> RingError {
    match (error.raw_os_error(), step) {
        (Some(libc::ENOSYS), _) => RingError::Absent,
        (Some(libc::EPERM | libc::EACCES), _) => RingError::Forbidden,
        (Some(libc::EINVAL), SetupStep::Make) => RingError::Lacks("IORING_SETUP_DEFER_TASKRUN"),
        (Some(libc::EINVAL), SetupStep::Probe) => RingError::Lacks("IORING_REGISTER_PROBE"),
        _ => RingError::Failed(error),
    }
}

const COMPLETIONS_PER_ENTRY: u32 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_what_is_missing() {
        // Method: the kernel's error per step, and the resulting message.
        let response = |number, step| refused(io::Error::from_raw_os_error(number), step);
        assert!(matches!(
            response(libc::ENOSYS, SetupStep::Make),
            RingError::Absent
        ));
        assert!(matches!(
            response(libc::EPERM, SetupStep::Make),
            RingError::Forbidden
        ));
        assert!(matches!(
            response(libc::EACCES, SetupStep::Probe),
            RingError::Forbidden
        ));
        assert!(matches!(
            response(libc::ENOMEM, SetupStep::Make),
            RingError::Failed(_)
        ));
        let lacks = response(libc::EINVAL, SetupStep::Make).to_string();
        assert!(lacks.contains("IORING_SETUP_DEFER_TASKRUN"), "{lacks}");
        let lacks = response(libc::EINVAL, SetupStep::Probe).to_string();
        assert!(lacks.contains("IORING_REGISTER_PROBE"), "{lacks}");
    }
}
