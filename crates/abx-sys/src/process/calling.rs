//! The name of the calling process, and how a crash ends it.

use std::ffi::CStr;
use std::io;

use rustix::process::{
    DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit,
};

/// Gives the calling process another name, for `ps` and for tools that kill by name:
/// 15 bytes at most. To be called on the first thread.
///
/// # Errors
/// The kernel's error; not seen.
pub fn set_name(name: &CStr) -> io::Result<()> {
    Ok(rustix::thread::set_name(name)?)
}

/// Keeps the memory of the calling process to itself: a crash leaves no core file, whatever the
/// machine does with those, and other processes of its user cannot read it. The programs that it
/// starts are not affected.
pub fn keep_memory_private() {
    // No kernel refuses this.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

/// Makes the signals of a crash, SIGSEGV and SIGBUS, end the calling process, even if
/// another process sends one. The standard library's handler for them reports a full
/// stack, and ignores the first signal that it cannot explain. No core file is left.
#[allow(unsafe_code)]
pub fn die_of_crashes() {
    let limit = getrlimit(Resource::Core);
    let none = Rlimit {
        current: Some(0),
        ..limit
    };
    // Lowering a limit is always allowed.
    let _ = setrlimit(Resource::Core, none);
    for signal in [libc::SIGSEGV, libc::SIGBUS] {
        // SAFETY: No handler of ours is behind these signals, and the default needs none.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}
