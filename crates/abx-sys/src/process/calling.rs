//! The name of the calling process, and how it dies.

use std::ffi::CStr;
use std::io;

use rustix::process::{
    DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit,
};

/// Gives the calling process another name, as `ps` and those who kill by name know it:
/// 15 bytes at most. To be called on the first thread.
///
/// # Errors
/// What the kernel says; not seen.
pub fn set_name(name: &CStr) -> io::Result<()> {
    Ok(rustix::thread::set_name(name)?)
}

/// Keeps the memory of the calling process to itself: a crash leaves no core file, whatever the
/// machine does with those, and other processes of its user cannot read it. The programs that it
/// starts are as they always are.
pub fn keep_memory_private() {
    // No kernel refuses this.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

/// Has the calling process die of the signals of a crash, SIGSEGV and SIGBUS, also where
/// another process sends one. The standard library has a handler for them that tells of a full
/// stack, and takes the first one that it cannot explain for nothing. No core file is left.
#[allow(unsafe_code)]
pub fn die_of_crashes() {
    let limit = getrlimit(Resource::Core);
    let none = Rlimit {
        current: Some(0),
        ..limit
    };
    // Lowering a limit is refused to nobody.
    let _ = setrlimit(Resource::Core, none);
    for signal in [libc::SIGSEGV, libc::SIGBUS] {
        // SAFETY: No handler of ours is behind these signals, and the default needs none.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}
