//! The results of requests by when they were due, for a slice in which the subject is expected to
//! fail: start at [`Timeline`]. And correct responses over time, which show a warm-up:
//! [`TimelineTally::responded`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::measure::outcome::Outcome;

/// How finely a timeline is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimelinePlan {
    /// The length of a bucket, above 0.
    pub bucket_ns: u64,
    /// A request whose correct response took longer than this was delayed. `None` if nothing is
    /// expected to fail: no request counts as delayed, and a slice waits for its responses and is
    /// given up as if it had no timeline.
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

/// A timeline while it is counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "ReceivedTimeline")]
pub struct TimelineTally {
    /// The slice's start on the monotonic clock.
    pub start_ns: u64,
    delayed_after_ns: u64,
    /// Correct responses by when they were complete.
    #[serde(rename = "answered")]
    responded: Vec<u32>,
    timeline: Timeline,
}

/// A [`TimelineTally`] as another machine sends it.
#[derive(Deserialize)]
struct ReceivedTimeline {
    start_ns: u64,
    delayed_after_ns: u64,
    #[serde(rename = "answered")]
    responded: Vec<u32>,
    timeline: Timeline,
}

/// A timeline that no slice can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a timeline has buckets of zero length, too many buckets, or lists of different lengths")]
struct NoTimeline;

impl TryFrom<ReceivedTimeline> for TimelineTally {
    type Error = NoTimeline;

    fn try_from(received: ReceivedTimeline) -> Result<TimelineTally, NoTimeline> {
        let ReceivedTimeline {
            start_ns,
            delayed_after_ns,
            responded,
            timeline,
        } = received;
        let lists = [&timeline.due, &timeline.failed, &timeline.delayed];
        let is_valid = timeline.bucket_ns > 0
            && responded.len() <= BUCKETS_MAX
            && lists.iter().all(|list| list.len() == responded.len());
        is_valid
            .then_some(TimelineTally {
                start_ns,
                delayed_after_ns,
                responded,
                timeline,
            })
            .ok_or(NoTimeline)
    }
}

/// The result of a request, for the client that waits for it.
enum Fate {
    InTime,
    Delayed,
    Failed,
}

impl TimelineTally {
    /// An empty timeline of a slice with this start and length.
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

    /// The number of correct responses in each bucket, from the slice's start on.
    #[must_use]
    pub fn responded(&self) -> &[u32] {
        &self.responded
    }

    /// The finished timeline.
    #[must_use]
    pub fn finish(self) -> Timeline {
        self.timeline
    }

    pub(crate) fn record(&mut self, intended_ns: u64, done_ns: u64, outcome: Outcome) {
        let response_ns = done_ns.saturating_sub(intended_ns);
        let fate = match outcome {
            // The request is sent again.
            Outcome::IdleClose | Outcome::RestClose => return,
            Outcome::Ok if response_ns > self.delayed_after_ns => Fate::Delayed,
            Outcome::Ok => Fate::InTime,
            _ => Fate::Failed,
        };
        let bucket = self.bucket(done_ns);
        if outcome == Outcome::Ok
            && let Some(count) = self.responded.get_mut(bucket)
        {
            *count += 1;
        }
        self.note(intended_ns, fate);
    }

    /// The bucket of a moment; beyond the last one for a moment after the slice.
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
        let timeline = &mut self.timeline;
        if bucket >= timeline.due.len() {
            return;
        }
        timeline.due[bucket] += 1;
        match fate {
            Fate::InTime => return,
            Fate::Delayed => timeline.delayed[bucket] += 1,
            Fate::Failed => timeline.failed[bucket] += 1,
        }
        timeline.last_disturbed_ns = timeline.last_disturbed_ns.max(Some(since_ns));
    }

    /// Adds the timeline of another worker in the same slice.
    pub(crate) fn merge(&mut self, other: &TimelineTally) {
        self.start_ns = self.start_ns.min(other.start_ns);
        let (ours, theirs) = (&mut self.timeline, &other.timeline);
        for (sum, more) in [
            (&mut self.responded, &other.responded),
            (&mut ours.due, &theirs.due),
            (&mut ours.failed, &theirs.failed),
            (&mut ours.delayed, &theirs.delayed),
        ] {
            sum.resize(sum.len().max(more.len()), 0);
            sum.iter_mut()
                .zip(more)
                .for_each(|(sum, more)| *sum += more);
        }
        ours.last_disturbed_ns = ours.last_disturbed_ns.max(theirs.last_disturbed_ns);
    }
}

impl Timeline {
    /// The sum of one of its lists from the bucket of this moment on.
    #[must_use]
    pub fn from(&self, since_ns: u64, pick: fn(&Timeline) -> &Vec<u32>) -> u64 {
        let first = usize::try_from(since_ns / self.bucket_ns.max(1)).unwrap_or(usize::MAX);
        pick(self)
            .iter()
            .skip(first)
            .map(|count| u64::from(*count))
            .sum()
    }
}

/// The most buckets of a slice.
const BUCKETS_MAX: usize = 100_000;
