//! Each request of a slice by itself, for reports that are made of single requests. Start at
//! [`RequestLog`]. It takes a clock reading and some memory for each request, so studies and
//! runs do without.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use crate::measure::distribution::phases::Timestamps;
use crate::measure::outcome::Outcome;

/// What is kept of each request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestLogPlan {
    /// How many requests each worker keeps at most; what comes behind them is counted.
    pub most: u64,
    /// Whether the beginning of every response is kept, and not that of the first alone.
    pub keeps_heads: bool,
    /// Counts meanwhile how many have ended; of the same process only.
    #[serde(skip)]
    pub count: Arc<RequestCount>,
}

/// How many requests have ended so far, by outcome. It may be read while they are made.
#[derive(Debug, Default)]
pub struct RequestCount {
    outcomes: [AtomicU64; Outcome::ALL.len()],
}

/// One request that ended, on the monotonic clock in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoggedRequest {
    /// When it was due: in a closed loop, when its connection became free.
    pub intended_ns: u64,
    /// How long its connection took to be made; 0 over one that stood, and without a whole
    /// response.
    pub connect_ns: u64,
    /// From the send to the response's first byte; 0 without a whole response.
    pub wait_ns: u64,
    /// From when it was due to its end.
    pub total_ns: u64,
    /// Bytes of the response's body; 0 without a whole response.
    pub body_bytes: u64,
    /// The response's status; 0 without a whole response.
    pub status: u16,
    /// Whether the response left its connection open.
    pub is_kept: bool,
    pub outcome: Outcome,
}

/// What client and server agreed on before a TLS connection's first request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsOptions {
    /// The version, such as `TLSv1.3`.
    pub version: String,
    /// The cipher suite by its registered name, those of TLS 1.3 with `TLS13_` before it.
    pub cipher: String,
    /// The group of the key exchange, such as `X25519`.
    pub group: Option<String>,
    /// Bits of the public key in the server's certificate, where its kind is known.
    pub server_key_bits: Option<u32>,
}

/// What is known of a whole response before its outcome is.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct LoggedResponse {
    connect_ns: u64,
    wait_ns: u64,
    body_bytes: u64,
    status: u16,
    is_kept: bool,
}

/// The requests of a slice in the order in which they ended, and beginnings of responses.
/// Several workers' stand one behind the other.
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

/// Of a response's beginning so many bytes are kept.
const HEAD_BYTES: usize = 8192;
/// Memory is taken beforehand for so many requests at most.
const RESERVED_MAX: usize = 10_000_000;

impl RequestCount {
    /// How many have ended so.
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
    /// An empty one for at most so many requests, whose memory is taken now.
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

    /// How many were not kept, since there were more than were to be.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// How responses began that came first, or of all: head, and some of the body.
    #[must_use]
    pub fn heads(&self) -> &[Vec<u8>] {
        &self.heads
    }

    /// What the first connection agreed on; `None` without TLS.
    #[must_use]
    pub fn tls(&self) -> Option<&TlsOptions> {
        self.tls.as_ref()
    }

    /// A connection stands, and this was agreed on; read from the first one alone.
    pub fn agrees(&mut self, terms: impl FnOnce() -> Option<TlsOptions>) {
        if self.tls.is_none() {
            self.tls = terms();
        }
    }

    /// A response begins with these bytes.
    pub fn begins(&mut self, received: &[u8]) {
        if (self.keeps_heads || self.heads.is_empty()) && !received.is_empty() {
            let kept = &received[..received.len().min(HEAD_BYTES)];
            self.heads.push(kept.to_vec());
        }
    }

    /// The request that ends next was sent at a moment, and has a whole response with these
    /// moments.
    pub fn timed(&mut self, stamps: &Timestamps, sent_ns: u64) {
        self.next.connect_ns = stamps.connect_ns.unwrap_or(0);
        self.next.wait_ns = stamps.first_byte_ns.saturating_sub(sent_ns);
    }

    /// The same one's response has this status and so long a body, and leaves its connection
    /// open or not.
    pub fn responds(&mut self, status: u16, body_bytes: u64, is_kept: bool) {
        self.next.status = status;
        self.next.body_bytes = body_bytes;
        self.next.is_kept = is_kept;
    }

    /// The request that was due then has ended. An attempt that is followed by another one is
    /// none.
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

    /// Adds what another worker kept.
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
    fn a_request_is_kept_with_what_its_response_said() {
        // Method: a response, and a failure behind it, which has none of its figures.
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
    fn attempts_are_no_requests_and_what_does_not_fit_is_counted() {
        // Method: room for two; attempts and a request that was given up beside four that ended.
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
        // Method: three responses, one of which is longer than what is kept.
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
            let numbers: Vec<usize> = log.heads().iter().map(Vec::len).collect();
            assert_eq!(numbers, lengths);
        }
    }

    #[test]
    fn workers_stand_one_behind_the_other() {
        // Method: two of them, merged.
        let (mut request_log, mut other) = (log(3), log(3));
        request_log.ends(100, 900, Outcome::Ok);
        other.ends(100, 900, Outcome::Refused);
        other.begins(b"HTTP/1.1 200 OK");
        let terms = TlsOptions {
            version: "TLSv1.3".to_owned(),
            cipher: String::new(),
            group: None,
            server_key_bits: None,
        };
        other.agrees(|| Some(terms.clone()));
        other.agrees(|| panic!("only the first connection is asked"));
        request_log.merge(&other);
        let kept: Vec<Outcome> = request_log
            .requests()
            .iter()
            .map(|request| request.outcome)
            .collect();
        assert_eq!(kept, [Outcome::Ok, Outcome::Refused]);
        assert_eq!(
            (request_log.heads().len(), request_log.tls()),
            (1, Some(&terms))
        );
    }
}
