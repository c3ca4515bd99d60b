//! The keys of a load as a user writes them, each declared once: its name, type, range and
//! meaning, the shapes of load that it suits, and its flag. A study file and the command line
//! use these structs directly: editors show the comment of a key, and `--help` prints the `help`
//! of its flag.

use std::time::Duration;

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::exchange::LoadShape;
use crate::load_options::LoadOptions;
use crate::time_text::TimeText;
use crate::whole_number::whole_number;

/// The keyword in a key's schema for the shapes that the key suits; a key without it suits all.
pub const SHAPES: &str = "x-shapes";
/// All except users, whose scenario states the rest.
pub const NOT_USERS: [LoadShape; 4] = [
    LoadShape::Request,
    LoadShape::Echo,
    LoadShape::Broadcast,
    LoadShape::Connections,
];
/// Loads that send.
pub const SENT: [LoadShape; 3] = [LoadShape::Request, LoadShape::Echo, LoadShape::Broadcast];
/// Loads in which each connection gets its own responses.
pub const RESPONDED: [LoadShape; 2] = [LoadShape::Request, LoadShape::Echo];
/// Loads of WebSocket messages.
pub const MESSAGES: [LoadShape; 2] = [LoadShape::Echo, LoadShape::Broadcast];
/// Loads of HTTP requests.
pub const REQUESTS: [LoadShape; 1] = [LoadShape::Request];
/// Users of a scenario.
pub const USERS: [LoadShape; 1] = [LoadShape::Scenario];
/// Idle connections.
pub const HELD: [LoadShape; 1] = [LoadShape::Connections];

/// Users who think and have sessions.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
pub struct SessionKeys {
    /// The pause between a response and the next request. Default: none.
    #[arg(
        long, value_parser = TimeText::of, value_name = "TIME",
        help = "Think time between a response and the next request"
    )]
    #[schemars(extend("x-shapes" = REQUESTS))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub think: Option<TimeText>,
    /// Requests per session; each session opens a new connection. Default: unlimited.
    #[arg(
        long, value_parser = whole_number::<u32>(1.., 5), value_name = "N",
        help = "Requests per session; each session opens a new connection"
    )]
    #[schemars(range(min = 1, max = 1_000_000_000), extend("examples" = [5], "x-shapes" = REQUESTS))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<u32>,
}

/// How much a connection has in flight.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
pub struct InFlightKeys {
    /// The most requests that a connection has in flight. Default: 1.
    #[arg(
        long, value_name = "N", value_parser = whole_number::<u32>(1..=1024, 16),
        help = "Requests in flight per connection (pipelining) [default: 1]"
    )]
    #[schemars(range(min = 1, max = 1024), extend("examples" = [16], "x-shapes" = SENT))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pipeline: Option<u32>,
    /// The most streams that a connection of http/2 has open. Default: 1.
    #[arg(
        long, value_name = "N", requires = "http2",
        value_parser = whole_number::<u32>(1..=1024, 32),
        help = "Streams open at a time per connection, with --http2 [default: 1]"
    )]
    #[schemars(range(min = 1, max = 1024), extend("examples" = [32], "x-shapes" = REQUESTS))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streams: Option<u32>,
}

/// How connections are opened, and how long they and their requests may take.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
pub struct OpeningKeys {
    /// The timeout of a request, including opening its connection, and of each connection that is opened before the load. Default: 10s.
    #[arg(
        long, value_parser = TimeText::of_seconds,
        help = "Timeout of a request, including connecting, and of each connection that is opened before the load, in seconds or with a unit [default: 10s]"
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<TimeText>,
    /// Connections opened per second before the load. Default: as fast as the subject accepts them, 128 at a time per worker thread.
    #[arg(
        long, value_name = "N", conflicts_with = "no_keepalive",
        value_parser = whole_number::<u32>(1..=10_000_000, 5000),
        help = "Connections opened per second before the load [default: as fast as the server \
         takes them, at most 128 at a time per thread]"
    )]
    #[schemars(range(min = 1, max = 10_000_000), extend("examples" = [5000], "x-shapes" = NOT_USERS))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_rate: Option<u32>,
}

/// How responses are checked.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
pub struct CheckKeys {
    /// One response in this many has its body verified and its phases timed: 1 is all, 0 none.
    /// Default: 100.
    #[arg(
        long,
        value_name = "N",
        value_parser = whole_number::<u32>(0.., 100),
        help = "Verify the body and time the phases of one response in N (1: all, 0: none). Status and length are always checked [default: 100]"
    )]
    #[schemars(range(min = 0, max = 1_000_000_000), extend("examples" = [100], "x-shapes" = RESPONDED))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verify_every: Option<u32>,
}

