//! The result of a load, counted as httperf counts it. Durations are in ns.

use std::collections::BTreeMap;

use super::moments::{RunningMoments, per_second};
use super::session_figures::{HttperfSessionEnd, SessionFigures};

/// A reply, which may be incomplete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttperfReply {
    pub status: u16,
    pub header_bytes: u64,
    /// Bytes of the body.
    pub content_bytes: u64,
    /// Bytes after the last chunk.
    pub footer_bytes: u64,
    /// From the first byte of the request to the first byte of the reply.
    pub response_ns: u64,
    /// From the first byte of the reply to its last byte.
    pub transfer_ns: u64,
    /// Whether the server closed the connection within the body.
    pub is_cut: bool,
}

/// Why a connection failed, or could not begin.
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

/// CPU time of the client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HttperfCpu {
    pub user_ns: u64,
    pub system_ns: u64,
}

/// The figures of the report. The methods that count must be called in chronological order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HttperfFigures {
    pub(super) connections: u64,
    pub(super) open_max: u64,
    /// The length of the last burst of connections, and of the longest burst that another one
    /// followed.
    burst: u64,
    pub(super) burst_max: u64,
    /// When the first and the last connection began.
    first_begun_ns: u64,
    last_begun_ns: u64,
    /// Connections that opened, and the sum of the times that this took.
    pub(super) opened: u64,
    pub(super) connect_ns: u64,
    /// Lifetimes in ms of connections that had a reply, and the number of connections by lifetime
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
    /// Replies by the first digit of the status, from 1.
    pub(super) statuses: [u64; 5],
    /// Samples of the reply rate.
    pub(super) rates: RunningMoments,
    /// When the last sample was taken, and the number of replies up to then.
    sampled_ns: u64,
    sampled_replies: u64,
    failures: BTreeMap<HttperfFailure, u64>,
    pub(super) duration_ns: u64,
    pub(super) cpu: HttperfCpu,
    /// The figures of sessions, in a load of sessions.
    pub(super) sessions: Option<SessionFigures>,
}

/// Rates since the previous sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HttperfSample {
    /// Replies per second.
    pub replies: f64,
    /// Complete sessions per second, in a load of sessions.
    pub sessions: Option<f64>,
}

impl HttperfFigures {
    /// The interval between samples of the reply rate, in ns.
    pub const SAMPLE_NS: u64 = 5_000_000_000;
    /// The median treats longer lifetimes as this one, in ms.
    const LIFETIME_MAX_MS: u64 = 100_000;

    /// The figures of a load of sessions.
    #[must_use]
    pub fn of_sessions() -> HttperfFigures {
        HttperfFigures {
            sessions: Some(SessionFigures::default()),
            ..HttperfFigures::default()
        }
    }

    /// Counts a connection that begins: `open` are open, `together` began in this burst so far.
    pub fn begins(&mut self, at_ns: u64, open: u64, together: u64) {
        if self.connections == 0 {
            self.first_begun_ns = at_ns;
        }
        if together == 1 {
            // httperf counts a burst only when the next one begins.
            self.burst_max = self.burst_max.max(self.burst);
        }
        self.burst = together;
        self.last_begun_ns = at_ns;
        self.connections += 1;
        self.open_max = self.open_max.max(open);
    }

    /// Counts a connection that has opened, with the time since it began.
    pub fn opened(&mut self, took_ns: u64) {
        self.opened += 1;
        self.connect_ns += took_ns;
    }

    /// Counts a request that was sent.
    pub fn sent(&mut self, bytes: u64) {
        self.requests += 1;
        self.request_bytes += bytes;
    }

    /// Counts a reply.
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

    /// Counts a connection that failed.
    pub fn fails(&mut self, failure: HttperfFailure) {
        *self.failures.entry(failure).or_default() += 1;
    }

    /// Counts a connection that has closed, with its lifetime and its number of replies.
    pub fn ends(&mut self, lasted_ns: u64, replies: u64) {
        if replies > 0 {
            self.lifetimes.add(lasted_ns as f64 / 1e6);
            let whole_ms = (lasted_ns / 1_000_000).min(Self::LIFETIME_MAX_MS);
            *self.whole_lifetimes.entry(whole_ms).or_default() += 1;
            self.replies_of_connections += replies;
        }
    }

    /// Counts a session that has ended.
    pub fn session_ends(&mut self, end: HttperfSessionEnd) {
        self.sessions.get_or_insert_default().ends(end);
    }

    /// Takes a sample of the rates, and returns it.
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

    /// Sets the duration of the load and the CPU time that it took.
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

    /// Connections begun per second, from the first to the last; `None` for fewer than two.
    pub(super) fn begun_per_second(&self) -> Option<f64> {
        let span_ns = self.begun_within_ns();
        let gaps = self.connections.checked_sub(1).filter(|gaps| *gaps > 0)?;
        (span_ns > 0).then(|| per_second(gaps as f64, span_ns))
    }

    /// The time from the beginning of the first connection to that of the last.
    pub(super) fn begun_within_ns(&self) -> u64 {
        self.last_begun_ns.saturating_sub(self.first_begun_ns)
    }

    /// The median lifetime: the middle of the millisecond of the middle connection; zero without
    /// connections.
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
    fn lifetimes_are_reported_as_by_httperf() {
        // Method: values computed by hand: the sample deviation, and the lower one of two medians,
        // in the middle of its millisecond. A connection without a reply does not count.
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
    fn a_sample_is_the_reply_rate_since_the_previous_sample() {
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
