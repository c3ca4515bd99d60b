//! The purposes of ledger lines, which make servers comparable that do the same work by different
//! system calls.

use abx_ledger::Line;
use schemars::JsonSchema;
use serde::Serialize;

/// The purpose of CPU time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// A subject's own programs.
    OwnCode,
    Libraries,
    /// Sending responses. Calls that change what a socket holds back, such as TCP_CORK, count too.
    Sending,
    Receiving,
    /// Opening, inspecting, reading and closing files. Closing a connection counts here, too.
    Files,
    /// Waiting for something to do.
    Waiting,
    /// Opening and accepting connections, and queries about sockets.
    Connections,
    /// Locks, and other signals between threads.
    Locks,
    /// Allocating, mapping and first touching memory.
    Memory,
    /// Hardware interrupts and context switches.
    Interruptions,
    /// Everything else.
    Others,
    /// All work of the kernel, if its purpose is not known.
    WholeKernel,
}

impl Purpose {
    #[must_use]
    pub fn of(line: &Line) -> Purpose {
        match line {
            Line::User(file) if is_library(file) => Purpose::Libraries,
            Line::User(_) => Purpose::OwnCode,
            Line::SystemCall(name) => of_system_call(name),
            Line::PageFaults => Purpose::Memory,
            Line::Interrupts | Line::Scheduling => Purpose::Interruptions,
            Line::SystemCallEntry | Line::Kernel | Line::Unattributed => Purpose::Others,
            Line::WholeKernel => Purpose::WholeKernel,
        }
    }
}

/// Whether a file is a shared library, or what the kernel maps into every process.
fn is_library(file: &str) -> bool {
    file.ends_with(".so") || file.contains(".so.") || file.starts_with('[')
}

/// Names are those that strace prints.
fn of_system_call(name: &str) -> Purpose {
    let known = SYSTEM_CALLS.iter().find(|(_, names)| names.contains(&name));
    known.map_or(Purpose::Others, |(purpose, _)| *purpose)
}

const SYSTEM_CALLS: [(Purpose, &[&str]); 7] = [
    (
        Purpose::Sending,
        &[
            "write",
            "writev",
            "send",
            "sendto",
            "sendmsg",
            "sendmmsg",
            "sendfile",
            "splice",
            "tee",
            "vmsplice",
            "setsockopt",
            "shutdown",
        ],
    ),
    (
        Purpose::Receiving,
        &["read", "readv", "recv", "recvfrom", "recvmsg", "recvmmsg"],
    ),
    (
        Purpose::Files,
        &[
            "open",
            "openat",
            "openat2",
            "close",
            "stat",
            "fstat",
            "lstat",
            "newfstatat",
            "statx",
            "access",
            "faccessat",
            "faccessat2",
            "lseek",
            "pread64",
            "preadv",
            "preadv2",
            "pwrite64",
            "pwritev",
            "pwritev2",
            "getdents64",
            "readlink",
            "readlinkat",
            "getcwd",
            "chdir",
            "fcntl",
            "flock",
            "fsync",
            "fdatasync",
            "ftruncate",
            "unlink",
            "rename",
            "fadvise64",
            "io_submit",
            "io_getevents",
            "copy_file_range",
        ],
    ),
    (
        Purpose::Waiting,
        &[
            "epoll_wait",
            "epoll_pwait",
            "epoll_pwait2",
            "epoll_ctl",
            "poll",
            "ppoll",
            "select",
            "pselect6",
            "nanosleep",
            "clock_nanosleep",
            "io_uring_enter",
            "rt_sigtimedwait",
            "wait4",
            "waitid",
            "timerfd_settime",
        ],
    ),
    (
        Purpose::Connections,
        &[
            "accept",
            "accept4",
            "socket",
            "connect",
            "bind",
            "listen",
            "getsockopt",
            "getsockname",
            "getpeername",
            "ioctl",
        ],
    ),
    (
        Purpose::Locks,
        &[
            "futex",
            "futex_waitv",
            "sched_yield",
            "tgkill",
            "eventfd2",
            "membarrier",
        ],
    ),
    (
        Purpose::Memory,
        &["mmap", "munmap", "mremap", "mprotect", "madvise", "brk"],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_purpose_of_its_kind() {
        // Method: programs, libraries, a mapping of the kernel, calls of each kind and an unknown
        // call, and lines without a name.
        let user = |file| Purpose::of(&Line::user(file));
        let call = |name| Purpose::of(&Line::system_call(name));
        assert_eq!([user("nginx"), user("JIT code")], [Purpose::OwnCode; 2]);
        let libraries = ["libc.so.6", "libphp.so", "[vdso]"].map(user);
        assert_eq!(libraries, [Purpose::Libraries; 3]);
        assert_eq!(
            ["writev", "sendfile", "setsockopt"].map(call),
            [Purpose::Sending; 3]
        );
        assert_eq!(
            [call("recvfrom"), call("openat")],
            [Purpose::Receiving, Purpose::Files]
        );
        assert_eq!(
            [call("epoll_wait"), call("futex")],
            [Purpose::Waiting, Purpose::Locks]
        );
        assert_eq!(call("brk"), Purpose::of(&Line::PageFaults));
        assert_eq!(
            [call("reboot"), Purpose::of(&Line::Kernel)],
            [Purpose::Others; 2]
        );
    }

    #[test]
    fn no_system_call_has_two_purposes() {
        // Method: all names, sorted, without repetition.
        let mut names: Vec<&str> = SYSTEM_CALLS
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
