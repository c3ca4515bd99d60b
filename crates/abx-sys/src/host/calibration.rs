//! The present speed of a CPU: the same work each time, by the clock of
//! the thread that does it. If the frequency itself cannot be read, as in
//! most virtual machines, this work shows that it changes.

use std::hint::black_box;
use std::io;

use crate::clock::{Nanos, thread_cpu};
use crate::host::cpus::pin_thread;
use crate::kernel_files::read_lossy;

/// How often the work is done. The fastest time counts, because a neighbour on the
/// same core or an interrupt only makes it slower.
const TIMES: usize = 8;
/// Steps of the work: about half a millisecond.
const STEPS: u64 = 250_000;

/// CPU time that the fixed work takes on this CPU. Takes some milliseconds.
///
/// # Errors
/// The kernel's error if a thread cannot be started or bound to the CPU.
pub fn fixed_work(cpu: usize) -> io::Result<Nanos> {
    let work = move || -> io::Result<Nanos> {
        pin_thread(&[cpu])?;
        let fastest = (0..TIMES).map(|_| once()).min();
        Ok(fastest.expect("it is done more than zero times"))
    };
    let thread = std::thread::Builder::new().name("canary".to_owned());
    let done = thread.spawn(work)?.join();
    done.unwrap_or_else(|_| Err(io::Error::other("the canary's thread has panicked")))
}

/// How often a CPU's core was slowed down for its heat since boot; `None` if
/// that is not counted.
#[must_use]
pub fn heat_throttles(cpu: usize) -> Option<u64> {
    let folder = format!("/sys/devices/system/cpu/cpu{cpu}/thermal_throttle");
    let text = read_lossy(format!("{folder}/core_throttle_count")).ok()?;
    text.trim().parse().ok()
}

fn once() -> Nanos {
    let before = thread_cpu();
    let mut state = black_box(88_172_645_463_325_252_u64);
    for _ in 0..STEPS {
        // Each step needs the one before, so that only the clock rate counts.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    black_box(state);
    thread_cpu().since(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_work_takes_time_on_every_cpu_that_may_be_used() {
        // Method: on each CPU of this process, and on one that does not exist.
        for cpu in crate::host::cpus::allowed().unwrap() {
            assert!(fixed_work(cpu).unwrap() > Nanos(0));
        }
        fixed_work(usize::MAX).unwrap_err();
    }

    #[test]
    fn the_caller_stays_on_its_cpus() {
        // Method: the CPUs of this thread before and after.
        let before = crate::host::cpus::allowed().unwrap();
        fixed_work(before[0]).unwrap();
        assert_eq!(crate::host::cpus::allowed().unwrap(), before);
    }
}
