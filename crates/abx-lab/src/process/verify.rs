//! Verifies the responses of a subject before any load, and that all subjects respond alike.

mod body_text;
mod wrong_status;

use std::time::Duration;

use abx_engine::{
    BodyIdentity, ExpectedResponse, Patience, ProbeError, Response, SENT_BEFORE_LOAD,
};
use abx_evidence::ExpectedStatus;
use abx_evidence::record::{ResponseRecord, TlsSession};
use abx_sys::{Nanos, ServerAddress};

use crate::process::log_tail::behind;
use crate::process::probe::{Probe, ProbeReply};
use abx_study::ExpectBody;
use wrong_status::{WrongStatus, is_server_failure};

/// How often in a row the response must be correct before a subject is ready.
const READY_AFTER: u32 = 3;
/// A rest between two looks at a server that starts is this part of the wait so far.
const RESTS: u32 = 128;
/// The shortest and the longest of these rests.
const REST_MIN: Duration = Duration::from_millis(1);
const REST_MAX: Duration = Duration::from_millis(100);
/// A look that has this much time shows the cause of a failure.
const CONCLUSIVE: Duration = Duration::from_millis(100);

/// The response of a subject to one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// The status of the first response.
    status: u16,
    expected: ExpectedStatus,
    body_bytes: u64,
    /// `None` when the bodies varied from response to response.
    body: Option<(BodyIdentity, String)>,
    /// The first bytes of the first response's body.
    body_start: Vec<u8>,
    /// The server's name for itself.
    server: Option<String>,
    /// The result of the TLS handshake.
    tls: Option<TlsSession>,
}

/// Why a subject cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    #[error("{name} did not respond to {path}: {source}")]
    NoResponse {
        name: String,
        path: String,
        source: ProbeError,
    },
    #[error(
        "{name} responds to {path} with status {got}, not {expected}: {remedy}{}", behind(.output)
    )]
    Status {
        name: String,
        path: String,
        got: u16,
        expected: ExpectedStatus,
        remedy: String,
        /// The end of its output, if that may show why.
        output: String,
    },
    #[error(
        "{name} responds to the WebSocket handshake at {path} with status {got}, not 101: {remedy}{}",
        behind(.output)
    )]
    NoWebSocket {
        name: String,
        path: String,
        got: u16,
        remedy: String,
        /// The end of its output, if that may show why.
        output: String,
    },
    #[error(
        "{name} does not echo messages at {path} ({got_bytes} bytes came back for {sent_bytes}): \
         give the path of an echo, or another shape (`--shape`, or `shape` in a study file)"
    )]
    NoEcho {
        name: String,
        path: String,
        /// The length of the returned message.
        got_bytes: u64,
        /// The length of the sent message.
        sent_bytes: u64,
    },
    #[error(
        "{one} and {other} respond with different bodies ({one_bytes} and {other_bytes} bytes, \
         {difference}): they would do different work. If that is intended, give \
         `--expect-body any` (`expect.body` in a study file)"
    )]
    Different {
        one: String,
        one_bytes: u64,
        other: String,
        other_bytes: u64,
        /// The hashes of the bodies, and where the bodies differ first.
        difference: String,
    },
    #[error(
        "{name} responds with a body of SHA-256 {got}, not {expected}: repair the server, or give \
         the correct hash (`--expect-body`, or `expect.body` in a study file)"
    )]
    Hash {
        name: String,
        /// The hash that came, or that bodies vary.
        got: String,
        expected: String,
    },
}

impl VerifyError {
    /// Adds the end of the server's output, if it was the server that failed.
    #[must_use]
    pub fn with_output(mut self, end: impl FnOnce() -> String) -> VerifyError {
        if let VerifyError::Status { got, output, .. }
        | VerifyError::NoWebSocket { got, output, .. } = &mut self
            && is_server_failure(*got)
        {
            *output = end();
        }
        self
    }

    /// Whether nothing is wrong with the subject: the user stopped abx.
    #[must_use]
    pub fn is_stop(&self) -> bool {
        matches!(
            self,
            VerifyError::NoResponse {
                source: ProbeError::Stopped,
                ..
            }
        )
    }
}