/// The keys of a group that are set.
pub fn written(group: &impl Serialize) -> impl Iterator<Item = String> {
    let table = serde_json::to_value(group).unwrap_or_default();
    let table = table.as_object().cloned().unwrap_or_default();
    table.into_iter().map(|(key, _)| key)
}

/// A key that contradicts another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyMistake {
    pub key: &'static str,
    /// The error, and what to write instead.
    pub why: &'static str,
}

impl SessionKeys {
    /// How long a user thinks; zero if the key is not set.
    #[must_use]
    pub fn think_time(&self) -> Duration {
        let think = self.think.as_ref().and_then(TimeText::time);
        think.unwrap_or_default()
    }
}

impl InFlightKeys {
    /// How many requests a connection has in flight, by its protocol's key; `None` for the default.
    ///
    /// # Errors
    /// The key of the other protocol.
    pub fn window(&self, is_http2: bool) -> Result<Option<u32>, KeyMistake> {
        match (self, is_http2) {
            (
                InFlightKeys {
                    pipeline: Some(_), ..
                },
                true,
            ) => Err(KeyMistake {
                key: "pipeline",
                why: "HTTP/2 has no pipelines: write `streams`",
            }),
            (
                InFlightKeys {
                    streams: Some(_), ..
                },
                false,
            ) => Err(KeyMistake {
                key: "streams",
                why: "only HTTP/2 has `streams`: add protocol = \"http/2\", or write `pipeline`",
            }),
            _ => Ok(self.streams.or(self.pipeline)),
        }
    }

    /// Checks that a connection which waits for each response has no pipeline.
    ///
    /// # Errors
    /// A pipeline together with a setting that keeps one request in flight.
    pub fn check(&self, keep_alive: bool, sessions: &SessionKeys) -> Result<(), KeyMistake> {
        let waits = !keep_alive || sessions.think.is_some() || sessions.calls.is_some();
        if !waits || self.pipeline.is_none_or(|window| window == 1) {
            return Ok(());
        }
        Err(KeyMistake {
            key: "pipeline",
            why: "`pipeline` does not apply without keep-alive, or with `think` or `calls`, \
                  which keep one request in flight: leave one of them out",
        })
    }
}

impl OpeningKeys {
    /// Checks that connections which are opened at a rate are kept.
    ///
    /// # Errors
    /// A rate without keep-alive.
    pub fn check(&self, keep_alive: bool) -> Result<(), KeyMistake> {
        if self.open_rate.is_none() || keep_alive {
            return Ok(());
        }
        Err(KeyMistake {
            key: "open_rate",
            why: "`open_rate` is about connections that are opened before the load, and without \
                  keep-alive there are none: leave it out, or leave out `keep_alive`",
        })
    }
}

impl LoadOptions {
    /// The options that these keys set, and defaults for the others.
    #[must_use]
    pub fn of(opening: &OpeningKeys, checks: &CheckKeys, keep_alive: bool) -> LoadOptions {
        let usual = LoadOptions::default();
        let timeout = opening.timeout.as_ref().and_then(TimeText::time);
        LoadOptions {
            keep_alive,
            timeout: timeout.unwrap_or(usual.timeout),
            open_rate: opening.open_rate,
            verify_every: checks.verify_every.unwrap_or(usual.verify_every),
            ..usual
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_waits_for_responses_has_no_pipeline() {
        // Method: a pipeline alone, and pipelines of one request and of several with each setting
        // that keeps one request in flight.
        let pipeline = |window| InFlightKeys {
            pipeline: Some(window),
            streams: None,
        };
        let none = SessionKeys::default();
        let thinking = SessionKeys {
            think: Some(TimeText("1s".to_owned())),
            ..none.clone()
        };
        let calling = SessionKeys {
            calls: Some(2),
            ..none.clone()
        };
        assert_eq!(pipeline(4).check(true, &none), Ok(()));
        for (keep_alive, sessions) in [(false, &none), (true, &thinking), (true, &calling)] {
            assert_eq!(pipeline(1).check(keep_alive, sessions), Ok(()));
            let mistake = pipeline(4).check(keep_alive, sessions).unwrap_err();
            assert_eq!(mistake.key, "pipeline");
        }
    }
}
