//! One user: the current session, its values and cookies, and its connection.

use std::fmt::Write;

use abx_evidence::Outcome;
use abx_sys::Nanos;
use abx_wire::http1::{
    Client, Done, Event, Fault, Persistence, Request, RequestError, ResponseKind, Version,
    response_headers,
};

use super::cookies::CookieJar;
use super::plan::ScenarioPlan;
use super::tally::StepFailure;
use crate::plan::{Extraction, SESSION, ScenarioStep, USER};
use crate::protocol::http::fault_outcome;
use crate::random::Random;

/// A user, with one session at a time.
pub(super) struct ScenarioUser {
    pub(super) activity: Activity,
    /// When to act without an event: a pause ends, or a step's time is up.
    pub(super) wakes: Nanos,
    /// The earliest planned check of `wakes`.
    pub(super) looked_at: Nanos,
    pub(super) connection: ConnectionState,
    /// Counts connections, so that events of an earlier connection are known to be stale.
    pub(super) generation: u32,
    pub(super) has_served: bool,
    pub(super) session: u64,
    pub(super) began: Nanos,
    /// The sum of the session's pauses so far.
    pub(super) think: Nanos,
    /// The pause before the step.
    pub(super) pause: Nanos,
    pub(super) step: usize,
    /// When the step was due.
    pub(super) due: Nanos,
    /// Whether the kernel took a byte of its request.
    pub(super) is_sent: bool,
    /// Whether its request was sent before, on a connection that was then closed.
    pub(super) is_second_try: bool,
    pub(super) random: Random,
    /// Whether the session counts.
    pub(super) is_counted: bool,
    pub(super) bytes: u64,
    number: u64,
    values: Vec<Option<String>>,
    cookies: CookieJar,
    http: Client,
    outgoing: Vec<u8>,
    taken: usize,
    target: String,
    head: Vec<u8>,
    has_head: bool,
    body: Vec<u8>,
    is_body_kept: bool,
    is_body_too_large: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Activity {
    Thinks,
    Requests,
    /// Pauses after a session that failed without a response.
    Rests,
    IsDone,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionState {
    Closed,
    Connecting,
    Standing,
}

/// The effect of received bytes, or of an end.
pub(super) enum ConnectionEvent {
    More,
    Responded(Done),
    /// The connection is unusable, for this reason.
    Broken(Fault),
    /// It was closed while nothing was awaited.
    ClosedIdle,
    Failed(StepFault),
}

impl ScenarioUser {
    pub(super) fn new(number: u64, plan: &ScenarioPlan) -> ScenarioUser {
        ScenarioUser {
            activity: Activity::Rests,
            wakes: Nanos::MAX,
            looked_at: Nanos::MAX,
            connection: ConnectionState::Closed,
            generation: 0,
            has_served: false,
            session: 0,
            began: Nanos(0),
            think: Nanos(0),
            pause: Nanos(0),
            step: 0,
            due: Nanos(0),
            is_sent: false,
            is_second_try: false,
            random: Random::new(plan.seed.wrapping_add(number)),
            is_counted: true,
            bytes: 0,
            number,
            values: Vec::new(),
            cookies: CookieJar::default(),
            http: Client::new(),
            outgoing: Vec::new(),
            taken: 0,
            target: String::new(),
            head: Vec::new(),
            has_head: false,
            body: Vec::new(),
            is_body_kept: false,
            is_body_too_large: false,
        }
    }

    /// Cancels planned checks.
    pub(super) fn forget_looks(&mut self) {
        (self.wakes, self.looked_at) = (Nanos::MAX, Nanos::MAX);
    }

    /// Begins a session, without any state of earlier sessions.
    pub(super) fn begin(&mut self, session: u64, now: Nanos, plan: &ScenarioPlan) {
        (self.session, self.began) = (session, now);
        (self.think, self.step) = (Nanos(0), 0);
        self.bytes = 0;
        self.values.clone_from(&plan.values);
        self.values[USER] = Some(self.number.to_string());
        self.values[SESSION] = Some(session.to_string());
        self.cookies.clear();
    }

    /// Writes the request of a step that is due.
    ///
    /// # Errors
    /// A sentence that names the part that cannot be sent.
    pub(super) fn prepare(&mut self, plan: &ScenarioPlan, due: Nanos) -> Result<(), String> {
        let step = &plan.steps[self.step];
        (self.due, self.is_second_try) = (due, false);
        self.is_body_kept = step.extract.iter().any(Extraction::needs_body);
        self.target = target(&step.path.fill(&self.values));
        let mut headers: Vec<(String, String)> = step
            .headers
            .iter()
            .map(|(name, value)| (name.clone(), value.fill(&self.values)))
            .collect();
        if let Some(cookies) = self.cookies.header(&self.target) {
            headers.push(("Cookie".to_owned(), cookies));
        }
        let request = Request {
            method: step.method.clone(),
            target: self.target.clone(),
            host: plan.host.clone(),
            headers,
            body: step.body.fill(&self.values).into_bytes(),
            version: Version::Http11,
            connection: Persistence::KeepAlive,
        };
        self.outgoing = request.encode().map_err(|error| unsendable(&error))?;
        self.rewind();
        Ok(())
    }

    /// Resets the request to be sent from its beginning, and drops any part of a response.
    pub(super) fn rewind(&mut self) {
        (self.taken, self.is_sent) = (0, false);
        self.head.clear();
        self.body.clear();
        (self.has_head, self.is_body_too_large) = (false, false);
    }

    pub(super) fn connects(&mut self) {
        self.connection = ConnectionState::Connecting;
        self.generation = self.generation.wrapping_add(1);
        self.has_served = false;
        self.http = Client::new();
    }

    pub(super) fn unsent(&self) -> &[u8] {
        &self.outgoing[self.taken..]
    }

    /// Notes that the kernel took this many bytes, at least one. Returns whether they are the
    /// first.
    pub(super) fn sends(&mut self, bytes: usize, kind: ResponseKind) -> bool {
        self.taken += bytes;
        let is_first = !std::mem::replace(&mut self.is_sent, true);
        if is_first {
            self.http.expect(kind);
        }
        is_first
    }

    pub(super) fn has_begun(&self) -> bool {
        self.is_sent && self.http.awaited() > 0 && self.http.has_response_started()
    }

    pub(super) fn take(&mut self, mut input: &[u8], plan: &ScenarioPlan) -> ConnectionEvent {
        let mut outcome = ConnectionEvent::More;
        self.bytes += input.len() as u64;
        loop {
            let before = input;
            let event = self.http.receive(&mut input);
            if !self.has_head {
                let taken = before.len() - input.len();
                self.head.extend_from_slice(&before[..taken]);
            }
            match event {
                None => return outcome,
                // Only the final head is read later.
                Some(Event::Interim) => self.head.clear(),
                Some(Event::Head { .. }) => self.has_head = true,
                Some(Event::Body(part)) => self.keep(part, plan.body_max),
                Some(Event::Done(done)) => outcome = ConnectionEvent::Responded(done),
                Some(Event::Failed(fault)) => return ConnectionEvent::Broken(fault),
            }
        }
    }

    fn keep(&mut self, part: &[u8], most: usize) {
        if !self.is_body_kept || self.is_body_too_large {
            return;
        }
        if self.body.len() + part.len() > most {
            self.is_body_too_large = true;
            self.body = Vec::new();
        } else {
            self.body.extend_from_slice(part);
        }
    }

    pub(super) fn end(&mut self) -> ConnectionEvent {
        match self.http.eof() {
            Some(Event::Done(done)) => ConnectionEvent::Responded(done),
            Some(Event::Failed(fault)) => ConnectionEvent::Broken(fault),
            _ => ConnectionEvent::ClosedIdle,
        }
    }

    /// Checks a whole response, and takes the values that later steps need.
    ///
    /// # Errors
    /// Why the step failed, with a sentence.
    pub(super) fn check(&mut self, status: u16, plan: &ScenarioPlan) -> Result<(), StepFault> {
        let step = &plan.steps[self.step];
        if !step.status.accepts(status) {
            let failure = StepFailure::Request(Outcome::WrongStatus);
            let why = format!("status {status} instead of {}", step.status);
            return Err(StepFault { failure, why });
        }
        if plan.keeps_cookies {
            for line in response_headers(&self.head, "set-cookie") {
                self.cookies.set(&line, &self.target);
            }
        }
        if self.is_body_too_large {
            let why = format!("a body of more than {} bytes", plan.body_max);
            let failure = StepFailure::BodyTooLarge;
            return Err(StepFault { failure, why });
        }
        for extraction in &step.extract {
            let Some(value) = extraction.take(&self.head, &self.body) else {
                let why = format!("no value for `{}`: {}", extraction.name, extraction.place());
                let failure = StepFailure::MissingValue;
                return Err(StepFault { failure, why });
            };
            self.values[extraction.value] = Some(value);
        }
        Ok(())
    }
}

/// Why a request cannot be sent. The text omits its values, which may be secret.
fn unsendable(error: &RequestError) -> String {
    match error {
        RequestError::Target(_) => "the path does not begin with `/`".to_owned(),
        RequestError::HeaderValue { name, .. } => {
            format!("the value of header {name} has a control character")
        }
        other => other.to_string(),
    }
}

pub(super) struct StepFault {
    pub(super) failure: StepFailure,
    pub(super) why: String,
}

impl StepFault {
    pub(super) fn of(fault: Fault) -> StepFault {
        let why = match fault {
            Fault::ClosedEarly => "the connection was closed during the response".to_owned(),
            other => format!("the response is not correct HTTP: {other}"),
        };
        StepFault::from_outcome(fault_outcome(fault), why)
    }

    pub(super) fn from_outcome(outcome: Outcome, why: impl Into<String>) -> StepFault {
        StepFault {
            failure: StepFailure::Request(outcome),
            why: why.into(),
        }
    }
}

impl ScenarioStep {
    pub(super) fn kind(&self) -> ResponseKind {
        if self.method == "HEAD" {
            ResponseKind::HeadOnly
        } else {
            ResponseKind::WithBody
        }
    }
}

/// The path and query to send, of a path or of a URL as servers give it in `Location`.
/// Bytes that are invalid in a request line are written as %XX (RFC 3986, section 2.1).
fn target(path: &str) -> String {
    let authority = ["http://", "https://"]
        .iter()
        .find_map(|scheme| path.strip_prefix(scheme));
    let path = match authority {
        None => path,
        Some(rest) => rest.find(['/', '?']).map_or("/", |at| &rest[at..]),
    };
    let path = path.split('#').next().unwrap_or_default();
    let mut out = String::with_capacity(path.len());
    if path.starts_with('?') {
        out.push('/');
    }
    for byte in path.bytes() {
        if byte.is_ascii_graphic() && !br#""<>\^`{|}"#.contains(&byte) {
            out.push(char::from(byte))
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::SliceEnd;

    fn plan() -> ScenarioPlan {
        ScenarioPlan {
            address: std::net::SocketAddr::from(([127, 0, 0, 1], 80)).into(),
            tls: None,
            sources: Vec::new(),
            host: "a".to_owned(),
            users: 1,
            end: SliceEnd::AfterRequests(1),
            values: vec![None; 2],
            steps: Vec::new(),
            keeps_cookies: false,
            body_max: 1000,
            timeout: Nanos(1_000_000_000),
            seed: 1,
        }
    }

    #[test]
    fn only_the_final_head_is_kept() {
        // Method: 32 interim heads of 1 KiB each before a final head, at once and byte by byte.
        let early = format!(
            "HTTP/1.1 103 Early Hints\r\nSet-Cookie: {}\r\n\r\n",
            "a".repeat(1024)
        );
        let last = "HTTP/1.1 200 OK\r\nSet-Cookie: b=c\r\n\r\n";
        let text = format!("{}{last}", early.repeat(32));
        for piece in [text.len(), 1] {
            let plan = plan();
            let mut user = ScenarioUser::new(0, &plan);
            user.connects();
            user.sends(1, ResponseKind::WithBody);
            for bytes in text.as_bytes().chunks(piece) {
                let outcome = user.take(bytes, &plan);
                assert!(matches!(outcome, ConnectionEvent::More));
                assert!(user.head.len() <= early.len(), "{}", user.head.len());
            }
            assert_eq!(user.head, last.as_bytes());
        }
    }

    #[test]
    fn paths_are_escaped_for_the_request_line() {
        // Method: paths, URLs with and without a path, and characters that must be escaped.
        for (path, expected) in [
            ("/a?b=%20&c=d", "/a?b=%20&c=d"),
            ("http://127.0.0.1:80/orders/7#top", "/orders/7"),
            ("https://host?x", "/?x"),
            ("http://host", "/"),
            ("/a b\r\n{c}\u{e9}", "/a%20b%0D%0A%7Bc%7D%C3%A9"),
            ("orders", "orders"),
        ] {
            assert_eq!(target(path), expected);
        }
    }
}