impl Verified {
    /// The load's expectation for every response. `compare_bodies` is off if the bodies of any
    /// subject vary by themselves, so that all subjects are checked alike.
    #[must_use]
    pub fn expectation(&self, compare_bodies: bool) -> ExpectedResponse {
        ExpectedResponse {
            status: self.expected,
            body: self
                .body
                .as_ref()
                .filter(|_| compare_bodies)
                .map(|(body, _)| *body),
        }
    }

    /// The SHA-256 of the body; `None` if bodies vary.
    fn sha256(&self) -> Option<&String> {
        self.body.as_ref().map(|(_, sha256)| sha256)
    }

    /// Whether the bodies were the same every time.
    #[must_use]
    pub fn is_stable(&self) -> bool {
        self.body.is_some()
    }

    /// The subject's own name and version.
    #[must_use]
    pub fn server(&self) -> Option<&str> {
        self.server.as_deref()
    }

    /// Its entry in the record.
    #[must_use]
    pub fn record(&self) -> ResponseRecord {
        ResponseRecord {
            status: self.status,
            body_bytes: self.body_bytes,
            sha256: self.sha256().cloned(),
            tls: self.tls.clone(),
        }
    }
}

/// Sends a request three times on fresh connections to a subject: this shows bodies that vary by
/// themselves, or by the values of placeholders.
///
/// # Errors
/// [`VerifyError::NoResponse`], [`VerifyError::Status`], [`VerifyError::NoWebSocket`],
/// [`VerifyError::NoEcho`].
pub fn verify(
    name: &str,
    address: ServerAddress,
    probe: &Probe,
    patience: Patience,
) -> Result<Verified, VerifyError> {
    let mut responses: Vec<Response> = Vec::new();
    for time in 0..SENT_BEFORE_LOAD {
        let reply =
            probe
                .send(time, address, patience)
                .map_err(|source| VerifyError::NoResponse {
                    name: name.to_owned(),
                    path: probe.request.path.clone(),
                    source,
                })?;
        responses.push(correct_response(name, probe, reply)?);
    }
    let first = &responses[0];
    let is_as_first =
        |response: &Response| probe.status.accepts(response.status) && response.body == first.body;
    // Bodies are compared only with those of correct responses.
    let is_stable = responses.iter().all(is_as_first);
    Ok(Verified {
        status: first.status,
        expected: probe.status,
        body_bytes: first.body.bytes,
        body: is_stable.then(|| (first.body, first.sha256.clone())),
        body_start: first.body_start.clone(),
        server: first.head_fields.server.clone(),
        tls: first.tls.clone(),
    })
}

/// The response, if it is correct, or if it responds to a logged request: whatever its status is,
/// the logged status stays the expected one.
fn correct_response(name: &str, probe: &Probe, reply: ProbeReply) -> Result<Response, VerifyError> {
    match reply {
        ProbeReply::Response(response)
            if probe.is_logged || probe.status.accepts(response.status) =>
        {
            Ok(response)
        }
        ProbeReply::Response(response) => Err(wrong_status(name, probe, &response)),
        ProbeReply::OtherMessage {
            sent_bytes,
            got_bytes,
        } => Err(VerifyError::NoEcho {
            name: name.to_owned(),
            path: probe.request.path.clone(),
            got_bytes,
            sent_bytes,
        }),
    }
}

fn wrong_status(name: &str, probe: &Probe, response: &Response) -> VerifyError {
    let (name, path) = (name.to_owned(), probe.request.path.clone());
    let (got, output) = (response.status, String::new());
    let wrong = WrongStatus {
        got,
        method: &probe.request.method,
        is_websocket: probe.is_websocket(),
        head_fields: &response.head_fields,
    };
    let remedy = wrong.remedy() + &body_text::reason(&response.body_start);
    if wrong.is_websocket {
        VerifyError::NoWebSocket {
            name,
            path,
            got,
            remedy,
            output,
        }
    } else {
        VerifyError::Status {
            name,
            path,
            got,
            expected: probe.status,
            remedy,
            output,
        }
    }
}

