//! Faults of known size: the truth against which measurements are checked.

pub(crate) mod planted_costs;
mod sleeping_lock;
pub(crate) mod work;

use std::time::Duration;

use abx_sys::Nanos;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::faults::work::Work;

/// The faults of the server. The default is none.
///
/// Each response has at most one of the faults in percent, drawn at random for each request.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Faults {
    /// CPU time used for each request.
    pub work: Work,
    /// Time from a complete request to its response, without delaying other connections.
    pub delay: Duration,
    /// Regular pauses of the whole server.
    pub stall: Option<Stall>,
    /// How the frames of a WebSocket echo are passed to the kernel.
    pub frames: Frames,
    /// Share of requests that get status 503, in percent.
    pub fail_percent: f64,
    /// Share of responses cut off after half the body, in percent.
    pub close_early_percent: f64,
    /// Share of responses that are one byte short, with a `Content-Length` that agrees, in percent.
    pub wrong_length_percent: f64,
    /// Share of responses with one byte changed, in percent.
    pub wrong_body_percent: f64,
}

/// How the frames of a WebSocket echo are passed to the kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Frames {
    /// Head and payload at once.
    #[default]
    Whole,
    /// First the head, then the payload, as simple servers do. If small segments wait, the payload
    /// waits for the client's delayed acknowledgement.
    Apart,
}

/// A periodic pause of the whole server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stall {
    /// The length of the pause; below the period.
    pub length: Duration,
    /// From the start of one stall to the next. The first one ends with the first period.
    pub period: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InjectedFault {
    None,
    Fail,
    CloseEarly,
    WrongLength,
    WrongBody,
}

impl Faults {
    /// The name of a configured fault that only the page supports.
    pub(crate) fn of_the_page(&self) -> Option<&'static str> {
        self.percents()
            .into_iter()
            .find(|(_, value, injected)| *value > 0.0 && *injected != InjectedFault::Fail)
            .map(|(name, _, _)| name)
    }

    /// The faults of which each response has at most one, each with its name and its share of the
    /// responses in percent.
    pub(crate) fn percents(&self) -> [(&'static str, f64, InjectedFault); 4] {
        [
            ("fail_percent", self.fail_percent, InjectedFault::Fail),
            (
                "close_early_percent",
                self.close_early_percent,
                InjectedFault::CloseEarly,
            ),
            (
                "wrong_length_percent",
                self.wrong_length_percent,
                InjectedFault::WrongLength,
            ),
            (
                "wrong_body_percent",
                self.wrong_body_percent,
                InjectedFault::WrongBody,
            ),
        ]
    }
}

/// Injects the faults on one thread.
#[derive(Debug)]
pub(crate) struct FaultInjector {
    faults: Faults,
    work: Work,
    started: Nanos,
    random: ChaCha8Rng,
}

impl FaultInjector {
    pub(crate) fn new(faults: Faults, seed: u64) -> FaultInjector {
        FaultInjector {
            faults,
            work: faults.work.settled(),
            started: Nanos::now(),
            random: ChaCha8Rng::seed_from_u64(seed),
        }
    }

    /// The injector of another thread, with the same stalls and other random faults.
    pub(crate) fn for_thread(&self, number: u64) -> FaultInjector {
        let mut random = self.random.clone();
        random.set_stream(number);
        FaultInjector { random, ..*self }
    }

    /// Blocks this thread until the end of the current stall, if there is one.
    pub(crate) fn stall(&self) {
        if let Some(stall) = self.faults.stall {
            let left = stall.left_at(Nanos::now().since(self.started));
            if !left.is_zero() {
                std::thread::sleep(left);
            }
        }
    }

    /// Uses the CPU time of one request.
    pub(crate) fn work(&self) {
        self.work.perform();
    }

    /// How the frames of an echo are passed to the kernel.
    pub(crate) fn frames(&self) -> Frames {
        self.faults.frames
    }

    /// The delay of a response, if there is one.
    pub(crate) fn delay(&self) -> Option<Duration> {
        (!self.faults.delay.is_zero()).then_some(self.faults.delay)
    }

    /// Draws the fault of one response.
    pub(crate) fn draw(&mut self) -> InjectedFault {
        let percents = self.faults.percents();
        if percents.iter().all(|(_, value, _)| *value == 0.0) {
            return InjectedFault::None;
        }
        let mut left = self.random.random_range(0.0..100.0);
        for (_, value, injected) in percents {
            if left < value {
                return injected;
            }
            left -= value;
        }
        InjectedFault::None
    }
}

impl Stall {
    /// The rest of the stall at a time after the server's start; zero outside a stall.
    fn left_at(&self, elapsed: Nanos) -> Duration {
        let period = Nanos::from(self.period).0;
        let to_the_end = period - elapsed.0 % period;
        if to_the_end <= Nanos::from(self.length).0 {
            Duration::from_nanos(to_the_end)
        } else {
            Duration::ZERO
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_fills_the_end_of_each_period() {
        // Method: times around the edges of a stall of 2 ns every 10 ns.
        let stall = Stall {
            length: Duration::from_nanos(2),
            period: Duration::from_nanos(10),
        };
        let left = [0, 7, 8, 9, 10, 17, 18].map(|at| stall.left_at(Nanos(at)).as_nanos());
        assert_eq!(left, [0, 0, 2, 1, 0, 0, 2]);
    }

    #[test]
    fn draws_follow_the_percentages_and_the_seed() {
        // Method: 100,000 draws; four standard deviations are below 0.7 %.
        let faults = Faults {
            fail_percent: 10.0,
            close_early_percent: 20.0,
            wrong_length_percent: 30.0,
            wrong_body_percent: 40.0,
            ..Faults::default()
        };
        let draws = |mut injector: FaultInjector| -> Vec<InjectedFault> {
            (0..100_000).map(|_| injector.draw()).collect()
        };
        let injector = FaultInjector::new(faults, 7);
        let first = draws(injector.for_thread(1));
        for (name, value, injected) in faults.percents() {
            let count = first.iter().filter(|drawn| **drawn == injected).count();
            assert!(
                (count as f64 / 1_000.0 - value).abs() < 0.7,
                "{name}: {count}"
            );
        }
        assert_eq!(first, draws(injector.for_thread(1)));
        assert_ne!(first, draws(injector.for_thread(2)));
    }
}
