//! Recorded arrivals: a list of moments, and the request of each.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use abx_sys::Nanos;
use serde::{Deserialize, Serialize};

use super::amount::Amount;

/// Requests at the moments at which those of other clients were recorded.
///
/// The moments begin at zero. Clones share the list, so that workers and slices take no
/// memory for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "ReplayParts", into = "ReplayParts")]
pub struct Replay {
    requests: Arc<[ReplayedRequest]>,
    lasts: Nanos,
}

/// One request of a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplayedRequest {
    pub due: Nanos,
    /// The index of the request in the load, from 0.
    pub request: u32,
}

/// The speed of a replay relative to its recording: 0.01 to 1,000,000, exact to a
/// thousandth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplaySpeed(Amount);

/// Why a list cannot be replayed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    #[error("a replay needs a request")]
    Empty,
    #[error("the requests of a replay are in the order of their times, before its end")]
    Unordered,
}

/// Why a number cannot be a speed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a speed: write a number from 0.01 to 1000000, such as 2 for twice as fast")]
pub struct ReplaySpeedError(String);

#[derive(Serialize, Deserialize)]
struct ReplayParts {
    due_ns: Vec<u64>,
    requests: Vec<u32>,
    lasts_ns: u64,
}

impl Replay {
    /// A replay of requests in the order of their times. It is over at `lasts`, which is after
    /// all requests.
    pub fn new(requests: Vec<ReplayedRequest>, lasts: Nanos) -> Result<Replay, ReplayError> {
        let last = requests.last().ok_or(ReplayError::Empty)?;
        if !requests.is_sorted_by_key(|request| request.due) || last.due >= lasts {
            return Err(ReplayError::Unordered);
        }
        Ok(Replay {
            requests: requests.into(),
            lasts,
        })
    }

    /// The replay at another speed: each time divided by it, in whole nanoseconds. A replay
    /// that would take longer than 584 years ends there.
    #[must_use]
    pub fn at_speed(&self, speed: ReplaySpeed) -> Replay {
        let thousandths = |time: Nanos| u128::from(time.0) * 1_000;
        let within = |time: u128| Nanos(u64::try_from(time).unwrap_or(u64::MAX));
        let requests = self.requests.iter().map(|request| ReplayedRequest {
            due: within(thousandths(request.due) / speed.thousandths()),
            ..*request
        });
        Replay {
            requests: requests.collect(),
            // Rounded up, so that it stays after the last request.
            lasts: within(thousandths(self.lasts).div_ceil(speed.thousandths())),
        }
    }

    /// The requests in the order of their times, at least one.
    #[must_use]
    pub fn requests(&self) -> &[ReplayedRequest] {
        &self.requests
    }

    /// When it is over.
    #[must_use]
    pub fn lasts(&self) -> Nanos {
        self.lasts
    }

    pub(super) fn get(&self, index: u64) -> Option<ReplayedRequest> {
        self.requests.get(usize::try_from(index).ok()?).copied()
    }

    pub(super) fn count_before(&self, end: Nanos) -> usize {
        self.requests.partition_point(|request| request.due < end)
    }
}

impl ReplaySpeed {
    /// The speed of the recording.
    pub const RECORDED: ReplaySpeed = ReplaySpeed(Amount::ONE);

    fn thousandths(self) -> u128 {
        self.0.thousandths().into()
    }

    fn of(amount: Amount) -> Option<ReplaySpeed> {
        let is_within = (SPEED_MIN..=SPEED_MAX).contains(&amount.thousandths());
        is_within.then_some(ReplaySpeed(amount))
    }
}

impl FromStr for ReplaySpeed {
    type Err = ReplaySpeedError;

    fn from_str(text: &str) -> Result<ReplaySpeed, ReplaySpeedError> {
        let wrong = || ReplaySpeedError(text.to_owned());
        ReplaySpeed::of(text.parse().map_err(|_| wrong())?).ok_or_else(wrong)
    }
}

impl TryFrom<f64> for ReplaySpeed {
    type Error = ReplaySpeedError;

    fn try_from(number: f64) -> Result<ReplaySpeed, ReplaySpeedError> {
        let amount = Amount::try_from(number).ok();
        let speed = amount.and_then(ReplaySpeed::of);
        speed.ok_or_else(|| ReplaySpeedError(number.to_string()))
    }
}

impl fmt::Display for ReplaySpeed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl TryFrom<ReplayParts> for Replay {
    type Error = ReplayError;

    fn try_from(parts: ReplayParts) -> Result<Replay, ReplayError> {
        if parts.due_ns.len() != parts.requests.len() {
            return Err(ReplayError::Unordered);
        }
        let pairs = parts.due_ns.into_iter().zip(parts.requests);
        let requests = pairs.map(|(due_ns, request)| ReplayedRequest {
            due: Nanos(due_ns),
            request,
        });
        Replay::new(requests.collect(), Nanos(parts.lasts_ns))
    }
}

impl From<Replay> for ReplayParts {
    fn from(replay: Replay) -> ReplayParts {
        let requests = replay.requests();
        ReplayParts {
            due_ns: requests.iter().map(|request| request.due.0).collect(),
            requests: requests.iter().map(|request| request.request).collect(),
            lasts_ns: replay.lasts.0,
        }
    }
}

/// In thousandths. A recording of a year at the slowest speed still fits into the clock.
const SPEED_MIN: u64 = 10;
const SPEED_MAX: u64 = 1_000_000_000;