/// Compares the responses of all subjects to one request. Returns whether bodies are compared
/// during the load.
///
/// # Errors
/// [`VerifyError::Different`], [`VerifyError::Hash`].
pub fn agree(verified: &[(&str, &Verified)], expect: &ExpectBody) -> Result<bool, VerifyError> {
    match expect {
        ExpectBody::Any => return Ok(false),
        ExpectBody::Sha256(expected) => {
            for (name, verified) in verified {
                let sha256 = verified.sha256();
                if sha256 != Some(expected) {
                    return Err(VerifyError::Hash {
                        name: (*name).to_owned(),
                        got: sha256.map_or("that varies".to_owned(), Clone::clone),
                        expected: expected.clone(),
                    });
                }
            }
        }
        ExpectBody::Same => {
            let stable: Vec<_> = verified
                .iter()
                .filter(|(_, verified)| verified.is_stable())
                .collect();
            let mut pairs = stable.windows(2);
            if let Some(pair) = pairs.find(|pair| pair[0].1.sha256() != pair[1].1.sha256()) {
                return Err(different(pair[0], pair[1]));
            }
        }
    }
    Ok(verified.iter().all(|(_, verified)| verified.is_stable()))
}

fn different(
    (first_name, first): &(&str, &Verified),
    (second_name, second): &(&str, &Verified),
) -> VerifyError {
    let [first_hash, second_hash] =
        [first, second].map(|verified| verified.sha256().map_or("", String::as_str));
    let place = body_text::first_difference(&first.body_start, &second.body_start);
    VerifyError::Different {
        one: (*first_name).to_owned(),
        one_bytes: first.body_bytes,
        other: (*second_name).to_owned(),
        other_bytes: second.body_bytes,
        difference: format!("SHA-256 {first_hash:.12}… and {second_hash:.12}…; {place}"),
    }
}

/// Whether a subject is ready to be verified.
#[derive(Debug)]
pub enum ReadinessOutcome {
    /// It was correct three times in a row, the first time at this moment.
    Ready(Nanos),
    /// It was not ready in time; its behaviour instead.
    Late(String),
    Wrong(VerifyError),
}

/// The result of one look at a server that was started.
#[derive(Debug)]
pub enum ReadinessLook {
    Right,
    /// It may be ready later; its current behaviour.
    NotYet(String),
    /// It will never be ready.
    Wrong(VerifyError),
}

/// Sends one request to a server. A refused connection and status 503 mean "not yet"; any other
/// incorrect status is final.
pub fn look(
    name: &str,
    address: ServerAddress,
    probe: &Probe,
    patience: Patience,
) -> ReadinessLook {
    match probe.send(0, address, patience) {
        Ok(ProbeReply::Response(response))
            if response.status == 503 && !probe.status.accepts(503) =>
        {
            ReadinessLook::NotYet("it responds with 503".to_owned())
        }
        Ok(reply) => match correct_response(name, probe, reply) {
            Err(wrong) => ReadinessLook::Wrong(wrong),
            Ok(_) => ReadinessLook::Right,
        },
        Err(error) => ReadinessLook::NotYet(error.to_string()),
    }
}

/// Checks a server until it is correct three times in a row. The result is `None` if `gone` reports
/// that the server has ended.
pub fn wait_ready(
    patience: Patience,
    look: &mut dyn FnMut(Patience) -> ReadinessLook,
    mut gone: impl FnMut() -> bool,
) -> Option<ReadinessOutcome> {
    let began = Nanos::now();
    let deadline = began.plus(patience.timeout.into());
    let mut first_right = None;
    let mut right = 0;
    let mut before = None;
    loop {
        let looked = Nanos::now();
        let left = Duration::from(deadline.since(looked));
        let patience = Patience {
            timeout: left.max(Duration::from_millis(1)),
            ..patience
        };
        let why = match look(patience) {
            ReadinessLook::Wrong(wrong) => return Some(ReadinessOutcome::Wrong(wrong)),
            ReadinessLook::Right => {
                first_right.get_or_insert_with(Nanos::now);
                right += 1;
                if right == READY_AFTER {
                    return first_right.map(ReadinessOutcome::Ready);
                }
                continue;
            }
            ReadinessLook::NotYet(why) => why,
        };
        (right, first_right) = (0, None);
        if gone() {
            return None;
        }
        let now = Nanos::now();
        if now >= deadline {
            // The last look may have had next to no time; then the one before it shows more.
            let before = before.filter(|_| left < CONCLUSIVE);
            return Some(ReadinessOutcome::Late(before.unwrap_or(why)));
        }
        before = Some(why);
        if let Some(on_wait) = patience.on_wait {
            on_wait(now.since(began).into());
        }
        std::thread::sleep(rest(now.since(began).into(), now.since(looked).into()));
    }
}

