//! The CPU time of a process.

use crate::Nanos;

/// CPU time that a process has used, all its threads, user and kernel, without
/// its children; `None` if there is no such process.
#[must_use]
#[allow(unsafe_code)]
pub fn process_cpu(pid: u32) -> Option<Nanos> {
    let pid = libc::pid_t::try_from(pid).ok().filter(|pid| *pid > 0)?;
    let mut clock: libc::clockid_t = 0;
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: Both calls only write to the one live value whose pointer they get.
    let failed = unsafe {
        libc::clock_getcpuclockid(pid, &raw mut clock) != 0
            || libc::clock_gettime(clock, &raw mut time) != 0
    };
    let seconds = u64::try_from(time.tv_sec).ok()?;
    let nanoseconds = u64::try_from(time.tv_nsec).ok()?;
    (!failed).then(|| Nanos(seconds * 1_000_000_000 + nanoseconds))
}

/// CPU time that this process has used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OwnCpu {
    pub user: Nanos,
    pub system: Nanos,
}

/// CPU time of this process so far, over all of its threads.
#[must_use]
#[allow(unsafe_code)]
pub fn own_cpu() -> OwnCpu {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: The call only writes to the one live value whose pointer it gets, and all
    // zeros, which is what a failure leaves, is a value of this type too.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    let nanos = |time: libc::timeval| {
        Nanos(time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_usec.unsigned_abs() * 1_000)
    };
    OwnCpu {
        user: nanos(usage.ru_utime),
        system: nanos(usage.ru_stime),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_of_a_process_runs_with_its_work() {
        // Method: work until the clock has moved; a clock that stood still would hang.
        let before = process_cpu(std::process::id()).unwrap();
        while process_cpu(std::process::id()).unwrap() == before {}
        let before = own_cpu();
        while own_cpu() == before {}
        assert!(own_cpu().user >= before.user && own_cpu().system >= before.system);
        assert_eq!(process_cpu(0), None);
        assert_eq!(process_cpu(u32::MAX), None);
    }
}
