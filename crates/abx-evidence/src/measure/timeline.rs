//! What became of requests by when they were due: the story of a slice in which the
//! subject is expected to fail. Start at [`Timeline`]. And how its correct responses came over
//! time, from which a warm-up is read: [`TimelineTally::responded`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::measure::outcome::Outcome;

/// How finely a timeline is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimelinePlan {
    /// The length of a bucket, above 0.
    pub bucket_ns: u64,
    /// A request whose correct response took longer than this was delayed. `None` where
    /// nothing is expected to fail: none counts as delayed, and a slice waits for its
    /// responses and is given up as without a timeline.
    pub delayed_after_ns: Option<u64>,
}

/// Counted requests by the time at which they were due. Each counts once, with its last outcome if
/// it was sent again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Timeline {
    /// The length of a bucket.
    pub bucket_ns: u64,
    /// How many requests were due in each bucket, from the slice's start on.
    pub due: Vec<u32>,
    /// How many of them had no correct response.
    pub failed: Vec<u32>,
    /// How many of them had a late correct response.
    pub delayed: Vec<u32>,
    /// The time at which the last failed or delayed request was due, from the slice's start;
    /// `None` if all requests had their responses in time.
    pub last_disturbed_ns: Option<u64>,
}

/// A timeline while it is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "ReceivedTimeline")]
pub struct TimelineTally {
    /// The slice's start on the monotonic clock.
    pub start_ns: u64,
    delayed_after_ns: u64,
    /// Correct responses by when they came.
    #[serde(rename = "answered")]
    responded: Vec<u32>,
    timeline: Timeline,
}

/// The same as another machine sends it.
#[derive(Deserialize)]
struct ReceivedTimeline {
    start_ns: u64,
    delayed_after_ns: u64,
    #[serde(rename = "answered")]
    responded: Vec<u32>,
    timeline: Timeline,
}

/// A timeline that no slice has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a timeline has buckets of zero length, too many buckets, or lists of different lengths")]
struct NoTimeline;

impl TryFrom<ReceivedTimeline> for TimelineTally {
    type Error = NoTimeline;

    fn try_from(received_timeline: ReceivedTimeline) -> Result<TimelineTally, NoTimeline> {
        let ReceivedTimeline {
            start_ns,
            delayed_after_ns,
            responded,
            timeline,
        } = received_timeline;
        let lists = [&timeline.due, &timeline.failed, &timeline.delayed];
        let is_one = timeline.bucket_ns > 0
            && responded.len() <= BUCKETS_MAX
            && lists.iter().all(|list| list.len() == responded.len());
        is_one
            .then_some(TimelineTally {
                start_ns,
                delayed_after_ns,
                responded,
                timeline,
            })
            .ok_or(NoTimeline)
    }
}

/// What a request became for the client that waited for it.
enum Fate {
    InTime,
    Delayed,
    Failed,
}

impl TimelineTally {
    /// An empty one of a slice that starts at a moment and is so long.
    #[must_use]
    pub fn new(plan: TimelinePlan, start_ns: u64, length_ns: u64) -> TimelineTally {
        let bucket_ns = plan.bucket_ns.max(1);
        let buckets = usize::try_from(length_ns.div_ceil(bucket_ns)).unwrap_or(usize::MAX);
        let none = vec![0; buckets.min(BUCKETS_MAX)];
        TimelineTally {
            start_ns,
            delayed_after_ns: plan.delayed_after_ns.unwrap_or(u64::MAX),
            responded: none.clone(),
            timeline: Timeline {
                bucket_ns,
                due: none.clone(),
                failed: none.clone(),
                delayed: none,
                last_disturbed_ns: None,
            },
        }
    }

    /// How many correct responses came in each bucket, from the slice's start on.
    #[must_use]
    pub fn responded(&self) -> &[u32] {
        &self.responded
    }

    /// What it has come to.
    #[must_use]
    pub fn finish(self) -> Timeline {
        self.timeline
    }

    pub(crate) fn record(&mut self, intended_ns: u64, done_ns: u64, outcome: Outcome) {
        let response_ns = done_ns.saturating_sub(intended_ns);
        let fate = match outcome {
            // It is sent once more.
            Outcome::IdleClose | Outcome::RestClose => return,
            Outcome::Ok if response_ns > self.delayed_after_ns => Fate::Delayed,
            Outcome::Ok => Fate::InTime,
            _ => Fate::Failed,
        };
        let came = self.bucket(done_ns);
        if outcome == Outcome::Ok
            && let Some(count) = self.responded.get_mut(came)
        {
            *count += 1;
        }
        self.note(intended_ns, fate);
    }

    /// Where this moment belongs; behind the last bucket for one behind the slice.
    fn bucket(&self, at_ns: u64) -> usize {
        let since_ns = at_ns.saturating_sub(self.start_ns);
        usize::try_from(since_ns / self.timeline.bucket_ns).unwrap_or(usize::MAX)
    }

    pub(crate) fn record_unsent(&mut self, intended_ns: u64) {
        self.note(intended_ns, Fate::Failed);
    }

    fn note(&mut self, intended_ns: u64, fate: Fate) {
        let since_ns = intended_ns.saturating_sub(self.start_ns);
        let bucket = self.bucket(intended_ns);
        let line = &mut self.timeline;
        if bucket >= line.due.len() {
            return;
        }
        line.due[bucket] += 1;
        match fate {
            Fate::InTime => return,
            Fate::Delayed => line.delayed[bucket] += 1,
            Fate::Failed => line.failed[bucket] += 1,
        }
        line.last_disturbed_ns = line.last_disturbed_ns.max(Some(since_ns));
    }

    /// Adds what another worker saw of the same slice.
    pub(crate) fn merge(&mut self, other: &TimelineTally) {
        self.start_ns = self.start_ns.min(other.start_ns);
        let TimelineTally {
            responded,
            timeline,
            ..
        } = other;
        let (own_timeline, other) = (&mut self.timeline, timeline);
        for (sum, more) in [
            (&mut self.responded, responded),
            (&mut own_timeline.due, &other.due),
            (&mut own_timeline.failed, &other.failed),
            (&mut own_timeline.delayed, &other.delayed),
        ] {
            sum.resize(sum.len().max(more.len()), 0);
            sum.iter_mut()
                .zip(more)
                .for_each(|(sum, more)| *sum += more);
        }
        own_timeline.last_disturbed_ns =
            own_timeline.last_disturbed_ns.max(other.last_disturbed_ns);
    }
}

impl Timeline {
    /// The sum of a list of its buckets from this moment on, the bucket of it included.
    #[must_use]
    pub fn from(&self, since_ns: u64, pick: fn(&Timeline) -> &Vec<u32>) -> u64 {
        let first = usize::try_from(since_ns / self.bucket_ns.max(1)).unwrap_or(usize::MAX);
        pick(self)
            .iter()
            .skip(first)
            .map(|number| u64::from(*number))
            .sum()
    }
}

/// A slice has no more buckets than these.
const BUCKETS_MAX: usize = 100_000;