/// The rest between two looks: a part of the elapsed time that is small enough that times measured
/// by looks do not fall into steps, and at least the time that a look takes.
fn rest(waited: Duration, look: Duration) -> Duration {
    (waited / RESTS).max(look).clamp(REST_MIN, REST_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verified(bytes: u64, sha256: Option<&str>) -> Verified {
        Verified {
            status: 200,
            expected: 200_u16.into(),
            body_bytes: bytes,
            body: sha256.map(|text| (BodyIdentity { bytes, xxh3: 1 }, text.to_owned())),
            body_start: sha256.unwrap_or_default().as_bytes().to_vec(),
            server: None,
            tls: None,
        }
    }

    #[test]
    fn the_last_look_with_enough_time_describes_a_late_server() {
        // Method: a server that refuses, and then accepts a connection and stays silent for the
        // remaining time; and one that becomes silent when hardly any time is left.
        for (silent_after_ms, message) in [(0, "silent"), (950, "refused")] {
            let began = Nanos::now();
            let mut looks = 0;
            let mut look = |patience: Patience| {
                looks += 1;
                let waited: Duration = Nanos::now().since(began).into();
                if looks == 1 || waited < Duration::from_millis(silent_after_ms) {
                    return ReadinessLook::NotYet("refused".to_owned());
                }
                std::thread::sleep(patience.timeout);
                ReadinessLook::NotYet("silent".to_owned())
            };
            let patience = Patience::from(Duration::from_secs(1));
            let outcome = wait_ready(patience, &mut look, || false);
            let Some(ReadinessOutcome::Late(why)) = outcome else {
                panic!("it was never ready");
            };
            assert_eq!(why, message);
        }
    }

    #[test]
    fn different_bodies_are_refused_unless_any_is_allowed() {
        // Method: two subjects, each rule in turn. If any body is allowed, none is compared under
        // load either.
        let (first, second) = (verified(5, Some("aa")), verified(6, Some("bb")));
        let pair = [("one", &first), ("other", &second)];
        let refused = agree(&pair, &ExpectBody::Same).unwrap_err().to_string();
        assert!(refused.contains("--expect-body any"), "{refused}");
        assert!(refused.contains("byte 1: `aa` and `bb`"), "{refused}");
        assert!(!agree(&pair, &ExpectBody::Any).unwrap());
        assert!(agree(&pair, &ExpectBody::Sha256("aa".into())).is_err());
        assert!(agree(&pair[..1], &ExpectBody::Sha256("aa".into())).unwrap());
    }

    #[test]
    fn looks_separate_moments_that_differ_by_a_hundredth() {
        // Method: the looks of a wait, each of which takes no time. A look falls between any two
        // moments that are more than a hundredth and the shortest rest apart.
        let mut waited = Duration::ZERO;
        while waited < Duration::from_secs(8) {
            let next = waited + rest(waited, Duration::ZERO);
            let step = next - waited;
            assert!(step <= REST_MIN || step * 100 <= waited, "{waited:?}");
            waited = next;
        }
        // Slow looks do not take all of the time.
        let look = Duration::from_millis(40);
        assert_eq!(rest(Duration::from_secs(1), look), look);
    }

    #[test]
    fn one_varying_body_turns_the_check_off_for_all() {
        // Method: a stable and a varying subject.
        let (stable, varying) = (verified(5, Some("aa")), verified(6, None));
        let pair = [("one", &stable), ("other", &varying)];
        assert!(!agree(&pair, &ExpectBody::Same).unwrap());
        assert!(stable.expectation(false).body.is_none());
        assert!(agree(&pair, &ExpectBody::Sha256("aa".into())).is_err());
    }
}
