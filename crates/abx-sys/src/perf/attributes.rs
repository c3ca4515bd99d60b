//! Perf events: the code that each one samples, and how it is opened.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use perf_event_open_sys::{bindings, ioctls, perf_event_open};

/// Whose code an event samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EventScope {
    /// Everything that runs on the CPU, in the kernel and outside of it.
    Processor,
    /// The user code of one thread, and of the threads and processes that it starts.
    ThreadUser(i32),
    /// Every switch of the CPU from one thread to another: the kernel's functions of the
    /// thread that leaves, and the thread that comes. The rate does not matter.
    Switches,
}

/// Opens an event that is off. `hz` counts samples per second of CPU time.
///
/// # Errors
/// EACCES and EPERM if the machine forbids the scope, EINVAL if it has no such rate.
#[allow(unsafe_code)]
pub(super) fn open(scope: EventScope, cpu: i32, hz: u32) -> io::Result<OwnedFd> {
    let mut attributes = bindings::perf_event_attr::default();
    attributes.type_ = bindings::PERF_TYPE_SOFTWARE;
    // Virtual machines often have no hardware counters.
    attributes.config = u64::from(bindings::PERF_COUNT_SW_CPU_CLOCK);
    attributes.size = u32::try_from(size_of_val(&attributes)).expect("a small struct");
    attributes.sample_type = u64::from(
        bindings::PERF_SAMPLE_TID
            | bindings::PERF_SAMPLE_TIME
            | bindings::PERF_SAMPLE_CPU
            | bindings::PERF_SAMPLE_CALLCHAIN,
    );
    if scope == EventScope::Switches {
        attributes.config = u64::from(bindings::PERF_COUNT_SW_CONTEXT_SWITCHES);
        attributes.sample_period = 1;
        attributes.set_context_switch(1);
        attributes.set_exclude_callchain_user(1);
    } else {
        attributes.sample_freq = u64::from(hz);
        attributes.set_freq(1);
    }
    attributes.set_disabled(1);
    // An idle CPU runs no subject.
    attributes.set_exclude_idle(1);
    attributes.set_exclude_hv(1);
    attributes.set_sample_id_all(1);
    attributes.set_mmap(1);
    attributes.set_mmap2(1);
    attributes.set_comm(1);
    attributes.set_comm_exec(1);
    attributes.set_task(1);
    // The clock of `Nanos`.
    attributes.set_use_clockid(1);
    attributes.clockid = libc::CLOCK_MONOTONIC;
    let thread = match scope {
        EventScope::Processor | EventScope::Switches => -1,
        EventScope::ThreadUser(thread) => {
            attributes.set_inherit(1);
            attributes.set_exclude_kernel(1);
            thread
        }
    };
    let flags = u64::from(bindings::PERF_FLAG_FD_CLOEXEC);
    // SAFETY: The attributes live through the call, and their size is that of their type.
    let descriptor = unsafe { perf_event_open(&raw mut attributes, thread, cpu, -1, flags) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: The call has just made this descriptor, which has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Starts an event's clock.
///
/// # Errors
/// The kernel's; none is known for an open event.
pub(super) fn enable(event: &OwnedFd) -> io::Result<()> {
    // SAFETY: The descriptor is an open event, and the command takes no memory.
    #[allow(unsafe_code)]
    let result = unsafe { ioctls::ENABLE(event.as_raw_fd(), 0) };
    succeeded(result)
}

/// Stops an event's clock.
///
/// # Errors
/// The kernel's; none is known for an open event.
pub(super) fn disable(event: &OwnedFd) -> io::Result<()> {
    // SAFETY: The descriptor is an open event, and the command takes no memory.
    #[allow(unsafe_code)]
    let result = unsafe { ioctls::DISABLE(event.as_raw_fd(), 0) };
    succeeded(result)
}

/// Sends the records of an event to the ring of another one on the same CPU.
///
/// # Errors
/// EINVAL if the two are of different CPUs.
pub(super) fn share_ring(event: &OwnedFd, with: &OwnedFd) -> io::Result<()> {
    // SAFETY: Both descriptors are open events, and the command takes no memory.
    #[allow(unsafe_code)]
    let result = unsafe { ioctls::SET_OUTPUT(event.as_raw_fd(), with.as_raw_fd()) };
    succeeded(result)
}

fn succeeded(result: i32) -> io::Result<()> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
