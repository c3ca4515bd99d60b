//! A lock whose waiters sleep at once.
//!
//! The locks of the standard library spin before they sleep, so a part of their cost is the
//! waiter's own code. All that this lock costs is in `futex`.

use std::sync::atomic::{AtomicU32, Ordering};

use rustix::thread::futex::{self, Flags};

const FREE: u32 = 0;
const HELD: u32 = 1;
/// Held, and threads may be waiting.
const AWAITED: u32 = 2;

/// Method: the second mutex of U. Drepper, "Futexes Are Tricky" (2011), section 5.
#[derive(Debug, Default)]
pub(super) struct SleepingLock {
    state: AtomicU32,
}

impl SleepingLock {
    /// Runs `work` while no other thread does. If `work` panics, the lock stays held.
    pub(super) fn hold(&self, work: impl FnOnce()) {
        let state = &self.state;
        if state
            .compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed)
            .is_err()
        {
            while state.swap(AWAITED, Ordering::Acquire) != FREE {
                // It returns at once if the lock was released meanwhile.
                let _ = futex::wait(state, Flags::PRIVATE, AWAITED, None);
            }
        }
        work();
        if state.swap(FREE, Ordering::Release) == AWAITED {
            let _ = futex::wake(state, Flags::PRIVATE, 1);
        }
    }

    #[cfg(test)]
    pub(super) fn is_held(&self) -> bool {
        self.state.load(Ordering::Relaxed) != FREE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::sync::Barrier;
    use std::thread;

    #[test]
    fn one_thread_at_a_time_works() {
        // Method: four threads count the threads at work, 10,000 times each. The lock is free at
        // the end.
        let lock = SleepingLock::default();
        let (at_work, most) = (AtomicU32::new(0), AtomicU32::new(0));
        let begin = Barrier::new(4);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    begin.wait();
                    for _ in 0..10_000 {
                        lock.hold(|| {
                            let working = at_work.fetch_add(1, Ordering::Relaxed) + 1;
                            most.fetch_max(working, Ordering::Relaxed);
                            thread::yield_now();
                            at_work.fetch_sub(1, Ordering::Relaxed);
                        });
                    }
                });
            }
        });
        assert_eq!(most.into_inner(), 1);
        assert!(!lock.is_held());
    }
}
