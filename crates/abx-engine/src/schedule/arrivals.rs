//! How requests arrive, as a plan and as a schedule of moments.

use abx_sys::Nanos;
use serde::{Deserialize, Serialize};

use super::amount::PerSecond;
use super::pacer::{Pacer, ScheduleShare};
use super::poisson::Stream;
use super::replay::Replay;
use super::stages::StageList;
use super::timetable::Timetable;

/// How requests arrive.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// Each connection sends when its last response is complete: no schedule.
    #[default]
    Closed,
    /// At equal intervals.
    Constant { per_s: PerSecond },
    /// At random, independently of each other, as from many users.
    Poisson { per_s: PerSecond },
    /// At a changing rate, with intervals that follow the current rate.
    Stages(StageList),
    /// At recorded times, each with the recorded request.
    Replay(Replay),
}

/// The moments at which requests are due, from the schedule's zero on.
#[derive(Debug, Clone)]
pub struct Schedule {
    kind: ScheduleKind,
}

#[derive(Debug, Clone)]
enum ScheduleKind {
    Planned(Timetable),
    Random(Stream),
}

impl Schedule {
    /// The schedule of `arrivals`; `None` for a closed loop, which has none.
    ///
    /// The seed decides Poisson arrivals: the same seed gives the same moments,
    /// for any number of workers.
    #[must_use]
    pub fn new(arrivals: &Arrivals, seed: u64) -> Option<Schedule> {
        let kind = match arrivals {
            Arrivals::Closed => return None,
            Arrivals::Constant { per_s } => ScheduleKind::Planned(Timetable::constant(*per_s)),
            Arrivals::Stages(stages) => ScheduleKind::Planned(Timetable::stages(stages)),
            Arrivals::Replay(replay) => ScheduleKind::Planned(Timetable::replay(replay)),
            Arrivals::Poisson { per_s } => ScheduleKind::Random(Stream::new(*per_s, seed)),
        };
        Some(Schedule { kind })
    }

    /// The moment of the request with this index, from 0; `None` after the last
    /// stage or recorded request, or after 584 years.
    ///
    /// Constant rates and stages compute it, a replay looks it up, and Poisson iterates from the
    /// beginning: use a [`Schedule::pacer`] to iterate over all moments.
    #[must_use]
    pub fn intended(&self, index: u64) -> Option<Nanos> {
        match &self.kind {
            ScheduleKind::Planned(timetable) => timetable.intended(index),
            ScheduleKind::Random(stream) => stream.clone().nth(usize::try_from(index).ok()?),
        }
    }

    /// How many requests are due before `end`. Poisson iterates from the beginning.
    #[must_use]
    pub fn count_before(&self, end: Nanos) -> u64 {
        match &self.kind {
            ScheduleKind::Planned(timetable) => timetable.count_before(end),
            ScheduleKind::Random(stream) => {
                stream.clone().take_while(|due| *due < end).count() as u64
            }
        }
    }

    /// When the last stage or the replay is over; `None` for a schedule without end.
    #[must_use]
    pub fn end(&self) -> Option<Nanos> {
        match &self.kind {
            ScheduleKind::Planned(timetable) => timetable.end(),
            ScheduleKind::Random(_) => None,
        }
    }

    /// One worker's share of the schedule, at its beginning.
    #[must_use]
    pub fn pacer(&self, share: ScheduleShare) -> Pacer {
        match &self.kind {
            ScheduleKind::Planned(timetable) => Pacer::planned(timetable.clone(), share),
            ScheduleKind::Random(stream) => Pacer::random(stream.clone(), share),
        }
    }
}
