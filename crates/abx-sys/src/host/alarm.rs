//! A moment at which a set of sockets is woken.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

use crate::Nanos;

/// A timer that becomes readable at a moment, once for each time that it is set.
///
/// A thread that waits often and seldom times out saves the kernel's work of starting and
/// stopping a timer for each wait.
#[derive(Debug)]
pub struct Alarm {
    timer: OwnedFd,
    at: Nanos,
}

impl Alarm {
    /// An alarm that never rings.
    ///
    /// # Errors
    /// The kernel's error, above all too many open files.
    pub fn new() -> io::Result<Alarm> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        Ok(Alarm {
            timer: timerfd_create(TimerfdClockId::Monotonic, flags)?,
            at: Nanos(0),
        })
    }

    /// When it rings or has rung last; zero if it was never set.
    #[must_use]
    pub fn at(&self) -> Nanos {
        self.at
    }

    /// Sets it to ring at this moment, at once if that has passed, and at no other moment.
    ///
    /// # Errors
    /// The kernel's error; not seen.
    pub fn set(&mut self, at: Nanos) -> io::Result<()> {
        // All zeroes would mean never.
        let ns = at.0.max(1);
        let moment = Timespec {
            tv_sec: i64::try_from(ns / 1_000_000_000).unwrap_or(i64::MAX),
            tv_nsec: i64::try_from(ns % 1_000_000_000).expect("below a thousand million"),
        };
        let once = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let timer = Itimerspec {
            it_interval: once,
            it_value: moment,
        };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &timer)?;
        self.at = at;
        Ok(())
    }
}

impl AsFd for Alarm {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Epoll, Events, Interest};

    #[test]
    fn a_set_is_woken_at_each_moment_that_the_alarm_is_set_to() {
        // Method: no event before it is set; then two events without a read of the timer, one of
        // them for a moment that has passed; and no event if it is set to another moment before
        // it has rung.
        let epoll = Epoll::new().unwrap();
        let mut events = Events::with_capacity(4);
        let mut alarm = Alarm::new().unwrap();
        epoll.add(&alarm, 7, Interest::all()).unwrap();
        let mut rings = |timeout| {
            epoll.wait(&mut events, timeout).unwrap();
            events
                .iter()
                .any(|event| event.token() == 7 && event.readable())
        };
        assert!(!rings(Some(Nanos(0))));
        for ahead in [Nanos(2_000_000), Nanos(0)] {
            let at = Nanos::now().plus(ahead);
            alarm.set(at).unwrap();
            assert_eq!(alarm.at(), at);
            assert!(rings(None) && Nanos::now() >= at);
            assert!(!rings(Some(Nanos(0))), "once for each time that it is set");
        }
        alarm.set(Nanos::now().plus(Nanos(1_000_000))).unwrap();
        alarm.set(Nanos::MAX).unwrap();
        assert!(!rings(Some(Nanos(3_000_000))));
    }
}
