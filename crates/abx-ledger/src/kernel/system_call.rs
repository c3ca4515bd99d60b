//! System calls: from the kernel's functions to the names that strace prints.

/// The system call that a function serves; the dispatcher of system calls has called it.
///
/// Compilers let the dispatcher's callees jump to the function that does the work, so that
/// `__x64_sys_read` is in no chain, but `ksys_read` is.
pub(super) fn system_call(function: &str) -> Option<&str> {
    let served_by = WORKERS.iter().find(|(worker, _)| *worker == function);
    if let Some((_, name)) = served_by {
        return Some(name);
    }
    let name = PREFIXES
        .iter()
        .find_map(|prefix| function.strip_prefix(prefix))?;
    Some(as_strace_prints(name))
}

/// The kernel's name of a system call as strace prints it.
fn as_strace_prints(name: &str) -> &str {
    let name = name.strip_suffix("_time32").unwrap_or(name);
    let renamed = RENAMED.iter().find(|(kernel, _)| *kernel == name);
    renamed.map_or(name, |(_, strace)| strace)
}

/// Prefixes that kernels put before the name of a system call, longer ones first. From
/// `arch/*/include/asm/syscall_wrapper.h` and `include/linux/syscalls.h` of Linux 6.
const PREFIXES: [&str; 13] = [
    "__x64_sys_",
    "__x64_compat_sys_",
    "__x32_compat_sys_",
    "__ia32_compat_sys_",
    "__ia32_sys_",
    "__arm64_compat_sys_",
    "__arm64_sys_",
    "__se_compat_sys_",
    "__se_sys_",
    "__do_compat_sys_",
    "__do_sys_",
    "ksys_",
    // For sockets: `net/socket.c`.
    "__sys_",
];

/// The kernel's names that differ from those of system calls on 64-bit machines. From
/// `arch/x86/entry/syscalls/syscall_64.tbl` and `scripts/syscall.tbl` of Linux 6.
const RENAMED: [(&str, &str); 9] = [
    ("sendfile64", "sendfile"),
    ("newstat", "stat"),
    ("newfstat", "fstat"),
    ("newlstat", "lstat"),
    ("newuname", "uname"),
    ("umount", "umount2"),
    ("fadvise64_64", "fadvise64"),
    ("mmap_pgoff", "mmap"),
    ("accept4_file", "accept4"),
];

/// Functions that do the work of system calls and have no prefix of `PREFIXES`.
const WORKERS: [(&str, &str); 58] = [
    ("___sys_recvmsg", "recvmsg"),
    ("___sys_sendmsg", "sendmsg"),
    ("__sys_recvmmsg", "recvmmsg"),
    ("__vm_munmap", "munmap"),
    ("common_nsleep", "clock_nanosleep"),
    ("core_sys_select", "select"),
    ("do_accept", "accept4"),
    ("do_dup2", "dup2"),
    ("do_epoll_create", "epoll_create1"),
    ("do_epoll_ctl", "epoll_ctl"),
    ("do_epoll_pwait", "epoll_pwait"),
    ("do_epoll_wait", "epoll_wait"),
    ("do_eventfd", "eventfd2"),
    ("do_execve", "execve"),
    ("do_execveat_common", "execve"),
    ("do_exit", "exit"),
    ("do_faccessat", "faccessat"),
    ("do_fchmodat", "fchmodat"),
    ("do_fchownat", "fchownat"),
    ("do_fcntl", "fcntl"),
    ("do_fsync", "fsync"),
    ("do_futex", "futex"),
    ("do_group_exit", "exit_group"),
    ("do_linkat", "linkat"),
    ("do_madvise", "madvise"),
    ("do_mkdirat", "mkdirat"),
    ("do_mprotect_pkey", "mprotect"),
    ("do_pipe2", "pipe2"),
    ("do_preadv", "preadv"),
    ("do_pselect", "pselect6"),
    ("do_pwritev", "pwritev"),
    ("do_readlinkat", "readlink"),
    ("do_readv", "readv"),
    ("do_recvmmsg", "recvmmsg"),
    ("do_renameat2", "renameat2"),
    ("do_rmdir", "rmdir"),
    ("do_sendfile", "sendfile"),
    ("do_signalfd4", "signalfd4"),
    ("do_splice", "splice"),
    ("do_statx", "statx"),
    ("do_symlinkat", "symlinkat"),
    ("do_sys_ftruncate", "ftruncate"),
    ("do_sys_open", "openat"),
    ("do_sys_openat2", "openat"),
    ("do_sys_poll", "poll"),
    ("do_sys_truncate", "truncate"),
    ("do_timerfd_settime", "timerfd_settime"),
    ("do_unlinkat", "unlinkat"),
    ("do_utimes", "utimensat"),
    ("do_writev", "writev"),
    ("hrtimer_nanosleep", "nanosleep"),
    ("kernel_clone", "clone"),
    ("kernel_wait4", "wait4"),
    ("kernel_waitid", "waitid"),
    ("vfs_fstatat", "newfstatat"),
    ("vfs_statx", "newfstatat"),
    ("vm_mmap_pgoff", "mmap"),
    ("vm_munmap", "munmap"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_the_name_that_strace_prints() {
        // Method: functions of this kernel (6.18, x86_64) and of arm64, with those that the
        // compiler jumped to, and functions of the kernel that serve no call.
        let cases = [
            ("__x64_sys_openat", Some("openat")),
            ("__x64_sys_sendfile64", Some("sendfile")),
            ("__do_sys_newfstatat", Some("newfstatat")),
            ("__do_sys_newfstat", Some("fstat")),
            ("__x64_sys_epoll_wait", Some("epoll_wait")),
            ("__arm64_sys_pwrite64", Some("pwrite64")),
            ("__ia32_compat_sys_sendfile", Some("sendfile")),
            ("__se_sys_futex_time32", Some("futex")),
            ("ksys_read", Some("read")),
            ("ksys_mmap_pgoff", Some("mmap")),
            ("do_writev", Some("writev")),
            ("kernel_wait4", Some("wait4")),
            ("__sys_sendto", Some("sendto")),
            ("__x64_sys_dup2", Some("dup2")),
            ("tcp_sendmsg", None),
            ("do_syscall_64", None),
        ];
        for (function, name) in cases {
            assert_eq!(system_call(function), name, "{function}");
        }
    }

    #[test]
    fn workers_are_sorted_and_unique() {
        // Method: each name compared with the next one.
        assert!(WORKERS.is_sorted_by(|a, b| a.0 < b.0));
    }
}
