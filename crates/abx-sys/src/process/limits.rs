//! How many descriptors this process and its children may have open.

use std::io;
use std::thread::JoinHandle;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};

/// The limit on open descriptors; `u64::MAX` is "no limit".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DescriptorLimit {
    /// The limit in force. A process may raise it up to `hard`.
    pub soft: u64,
    /// The bound of `soft`. Only root may raise it.
    pub hard: u64,
}

/// The limit of this process.
#[must_use]
pub fn descriptor_limit() -> DescriptorLimit {
    let limit = getrlimit(Resource::Nofile);
    DescriptorLimit {
        soft: limit.current.unwrap_or(u64::MAX),
        hard: limit.maximum.unwrap_or(u64::MAX),
    }
}

/// Sets the limit of this process and of processes that it starts later.
///
/// # Errors
/// `PermissionDenied` for a hard limit above the present one; `InvalidInput`
/// for a soft limit above the hard one.
pub fn set_descriptor_limit(limit: DescriptorLimit) -> io::Result<()> {
    let number = |value: u64| (value != u64::MAX).then_some(value);
    let limit = Rlimit {
        current: number(limit.soft),
        maximum: number(limit.hard),
    };
    Ok(setrlimit(Resource::Nofile, limit)?)
}

/// Raises the soft limit to the hard one and returns the limit now in force.
///
/// # Errors
/// The kernel's error; not seen.
pub fn raise_descriptor_limit() -> io::Result<DescriptorLimit> {
    let hard = descriptor_limit().hard;
    set_descriptor_limit(DescriptorLimit { soft: hard, hard })?;
    Ok(descriptor_limit())
}

/// Starts a thread with its own table of descriptors, so that it may open as many as the limit
/// allows, in addition to those of other threads.
///
/// In the table are standard input, output and error and nothing else: no other thread has
/// what this one opens, and it does not have what others have opened. So `body`
/// must own no descriptor, nor be sent one. It gets no signals either, since a handler
/// would find other files under its numbers. Before Linux 5.9 the table is shared.
///
/// # Errors
/// The system gives no thread.
pub fn spawn_with_own_descriptors<T: Send + 'static>(
    name: String,
    body: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    std::thread::Builder::new().name(name).spawn(move || {
        // Older kernels cannot: then all threads share one table.
        let _ = close_inherited_descriptors();
        body()
    })
}

/// Gives the calling thread a table of its own, and closes what is in it beyond standard
/// input, output and error: for a thread that has opened nothing yet.
#[allow(unsafe_code)]
fn close_inherited_descriptors() -> io::Result<()> {
    let mut maybe_uninit = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: The set is filled before it is read, and lives while both calls run.
    let blocked = unsafe {
        libc::sigfillset(maybe_uninit.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_BLOCK, maybe_uninit.as_ptr(), std::ptr::null_mut())
    };
    if blocked != 0 {
        return Err(io::Error::from_raw_os_error(blocked));
    }
    // SAFETY: The call touches no memory of ours. The danger of another table is a
    // number that means another file in it: this thread uses no descriptor that it
    // had before but the first three, gets none by handlers, and gives none away.
    let closed = unsafe {
        libc::syscall(
            libc::SYS_close_range,
            FIRST_AFTER_STANDARD,
            libc::c_uint::MAX,
            libc::CLOSE_RANGE_UNSHARE,
        )
    };
    if closed == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// The number behind standard input, output and error.
const FIRST_AFTER_STANDARD: libc::c_uint = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_with_separate_tables_do_not_share_descriptors() {
        // Method: a thread with a table of its own opens many files; the number of
        // the last is free in the others' table. A pipe that was open before ends
        // when this thread alone closes it.
        let (mut reader, writer) = std::os::unix::net::UnixStream::pair().unwrap();
        let (separated, is_separated) = std::sync::mpsc::channel();
        let (done, is_done) = std::sync::mpsc::channel::<()>();
        let body = move || {
            separated.send(()).unwrap();
            // Until the other side has seen the end of the pipe.
            let _ = is_done.recv();
            let files: Vec<_> = (0..500)
                .map(|_| std::fs::File::open("/dev/null").unwrap())
                .collect();
            let last = std::os::fd::AsRawFd::as_raw_fd(files.last().unwrap());
            (
                last,
                std::path::Path::new(&format!("/proc/self/fd/{last}")).exists(),
            )
        };
        let opened = spawn_with_own_descriptors("separate".to_owned(), body).unwrap();
        is_separated.recv().unwrap();
        drop(writer);
        let mut byte = [0];
        assert_eq!(std::io::Read::read(&mut reader, &mut byte).unwrap(), 0);
        drop(done);
        let (last, is_known_here) = opened.join().unwrap();
        assert!(last >= 500 && !is_known_here, "{last}");
    }

    #[test]
    fn the_soft_limit_rises_to_the_hard_one() {
        // Method: raise, then read back; the hard limit must not have moved.
        let before = descriptor_limit();
        let after = raise_descriptor_limit().unwrap();
        assert_eq!(after.hard, before.hard);
        assert_eq!(after.soft, after.hard);
    }
}
