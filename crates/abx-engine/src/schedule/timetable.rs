//! Planned arrivals: the moment of any request from its index, in whole numbers.
//!
//! Let A(t) be the integral of the rate up to t. Request i is due at the last
//! moment at which A is not above i; after a pause in the schedule, that is the
//! end of the pause. In whole nanoseconds it is the largest t with A(t) <= i.
//! The moments of a replay are listed, and looked up.

use abx_sys::Nanos;

use super::Amount;
use super::amount::PerSecond;
use super::replay::Replay;
use super::stages::{STAGE_MAX, Stage, StageList};

#[derive(Debug, Clone)]
pub(super) struct Timetable {
    moments: PlannedMoments,
}

#[derive(Debug, Clone)]
enum PlannedMoments {
    /// A rate without end, in thousandths per second.
    Constant(u64),
    Stages(Vec<Leg>),
    Recorded(Replay),
}

/// A stage, and the totals before it.
#[derive(Debug, Clone, Copy)]
struct Leg {
    begins: u64,
    lasts: u64,
    /// Rates in thousandths per second.
    from: u64,
    to: u64,
    /// Arrivals due before it, in units of 1/[`HALF_UNITS`]: a whole number, since
    /// the area of a stage is half of (from + to) times its length.
    before: u128,
}

impl Timetable {
    pub(super) fn constant(rate: PerSecond) -> Timetable {
        let moments = PlannedMoments::Constant(rate.amount().thousandths());
        Timetable { moments }
    }

    pub(super) fn stages(list: &StageList) -> Timetable {
        let (mut begins, mut before) = (0_u64, 0);
        let leg = |stage: &Stage| {
            let leg = Leg {
                begins,
                lasts: stage.lasts.0,
                from: stage.from.thousandths(),
                to: stage.to.thousandths(),
                before,
            };
            begins = begins.saturating_add(leg.lasts);
            before = leg.after();
            leg
        };
        let moments = PlannedMoments::Stages(list.stages().iter().map(leg).collect());
        Timetable { moments }
    }

    pub(super) fn replay(replay: &Replay) -> Timetable {
        let moments = PlannedMoments::Recorded(replay.clone());
        Timetable { moments }
    }

    /// The index in the load of this request, if the timetable sets it.
    pub(super) fn request(&self, index: u64) -> Option<usize> {
        match &self.moments {
            PlannedMoments::Constant(_) | PlannedMoments::Stages(_) => None,
            PlannedMoments::Recorded(replay) => Some(replay.get(index)?.request as usize),
        }
    }

    pub(super) fn intended(&self, index: u64) -> Option<Nanos> {
        match &self.moments {
            PlannedMoments::Constant(rate) => {
                let due = u128::from(index) * UNITS / u128::from(*rate);
                u64::try_from(due).ok().map(Nanos)
            }
            PlannedMoments::Stages(legs) => {
                let wanted = u128::from(index) * HALF_UNITS;
                let leg = legs[..legs.partition_point(|leg| leg.before <= wanted)].last()?;
                (wanted < leg.after()).then(|| leg.intended(wanted))
            }
            PlannedMoments::Recorded(replay) => Some(replay.get(index)?.due),
        }
    }

    pub(super) fn count_before(&self, end: Nanos) -> u64 {
        let count = match &self.moments {
            PlannedMoments::Constant(rate) => {
                (u128::from(end.0) * u128::from(*rate)).div_ceil(UNITS)
            }
            PlannedMoments::Stages(legs) => {
                let reached = legs.partition_point(|leg| leg.begins < end.0);
                let leg = legs[..reached].last();
                leg.map_or(0, |leg| leg.count_before(end.0))
            }
            PlannedMoments::Recorded(replay) => replay.count_before(end) as u128,
        };
        u64::try_from(count).expect("fewer arrivals than numbers")
    }

    pub(super) fn end(&self) -> Option<Nanos> {
        match &self.moments {
            PlannedMoments::Constant(_) => None,
            PlannedMoments::Stages(legs) => legs
                .last()
                .map(|leg| Nanos(leg.begins.saturating_add(leg.lasts))),
            PlannedMoments::Recorded(replay) => Some(replay.lasts()),
        }
    }
}

impl Leg {
    /// Arrivals due before its end, in units of 1/[`HALF_UNITS`].
    fn after(&self) -> u128 {
        self.before + u128::from(self.from + self.to) * u128::from(self.lasts)
    }

    /// Arrivals within the first `passed` ns, in units of 1/([`HALF_UNITS`] × lasts).
    ///
    /// That is 2·from·lasts·passed + (to − from)·passed², written without a
    /// difference that could be below zero.
    fn area(&self, passed: u64) -> u128 {
        let weighted = u128::from(self.from) * u128::from(2 * self.lasts - passed)
            + u128::from(self.to) * u128::from(passed);
        weighted * u128::from(passed)
    }

    /// The moment at which `wanted` arrivals are reached, which happens in this leg.
    fn intended(&self, wanted: u128) -> Nanos {
        let rest = wanted - self.before;
        let area = rest * u128::from(self.lasts);
        let passed = last_within(self.guess(rest as f64), self.lasts, |passed| {
            self.area(passed) <= area
        });
        Nanos(self.begins.saturating_add(passed))
    }

    /// Solves `area(passed) = rest · lasts` in floating point, so closely that the exact search
    /// needs only a step or two.
    fn guess(&self, rest: f64) -> u64 {
        let (from, to) = (self.from as f64, self.to as f64);
        let slope = (to - from) / self.lasts as f64;
        let root = (from * from + slope * rest).max(0.0).sqrt();
        // Not a number if everything is zero, which the conversion turns into zero.
        (rest / (from + root)) as u64
    }

    fn count_before(&self, end: u64) -> u128 {
        let passed = (end - self.begins).min(self.lasts);
        let area = self.area(passed);
        let lasts = u128::from(self.lasts);
        let whole = self.before + area / lasts;
        match area % lasts {
            0 => whole.div_ceil(HALF_UNITS),
            _ => whole / HALF_UNITS + 1,
        }
    }
}

/// The largest number below `end` for which `is_within` holds. It must hold from zero up to some
/// number, and not for `end`.
fn last_within(guess: u64, end: u64, is_within: impl Fn(u64) -> bool) -> u64 {
    let mut low = guess.min(end - 1);
    let mut step = 1;
    while !is_within(low) {
        low = low.saturating_sub(step);
        step *= 2;
    }
    let mut high = low + 1;
    step = 1;
    while is_within(high) {
        low = high;
        high = high.saturating_add(step).min(end);
        step *= 2;
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if is_within(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// A rate of a thousandth per second makes 1/UNITS arrivals in a nanosecond.
const UNITS: u128 = 1_000_000_000_000;

/// The units of doubled areas.
const HALF_UNITS: u128 = 2 * UNITS;

/// The largest area of a leg fits into 128 bits.
const _: () = assert!(
    (u128::MAX / Amount::MAX.thousandths() as u128 / 2) / STAGE_MAX.0 as u128 > STAGE_MAX.0 as u128
);
