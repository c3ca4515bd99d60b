//! The moments at which one worker sends.

use abx_sys::Nanos;

use super::poisson::Stream;
use super::timetable::Timetable;

/// A worker's part of a schedule: one in every `workers` requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScheduleShare {
    worker: u64,
    workers: u64,
}

/// Iterates over one worker's share of a schedule.
///
/// Worker k of n has the requests k, k + n, k + 2n, ..., so all workers together
/// have exactly the whole schedule, for any number of workers. For Poisson each
/// worker draws all gaps and keeps every n-th moment: streams of a rate/n each
/// would be cheaper, but another number of workers would then be another load.
///
/// Iteration does not allocate.
#[derive(Debug, Clone)]
pub struct Pacer {
    state: PacerState,
    next: Option<Nanos>,
}

#[derive(Debug, Clone)]
enum PacerState {
    Planned {
        timetable: Timetable,
        /// The index of `next`; `None` once it exceeds 64 bits.
        index: Option<u64>,
        step: u64,
    },
    Random {
        stream: Stream,
        /// How many moments of other workers lie between two moments of this worker.
        others: usize,
    },
}

impl ScheduleShare {
    /// Everything, for one worker.
    pub const WHOLE: ScheduleShare = ScheduleShare {
        worker: 0,
        workers: 1,
    };

    /// The share of one worker among several.
    ///
    /// # Panics
    /// When `worker`, counted from 0, is not below `workers`.
    #[must_use]
    pub fn of(worker: usize, workers: usize) -> ScheduleShare {
        assert!(worker < workers, "there is no worker {worker} of {workers}");
        ScheduleShare {
            worker: worker as u64,
            workers: workers as u64,
        }
    }

    /// The share of one worker among several that split this share.
    ///
    /// # Panics
    /// As [`ScheduleShare::of`].
    #[must_use]
    pub fn part(self, worker: usize, workers: usize) -> ScheduleShare {
        let part = ScheduleShare::of(worker, workers);
        ScheduleShare {
            worker: self.worker + self.workers * part.worker,
            workers: self.workers * part.workers,
        }
    }

    /// The index in the whole schedule of the request with this number in this share.
    pub(crate) fn nth(self, number: u64) -> u64 {
        self.worker + self.workers * number
    }
}

impl Pacer {
    pub(super) fn planned(timetable: Timetable, share: ScheduleShare) -> Pacer {
        Pacer {
            next: timetable.intended(share.worker),
            state: PacerState::Planned {
                timetable,
                index: Some(share.worker),
                step: share.workers,
            },
        }
    }

    pub(super) fn random(mut stream: Stream, share: ScheduleShare) -> Pacer {
        let next = stream.nth(share.worker as usize);
        let others = share.workers as usize - 1;
        Pacer {
            state: PacerState::Random { stream, others },
            next,
        }
    }

    /// The moment that [`Pacer::next`] returns next, without advancing.
    #[must_use]
    pub fn peek(&self) -> Option<Nanos> {
        self.next
    }

    /// The index in the load of the request that is due then, if the schedule sets it. Otherwise
    /// it is drawn.
    #[must_use]
    pub fn request(&self) -> Option<usize> {
        match &self.state {
            PacerState::Planned {
                timetable, index, ..
            } => timetable.request((*index)?),
            PacerState::Random { .. } => None,
        }
    }
}

impl Iterator for Pacer {
    type Item = Nanos;

    /// The next moment, never before the last one; `None` when the schedule is over.
    fn next(&mut self) -> Option<Nanos> {
        let due = self.next?;
        self.next = match &mut self.state {
            PacerState::Planned {
                timetable,
                index,
                step,
            } => {
                *index = index.and_then(|index| index.checked_add(*step));
                index.and_then(|index| timetable.intended(index))
            }
            PacerState::Random { stream, others } => stream.nth(*others),
        };
        Some(due)
    }
}
