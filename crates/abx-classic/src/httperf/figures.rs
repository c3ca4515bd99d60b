//! What a load gave, counted as httperf counts it. Spans are in ns.

use std::collections::BTreeMap;

use super::moments::{RunningMoments, per_second};
use super::session_figures::{HttperfSessionEnd, SessionFigures};

/// A reply, as far as it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttperfReply {
    pub status: u16,
    pub header_bytes: u64,
    /// Bytes of its body.
    pub content_bytes: u64,
    /// Bytes behind the last chunk.
    pub footer_bytes: u64,
    /// From the first byte of the request to the first one of the reply.
    pub response_ns: u64,
    /// From its first byte to its last one.
    pub transfer_ns: u64,
    /// Whether the server closed in the middle of its body.
    pub is_cut: bool,
}

/// Why a connection failed, or was not even begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names are those of the report")]
pub enum HttperfFailure {
    ClientTimeout,
    SocketTimeout,
    ConnectionRefused,
    ConnectionReset,
    DescriptorUnavailable,
    AddressUnavailable,
    FileTableFull,
    Other,
}

/// Processor time of the client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HttperfCpu {
    pub user_ns: u64,
    pub system_ns: u64,
}

/// Everything that the report shows. The methods that count are called in the order of time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HttperfFigures {
    pub(super) connections: u64,
    pub(super) open_max: u64,
    /// Connections that were begun at one go: of the last burst, and the most of those
    /// behind which another one was begun.
    burst: u64,
    pub(super) burst_max: u64,
    /// When the first and the last connection were begun.
    first_begun_ns: u64,
    last_begun_ns: u64,
    /// Connections that opened, and how long they were made, summed.
    pub(super) opened: u64,
    pub(super) connect_ns: u64,
    /// Lifetimes in ms of connections that had a reply, and how many of them had which lifetime,
    /// in whole ms.
    pub(super) lifetimes: RunningMoments,
    whole_lifetimes: BTreeMap<u64, u64>,
    pub(super) replies_of_connections: u64,
    pub(super) requests: u64,
    pub(super) request_bytes: u64,
    pub(super) replies: u64,
    pub(super) cut_replies: u64,
    pub(super) response_ns: u64,
    pub(super) transfer_ns: u64,
    pub(super) header_bytes: u64,
    pub(super) content_bytes: u64,
    pub(super) footer_bytes: u64,
    /// By the first digit of the status, from 1.
    pub(super) statuses: [u64; 5],
    /// Samples of the reply rate.
    pub(super) rates: RunningMoments,
    /// When the last sample was taken, and the replies that it began behind.
    sampled_ns: u64,
    sampled_replies: u64,
    failures: BTreeMap<HttperfFailure, u64>,
    pub(super) duration_ns: u64,
    pub(super) cpu: HttperfCpu,
    /// Of a load of sessions.
    pub(super) sessions: Option<SessionFigures>,
}

/// Rates since the sample before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HttperfSample {
    /// Replies per second.
    pub replies: f64,
    /// Whole sessions per second, in a load of sessions.
    pub sessions: Option<f64>,
}

impl HttperfFigures {
    /// How often the reply rate is sampled, in ns.
    pub const SAMPLE_NS: u64 = 5_000_000_000;
    /// Longer lifetimes are no different in the median, in ms.
    const LIFETIME_MAX_MS: u64 = 100_000;

    /// Those of a load of sessions.
    #[must_use]
    pub fn of_sessions() -> HttperfFigures {
        HttperfFigures {
            sessions: Some(SessionFigures::default()),
            ..HttperfFigures::default()
        }
    }

    /// A connection was begun, with so many open, and so many begun at one go so far.
    pub fn begins(&mut self, at_ns: u64, open: u64, together: u64) {
        if self.connections == 0 {
            self.first_begun_ns = at_ns;
        }
        if together == 1 {
            // httperf only looks at a burst when the next one begins.
            self.burst_max = self.burst_max.max(self.burst);
        }
        self.burst = together;
        self.last_begun_ns = at_ns;
        self.connections += 1;
        self.open_max = self.open_max.max(open);
    }

    /// A connection is open, so long after it was begun.
    pub fn opened(&mut self, took_ns: u64) {
        self.opened += 1;
        self.connect_ns += took_ns;
    }

    /// A request of so many bytes was sent.
    pub fn sent(&mut self, bytes: u64) {
        self.requests += 1;
        self.request_bytes += bytes;
    }

    /// A reply has come.
    pub fn responded(&mut self, reply: &HttperfReply) {
        self.replies += 1;
        self.cut_replies += u64::from(reply.is_cut);
        self.response_ns += reply.response_ns;
        self.transfer_ns += reply.transfer_ns;
        self.header_bytes += reply.header_bytes;
        self.content_bytes += reply.content_bytes;
        self.footer_bytes += reply.footer_bytes;
        let class = usize::from(reply.status / 100);
        if let Some(count) = class
            .checked_sub(1)
            .and_then(|at| self.statuses.get_mut(at))
        {
            *count += 1;
        }
    }

