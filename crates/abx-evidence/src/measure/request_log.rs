//! The single requests of a slice, for reports of single requests. Start at [`RequestLog`]. It
//! costs a clock reading and some memory per request, so studies and runs do without.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use crate::measure::distribution::phases::Timestamps;
use crate::measure::outcome::Outcome;

/// What to log of each request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestLogPlan {
    /// The most requests that a worker logs; later ones are only counted.
    pub most: u64,
    /// Whether to keep the beginning of every response, rather than of the first one only.
    pub keeps_heads: bool,
    /// Counts the requests that have ended so far, within the same process.
    #[serde(skip)]
    pub count: Arc<RequestCount>,
}

/// How many requests have ended so far, by outcome. It may be read during the load.
#[derive(Debug, Default)]
pub struct RequestCount {
    outcomes: [AtomicU64; Outcome::ALL.len()],
}

/// One request that ended, on the monotonic clock in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoggedRequest {
    /// When it was due: in a closed loop, when its connection became free.
    pub intended_ns: u64,
    /// How long opening its connection took; 0 if the connection was already open, and without a
    /// complete response.
    pub connect_ns: u64,
    /// From the send to the response's first byte; 0 without a complete response.
    pub wait_ns: u64,
    /// From when it was due to its end.
    pub total_ns: u64,
    /// Bytes of the response's body; 0 without a complete response.
    pub body_bytes: u64,
    /// The response's status; 0 without a complete response.
    pub status: u16,
    /// Whether the response left its connection open.
    pub is_kept: bool,
    pub outcome: Outcome,
}

/// The options on which client and server agreed before a TLS connection's first request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsOptions {
    /// The version, such as `TLSv1.3`.
    pub version: String,
    /// The cipher suite by its registered name, those of TLS 1.3 with `TLS13_` before it.
    pub cipher: String,
    /// The group of the key exchange, such as `X25519`.
    pub group: Option<String>,
    /// Bits of the public key in the server's certificate, if its kind is known.
    pub server_key_bits: Option<u32>,
}

/// The figures of a complete response, which are known before its outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct LoggedResponse {
    connect_ns: u64,
    wait_ns: u64,
    body_bytes: u64,
    status: u16,
    is_kept: bool,
}

/// The requests of a slice in the order in which they ended, and beginnings of responses. The logs
/// of several workers follow one another.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RequestLog {
    requests: Vec<LoggedRequest>,
    most: usize,
    left_out: u64,
    heads: Vec<Vec<u8>>,
    keeps_heads: bool,
    tls: Option<TlsOptions>,
    next: LoggedResponse,
    count: Arc<RequestCount>,
}

/// How many bytes of a response's beginning are kept.
const HEAD_BYTES: usize = 8192;
/// The most requests for which memory is allocated in advance.
const RESERVED_MAX: usize = 10_000_000;

impl RequestCount {
    /// How many have ended with this outcome.
    #[must_use]
    pub fn of(&self, outcome: Outcome) -> u64 {
        self.outcomes[outcome as usize].load(Ordering::Relaxed)
    }

    /// How many have ended.
    #[must_use]
    pub fn all(&self) -> u64 {
        Outcome::ALL.iter().map(|outcome| self.of(*outcome)).sum()
    }

    fn add(&self, outcome: Outcome) {
        self.outcomes[outcome as usize].fetch_add(1, Ordering::Relaxed);
    }
}

/// The counter makes no difference between plans or logs.
impl PartialEq for RequestCount {
    fn eq(&self, _: &RequestCount) -> bool {
        true
    }
}

impl Eq for RequestCount {}

impl RequestLog {
    /// An empty log for at most `requests_max` requests, whose memory is allocated now.
    #[must_use]
    pub fn new(plan: &RequestLogPlan, requests_max: u64) -> RequestLog {
        let most = usize::try_from(plan.most.min(requests_max)).unwrap_or(usize::MAX);
        RequestLog {
            requests: Vec::with_capacity(most.min(RESERVED_MAX)),
            most,
            keeps_heads: plan.keeps_heads,
            count: Arc::clone(&plan.count),
            ..RequestLog::default()
        }
    }

    /// The requests in the order in which they ended, worker after worker.
    #[must_use]
    pub fn requests(&self) -> &[LoggedRequest] {
        &self.requests
    }

    /// How many requests were not logged, because the log was full.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// The beginning of the first response, or of all responses: head, and some of the body.
    #[must_use]
    pub fn heads(&self) -> &[Vec<u8>] {
        &self.heads
    }

    /// The TLS options of the first connection; `None` without TLS.
    #[must_use]
    pub fn tls(&self) -> Option<&TlsOptions> {
        self.tls.as_ref()
    }

    /// Records that a connection is open. Its options are read until a connection has some.
    pub fn agrees(&mut self, options: impl FnOnce() -> Option<TlsOptions>) {
        if self.tls.is_none() {
            self.tls = options();
        }
    }

    /// Records the first bytes of a response.
    pub fn begins(&mut self, received: &[u8]) {
        if (self.keeps_heads || self.heads.is_empty()) && !received.is_empty() {
            let head = &received[..received.len().min(HEAD_BYTES)];
            self.heads.push(head.to_vec());
        }
    }

    /// Records the moments of the request that ends next, which has a complete response.
    pub fn timed(&mut self, stamps: &Timestamps, sent_ns: u64) {
        self.next.connect_ns = stamps.connect_ns.unwrap_or(0);
        self.next.wait_ns = stamps.first_byte_ns.saturating_sub(sent_ns);
    }

