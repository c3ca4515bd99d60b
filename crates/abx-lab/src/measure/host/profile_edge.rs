//! Counters that are read before and after a sampled interval, in addition to samples.

use std::net::SocketAddr;

use abx_evidence::record::{SegmentRecord, SliceRecord};
use abx_sys::ReceivedSegments;
use abx_sys::tree::{Effort, EffortSince, ThreadTimes};

use super::subjects::SubjectHost;

/// The counters at one edge; one that cannot be read is `None`.
pub struct ProfileEdge {
    effort: Option<Effort>,
    threads: Option<ThreadTimes>,
    segments: Option<ReceivedSegments>,
}

impl ProfileEdge {
    /// Reads the counters of a subject and, if its address is one of TCP, the segments that the
    /// connections to it have received.
    pub fn read(
        subjects: &mut SubjectHost,
        subject: usize,
        address: Option<SocketAddr>,
    ) -> ProfileEdge {
        ProfileEdge {
            effort: subjects.effort_of_all(subject),
            threads: subjects.threads(subject),
            segments: address.and_then(|address| ReceivedSegments::from_server(address).ok()),
        }
    }

    pub fn effort_since(&self, before: &ProfileEdge) -> Option<EffortSince> {
        self.effort.as_ref()?.since(before.effort.as_ref()?)
    }

    /// How many threads ran.
    pub fn threads_since(&self, before: &ProfileEdge) -> Option<u64> {
        let ran = self.threads.as_ref()?.ran_since(before.threads.as_ref()?);
        u64::try_from(ran).ok()
    }

    /// The segments of this slice's connections; `None` if no connection is of this machine.
    pub fn segments_since(
        &self,
        before: &ProfileEdge,
        slice: &SliceRecord,
    ) -> Option<SegmentRecord> {
        let segments = self.segments.as_ref()?;
        let received = segments.since(before.segments.as_ref()?);
        (received.segments > 0).then(|| SegmentRecord {
            received: received.segments,
            bytes: received.bytes,
            opened: slice.connects.saturating_add(slice.reopened),
        })
    }
}