    /// A connection failed.
    pub fn fails(&mut self, failure: HttperfFailure) {
        *self.failures.entry(failure).or_default() += 1;
    }

    /// A connection is closed, so long after it was begun and with so many replies.
    pub fn ends(&mut self, lasted_ns: u64, replies: u64) {
        if replies > 0 {
            self.lifetimes.add(lasted_ns as f64 / 1e6);
            let whole = (lasted_ns / 1_000_000).min(Self::LIFETIME_MAX_MS);
            *self.whole_lifetimes.entry(whole).or_default() += 1;
            self.replies_of_connections += replies;
        }
    }

    /// A session has ended.
    pub fn session_ends(&mut self, end: HttperfSessionEnd) {
        let sessions = self.sessions.get_or_insert_default();
        sessions.ends(end);
    }

    /// A sample of the rates is due; returns it.
    pub fn samples(&mut self, at_ns: u64) -> HttperfSample {
        let span_ns = at_ns.saturating_sub(self.sampled_ns);
        let replies = self.replies - self.sampled_replies;
        let replies = per_second(replies as f64, span_ns);
        self.rates.add(replies);
        (self.sampled_ns, self.sampled_replies) = (at_ns, self.replies);
        let sessions = self.sessions.as_mut();
        HttperfSample {
            replies,
            sessions: sessions.map(|sessions| sessions.samples(span_ns)),
        }
    }

    /// All of it took so long, and so much processor time.
    pub fn finish(&mut self, duration_ns: u64, cpu: HttperfCpu) {
        self.duration_ns = duration_ns;
        self.cpu = cpu;
    }

    pub(super) fn count_of(&self, failure: HttperfFailure) -> u64 {
        self.failures.get(&failure).copied().unwrap_or_default()
    }

    pub(super) fn errors(&self) -> u64 {
        self.failures.values().sum()
    }

    /// Connections begun per second, from the first one to the last; `None` of fewer than two.
    pub(super) fn begun_per_second(&self) -> Option<f64> {
        let span = self.last_begun_ns.saturating_sub(self.first_begun_ns);
        let gaps = self.connections.checked_sub(1).filter(|gaps| *gaps > 0)?;
        (span > 0).then(|| per_second(gaps as f64, span))
    }

    /// How long that was.
    pub(super) fn begun_within_ns(&self) -> u64 {
        self.last_begun_ns.saturating_sub(self.first_begun_ns)
    }

    /// The middle of the millisecond in which half of the connections are reached; zero without
    /// any.
    pub(super) fn median_lifetime_ms(&self) -> f64 {
        let mut reached = 0;
        for (ms, count) in &self.whole_lifetimes {
            reached += count;
            if 2 * reached >= self.lifetimes.count {
                return *ms as f64 + 0.5;
            }
        }
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifetimes_are_told_as_httperf_tells_them() {
        // Method: lifetimes by hand: the deviation is that of a sample, the median the lower
        // one of two and the middle of its millisecond. A connection without a reply has none.
        let mut figures = HttperfFigures::default();
        assert_eq!(figures.median_lifetime_ms(), 0.0);
        for (us, replies) in [(300, 1), (4_800, 2), (9_000, 0)] {
            figures.ends(us * 1_000, replies);
        }
        let RunningMoments { min, mean, max, .. } = figures.lifetimes;
        assert_eq!((min, max), (0.3, 4.8));
        assert!((mean - 2.55).abs() < 1e-9);
        assert!((figures.lifetimes.deviation() - 3.181_980_5).abs() < 1e-6);
        assert_eq!(figures.median_lifetime_ms(), 0.5);
        assert_eq!(figures.replies_of_connections, 3);
        figures.ends(6_100_000, 1);
        assert_eq!(figures.median_lifetime_ms(), 4.5);
        figures.ends(200_000_000_000, 1);
        figures.ends(200_000_000_000, 1);
        figures.ends(200_000_000_000, 1);
        assert_eq!(figures.median_lifetime_ms(), 6.5);
        figures.ends(200_000_000_000, 1);
        assert_eq!(figures.median_lifetime_ms(), 100_000.5);
    }

    #[test]
    fn the_reply_rate_is_sampled_between_moments() {
        // Method: 100 replies in five seconds, then 60 in six.
        let mut figures = HttperfFigures::default();
        let reply = HttperfReply {
            status: 200,
            header_bytes: 1,
            content_bytes: 1,
            footer_bytes: 0,
            response_ns: 1,
            transfer_ns: 1,
            is_cut: false,
        };
        (0..100).for_each(|_| figures.responded(&reply));
        assert_eq!(figures.samples(5_000_000_000).replies, 20.0);
        (0..60).for_each(|_| figures.responded(&reply));
        assert_eq!(figures.samples(11_000_000_000).replies, 10.0);
        assert_eq!((figures.rates.min, figures.rates.max), (10.0, 20.0));
        assert_eq!((figures.rates.mean, figures.rates.count), (15.0, 2));
        assert_eq!(figures.statuses, [0, 160, 0, 0, 0]);
    }
}
