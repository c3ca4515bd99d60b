//! How much this machine lets abx sample.

use std::fmt;
use std::io;
use std::str::FromStr;

use rustix::thread::sched_getcpu;

use super::attributes::{self, EventScope};
use crate::kernel_files::read_lossy;

/// What [`super::CpuSampler`] may sample here, and what forbids the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SamplingRights {
    /// Whole CPUs, in the kernel and outside of it: `CpuSampler::open`.
    All,
    /// The user code of the user's processes: `CpuSampler::of_processes`.
    OwnUserOnly(SamplingLimit),
    None(SamplingLimit),
}

/// The reason why sampling is forbidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SamplingLimit {
    /// The setting `kernel.perf_event_paranoid` has this value, and abx lacks the capability
    /// `CAP_PERFMON`.
    Paranoid(i32),
    /// The setting would allow it: a filter of system calls (containers) or a security module
    /// does not.
    Filtered,
    /// The kernel has no perf events, or a filter hides them.
    Absent,
    /// Another error of the system call.
    Failed(i32),
}

impl SamplingRights {
    /// Tries to open events, which are never enabled.
    #[must_use]
    pub fn of_this_process() -> SamplingRights {
        let cpu = i32::try_from(sched_getcpu()).unwrap_or(0);
        let limit = match attributes::open(EventScope::Processor, cpu, TRIAL_HZ) {
            Ok(_) => return SamplingRights::All,
            Err(error) => limit(&error, paranoid()),
        };
        match attributes::open(EventScope::ThreadUser(0), cpu, TRIAL_HZ) {
            Ok(_) => SamplingRights::OwnUserOnly(limit),
            Err(_) => SamplingRights::None(limit),
        }
    }
}

impl fmt::Display for SamplingLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SamplingLimit::Paranoid(value) => write!(
                f,
                "kernel.perf_event_paranoid is {value}, and this process has no CAP_PERFMON"
            ),
            SamplingLimit::Filtered => {
                f.write_str("a seccomp filter or a security module forbids perf_event_open")
            }
            SamplingLimit::Absent => f.write_str("this kernel has no perf_event_open"),
            SamplingLimit::Failed(errno) => {
                write!(
                    f,
                    "perf_event_open: {}",
                    io::Error::from_raw_os_error(*errno)
                )
            }
        }
    }
}

/// `paranoid` is the setting, if it can be read.
fn limit(error: &io::Error, paranoid: Option<i32>) -> SamplingLimit {
    let errno = error.raw_os_error().unwrap_or(0);
    match (errno, paranoid) {
        (libc::ENOSYS | libc::ENOENT | libc::EOPNOTSUPP, _) => SamplingLimit::Absent,
        (libc::EACCES | libc::EPERM, Some(value)) if value > SETTING_FOR_ALL => {
            SamplingLimit::Paranoid(value)
        }
        (libc::EACCES | libc::EPERM, _) => SamplingLimit::Filtered,
        (errno, _) => SamplingLimit::Failed(errno),
    }
}

/// The setting `kernel.perf_event_paranoid`: above 0, users without the capability
/// `CAP_PERFMON` may not sample the kernel. `None` if it cannot be read.
#[must_use]
pub fn paranoid() -> Option<i32> {
    setting("perf_event_paranoid")
}

/// The setting `kernel.kptr_restrict`: above 0, users without the capability `CAP_SYSLOG` see
/// no addresses of the kernel's functions, and above 1 no user does. `None` if it cannot be
/// read.
#[must_use]
pub fn kptr_restrict() -> Option<i32> {
    setting("kptr_restrict")
}

/// The setting `kernel.perf_event_max_sample_rate`: the most samples per second that an event
/// may take. `None` if it cannot be read.
#[must_use]
pub fn max_sample_rate() -> Option<u32> {
    setting("perf_event_max_sample_rate")
}

fn setting<T: FromStr>(name: &str) -> Option<T> {
    let text = read_lossy(format!("/proc/sys/kernel/{name}")).ok()?;
    text.trim().parse().ok()
}

/// The highest `kernel.perf_event_paranoid` with which all users may sample whole CPUs
/// with the kernel.
const SETTING_FOR_ALL: i32 = 0;
const TRIAL_HZ: u32 = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_names_what_forbids_it() {
        // Method: each error of the system call, with settings that explain it and with some
        // that do not.
        let errno = io::Error::from_raw_os_error;
        let cases = [
            (libc::EACCES, Some(2), SamplingLimit::Paranoid(2)),
            (libc::EPERM, Some(4), SamplingLimit::Paranoid(4)),
            (libc::EPERM, Some(0), SamplingLimit::Filtered),
            (libc::EACCES, None, SamplingLimit::Filtered),
            (libc::ENOSYS, Some(2), SamplingLimit::Absent),
            (libc::EMFILE, Some(2), SamplingLimit::Failed(libc::EMFILE)),
        ];
        for (error, paranoid, expected) in cases {
            assert_eq!(limit(&errno(error), paranoid), expected, "{error}");
        }
    }
}