    /// Records the response of the request that ends next; `is_kept` if it leaves its connection
    /// open.
    pub fn responds(&mut self, status: u16, body_bytes: u64, is_kept: bool) {
        self.next.status = status;
        self.next.body_bytes = body_bytes;
        self.next.is_kept = is_kept;
    }

    /// Records the end of the request that was due at `intended_ns`. An attempt that is followed by
    /// another one is not a request.
    pub fn ends(&mut self, intended_ns: u64, done_ns: u64, outcome: Outcome) {
        let next = std::mem::take(&mut self.next);
        let is_attempt = matches!(outcome, Outcome::IdleClose | Outcome::RestClose);
        if is_attempt || outcome == Outcome::Unfinished {
            return;
        }
        self.count.add(outcome);
        if self.requests.len() >= self.most {
            self.left_out += 1;
            return;
        }
        let response = if outcome.is_completed() {
            next
        } else {
            LoggedResponse::default()
        };
        self.requests.push(LoggedRequest {
            intended_ns,
            connect_ns: response.connect_ns,
            wait_ns: response.wait_ns,
            total_ns: done_ns.saturating_sub(intended_ns),
            body_bytes: response.body_bytes,
            status: response.status,
            is_kept: response.is_kept,
            outcome,
        });
    }

    /// Adds the log of another worker.
    pub fn merge(&mut self, other: &RequestLog) {
        self.requests.extend_from_slice(&other.requests);
        self.heads.extend_from_slice(&other.heads);
        self.left_out += other.left_out;
        if self.tls.is_none() {
            self.tls.clone_from(&other.tls);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(most: u64) -> RequestLog {
        let plan = RequestLogPlan {
            most,
            ..RequestLogPlan::default()
        };
        RequestLog::new(&plan, u64::MAX)
    }

    fn stamps() -> Timestamps {
        Timestamps {
            intended_ns: 100,
            connect_ns: Some(40),
            turn_ns: 150,
            first_byte_ns: 400,
            done_ns: 900,
        }
    }

    #[test]
    fn a_request_is_logged_with_the_figures_of_its_response() {
        // Method: a response, and a failure after it, which has none of its figures.
        let mut log = log(10);
        log.timed(&stamps(), 150);
        log.responds(404, 12, true);
        log.ends(100, 900, Outcome::Ok);
        log.responds(200, 7, true);
        log.ends(100, 900, Outcome::Reset);
        let responded = LoggedRequest {
            intended_ns: 100,
            connect_ns: 40,
            wait_ns: 250,
            total_ns: 800,
            body_bytes: 12,
            status: 404,
            is_kept: true,
            outcome: Outcome::Ok,
        };
        let failed = LoggedRequest {
            connect_ns: 0,
            wait_ns: 0,
            body_bytes: 0,
            status: 0,
            is_kept: false,
            outcome: Outcome::Reset,
            ..responded
        };
        assert_eq!(log.requests(), [responded, failed]);
        assert_eq!((log.count.all(), log.count.of(Outcome::Reset)), (2, 1));
    }

    #[test]
    fn attempts_are_not_logged_and_requests_that_do_not_fit_are_counted() {
        // Method: room for two; attempts and a request that was given up among four that ended.
        let mut log = log(2);
        for outcome in [
            Outcome::IdleClose,
            Outcome::Ok,
            Outcome::RestClose,
            Outcome::Timeout,
            Outcome::Unfinished,
            Outcome::Ok,
            Outcome::Ok,
        ] {
            log.ends(100, 900, outcome);
        }
        let kept: Vec<Outcome> = log
            .requests()
            .iter()
            .map(|request| request.outcome)
            .collect();
        assert_eq!(kept, [Outcome::Ok, Outcome::Timeout]);
        assert_eq!((log.left_out(), log.count.all()), (2, 4));
    }

    #[test]
    fn the_first_head_is_kept_or_all_are() {
        // Method: three responses, one of which is longer than the kept beginning.
        let long = vec![b'x'; HEAD_BYTES + 1];
        for (keeps_heads, lengths) in [(false, &[2][..]), (true, &[2, HEAD_BYTES, 1][..])] {
            let plan = RequestLogPlan {
                most: 1,
                keeps_heads,
                ..RequestLogPlan::default()
            };
            let mut log = RequestLog::new(&plan, 1);
            for received in [&b"ab"[..], &long, b"c"] {
                log.begins(received);
            }
            let kept: Vec<usize> = log.heads().iter().map(Vec::len).collect();
            assert_eq!(kept, lengths);
        }
    }

    #[test]
    fn logs_of_workers_follow_one_another() {
        // Method: two logs, merged.
        let (mut merged, mut other) = (log(3), log(3));
        merged.ends(100, 900, Outcome::Ok);
        other.ends(100, 900, Outcome::Refused);
        other.begins(b"HTTP/1.1 200 OK");
        let options = TlsOptions {
            version: "TLSv1.3".to_owned(),
            cipher: String::new(),
            group: None,
            server_key_bits: None,
        };
        other.agrees(|| Some(options.clone()));
        other.agrees(|| panic!("only the first connection's options are read"));
        merged.merge(&other);
        let outcomes: Vec<Outcome> = merged
            .requests()
            .iter()
            .map(|request| request.outcome)
            .collect();
        assert_eq!(outcomes, [Outcome::Ok, Outcome::Refused]);
        assert_eq!(merged.heads().len(), 1);
        assert_eq!(merged.tls(), Some(&options));
    }
}
