//! `--wsess` and `--wsesslog`, and the options that are for sessions only.

use super::values::{HttperfRefusal, refusal, seconds};

/// All options of sessions.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HttperfSessionOptions {
    /// Sessions instead of connections.
    pub load: Option<HttperfSessions>,
    /// Each session returns the cookie that it receives.
    pub cookies: bool,
    /// The status whose replies fail their session.
    pub failure_status: Option<u16>,
    /// Repeat calls that would otherwise fail their session.
    pub retry_on_failure: bool,
    /// The largest number of connections per session.
    pub max_connections: Option<usize>,
    /// The largest number of calls in flight per connection.
    pub max_piped_calls: Option<usize>,
}

/// A load of sessions.
#[derive(Debug, Clone, PartialEq)]
pub struct HttperfSessions {
    pub count: u64,
    /// The time from one burst of calls to the next, in seconds, unless a file sets it.
    pub think_s: f64,
    /// The calls of each session.
    pub calls: HttperfSessionCalls,
}

/// The calls of sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HttperfSessionCalls {
    /// `--wsess`: this number of calls, in bursts of `--burst-length`.
    Same(u32),
    /// `--wsesslog`: the calls in this file, which may describe several sessions that are used in
    /// turn.
    Log(String),
}

/// The most calls of a session: their bursts take 160 MB.
const CALLS_MAX: u32 = 10_000_000;
/// The largest number of connections per session by default.
const CONNECTIONS: usize = 4;

impl HttperfSessions {
    pub(super) fn of_wsess(value: &str) -> Result<HttperfSessions, HttperfRefusal> {
        let mut parts = value.splitn(3, ',');
        let count = whole(parts.next(), "number of sessions (1st", "wsess")?;
        let calls = whole(parts.next(), "number of calls per session (2nd", "wsess")?;
        let think_s = think(parts.next(), "3rd", "wsess")?;
        let calls = u32::try_from(calls)
            .ok()
            .filter(|calls| *calls <= CALLS_MAX);
        let calls = calls.ok_or_else(|| {
            HttperfRefusal(format!(
                "--wsess={value}: abx keeps the calls of each session, and takes at most \
                 {CALLS_MAX} of them: split the load into more sessions"
            ))
        })?;
        Ok(HttperfSessions {
            count,
            think_s,
            calls: HttperfSessionCalls::Same(calls),
        })
    }

    pub(super) fn of_wsesslog(value: &str) -> Result<HttperfSessions, HttperfRefusal> {
        let mut parts = value.splitn(3, ',');
        let count = whole(parts.next(), "number of sessions (1st", "wsesslog")?;
        let think_s = think(parts.next(), "2nd", "wsesslog")?;
        let file = parts.next().filter(|file| !file.is_empty());
        let file = file.ok_or_else(|| bad("session filename (3rd", "wsesslog", ""))?;
        Ok(HttperfSessions {
            count,
            think_s,
            calls: HttperfSessionCalls::Log(file.to_owned()),
        })
    }

    /// The option that sets this load.
    pub(super) fn echo(&self) -> String {
        let (count, think) = (self.count, self.think_s);
        match &self.calls {
            HttperfSessionCalls::Same(calls) => format!("--wsess={count},{calls},{think:.3}"),
            HttperfSessionCalls::Log(file) => format!("--wsesslog={count},{think:.3},{file}"),
        }
    }
}

fn bad(what: &str, option: &str, rest: &str) -> HttperfRefusal {
    HttperfRefusal(format!(
        "bad {what} param) in --{option} arg (rest: `{rest}')"
    ))
}

fn whole(part: Option<&str>, what: &str, option: &str) -> Result<u64, HttperfRefusal> {
    let part = part.unwrap_or_default();
    let number = part.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| bad(what, option, part))
}

fn think(part: Option<&str>, place: &str, option: &str) -> Result<f64, HttperfRefusal> {
    let part = part.unwrap_or_default();
    let what = format!("user think time ({place}");
    seconds(part, "think time").map_err(|_| bad(&what, option, part))
}

impl HttperfSessionOptions {
    /// The largest number of connections per session, and of calls in flight per connection.
    #[must_use]
    pub fn room(&self, is_http10: bool) -> (usize, usize) {
        let limit = |option: Option<usize>| option.filter(|limit| *limit > 0);
        let piped = limit(self.max_piped_calls).unwrap_or(usize::MAX);
        (
            limit(self.max_connections).unwrap_or(CONNECTIONS),
            // HTTP/1.0 connections are not kept alive.
            if is_http10 { 1 } else { piped },
        )
    }

    /// Checks whether a burst of this length can be sent. httperf checks this only during a load.
    pub(super) fn check_room(&self, burst: u32, is_http10: bool) -> Result<(), HttperfRefusal> {
        let (connections, piped) = self.room(is_http10);
        let room = connections.saturating_mul(piped);
        if usize::try_from(burst).is_ok_and(|burst| burst.saturating_sub(1) <= room) {
            Ok(())
        } else {
            Err(refusal(
                "too many calls pending! Increase --max-connections and/or --max-piped-calls.",
            ))
        }
    }

    /// Refuses options that have no effect without sessions.
    pub(super) fn check(&self) -> Result<(), HttperfRefusal> {
        let limit = self.max_connections.or(self.max_piped_calls);
        if self.load.is_some() {
            return Ok(());
        }
        if self.cookies {
            return Err(refusal(
                "--session-cookie requires session-oriented workload (e.g., --wsess)",
            ));
        }
        if limit.is_some() || self.failure_status.is_some() || self.retry_on_failure {
            return Err(refusal(
                "--failure-status, --retry-on-failure, --max-connections and --max-piped-calls \
                 are for sessions: give --wsess or --wsesslog",
            ));
        }
        Ok(())
    }
}
