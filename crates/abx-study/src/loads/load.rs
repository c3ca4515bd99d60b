//! One load: its requests, when they are sent, and which responses are correct.

use std::time::Duration;

use abx_engine::{HttpVersion, Pacing, schedule};
use abx_evidence::record::LoadSettings;
use abx_evidence::{ArrivalKind, ArrivalSettings, Exchange, ExpectedStatus, Shape};
use abx_model::LoadOptions;

use crate::loads::rates::RateSpec;
use crate::loads::tls::TlsSpec;
use crate::loads::user_scenario::UserScenario;
use crate::requests::request_spec::RequestSpec;
use crate::servers::subject::Subject;

/// One load.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    /// Its name in the study.
    pub name: String,
    pub options: LoadOptions,
    pub shape: Shape,
    /// Its requests, at least one, by weight; for WebSocket the one request that opens each
    /// connection.
    pub requests: Vec<RequestSpec>,
    pub version: HttpVersion,
    /// Requests that a connection has in flight at most, at least 1; in HTTP/2 its streams.
    pub pipeline: u32,
    /// How connections are encrypted to subjects that use TLS.
    pub tls: TlsSpec,
    /// When a connection that is free sends its next request.
    pub pacing: Pacing,
    /// The record's description of the access log that is replayed; `None` without one.
    pub log: Option<String>,
    /// The scenario of its users, if connections are users with sessions: `requests` then shows
    /// when a subject is ready.
    pub scenario: Option<UserScenario>,
    /// The offered rate. Until it is found, pacing is that of a closed loop.
    pub rate: RateSpec,
    /// Whether the files that abx made leave memory before each slice.
    pub cold_cache: bool,
    /// The correct status, or a class of correct statuses.
    pub status: ExpectedStatus,
    pub body: ExpectBody,
}

abx_model::has_options!(Load);

impl Default for Load {
    /// `GET /` over and over on one connection that is kept alive, one request at a time, each with
    /// a response within 10 s that has status 200 and the same body.
    fn default() -> Load {
        Load {
            options: LoadOptions::default(),
            name: String::new(),
            shape: Shape::Request,
            requests: vec![RequestSpec::default()],
            version: HttpVersion::Http11,
            pipeline: 1,
            tls: TlsSpec::default(),
            pacing: Pacing::default(),
            log: None,
            scenario: None,
            rate: RateSpec::AsPaced,
            cold_cache: false,
            status: ExpectedStatus::default(),
            body: ExpectBody::Same,
        }
    }
}

impl Load {
    /// The HTTP version for a subject: HTTP/2 instead of HTTP/1.1 if the subject uses that.
    #[must_use]
    pub fn version_for(&self, subject: &Subject) -> HttpVersion {
        let is_plain = self.shape == Shape::Request && self.version == HttpVersion::Http11;
        if subject.http2 && is_plain {
            HttpVersion::Http2
        } else {
            self.version
        }
    }

    /// How its connections carry requests, for the record.
    #[must_use]
    pub fn exchange(&self) -> Exchange {
        let protocol = match (self.shape, self.version) {
            (Shape::Request, HttpVersion::Http10) => "http/1.0",
            (Shape::Request, HttpVersion::Http11) | (Shape::Scenario, _) => "http/1.1",
            (Shape::Request, HttpVersion::Http2) => "http/2",
            (Shape::Echo(_) | Shape::Broadcast(_) | Shape::Connections { .. }, _) => "websocket",
        };
        let window = self.pacing.window(self.pipeline, self.keep_alive);
        Exchange::of(protocol, window, self.shape)
    }

    /// The record's entry for when its requests are due.
    fn arrivals(&self) -> ArrivalSettings {
        let mut settings = arrivals(&self.pacing);
        settings
            .text
            .push_str(self.log.as_deref().unwrap_or_default());
        if self.scenario.as_ref().is_some_and(UserScenario::has_pauses) {
            settings.connections_rest = true;
            settings.text.push_str("pauses");
        }
        settings
    }

    /// Its settings in the record.
    #[must_use]
    pub fn settings(&self, bodies_compared: bool) -> LoadSettings {
        LoadSettings {
            options: self.options,
            exchange: self.exchange(),
            arrivals: self.arrivals(),
            share_of_slowest: match self.rate {
                RateSpec::Found { share, .. } => share,
                _ => None,
            },
            objective: match &self.rate {
                RateSpec::Found { objective, .. } => objective.clone(),
                _ => None,
            },
            requests: match &self.scenario {
                Some(scenario) => scenario.requests(),
                None => self.requests.iter().map(RequestSpec::settings).collect(),
            },
            scenario: self.scenario.as_ref().map(UserScenario::settings),
            tls: None,
            cold_cache: self.cold_cache,
            status: self.status,
            bodies_compared,
        }
    }
}

/// Which bodies are correct.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExpectBody {
    /// All subjects respond with the same bytes.
    Same,
    /// Each subject responds as it did before the load.
    Any,
    /// All subjects respond with the body of this SHA-256, in hexadecimal.
    Sha256(String),
}

impl ExpectBody {
    /// Reads `same`, `any` or a SHA-256 in hexadecimal.
    #[must_use]
    pub fn parse(text: &str) -> Option<ExpectBody> {
        match text {
            "same" => Some(ExpectBody::Same),
            "any" => Some(ExpectBody::Any),
            hash if hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
                Some(ExpectBody::Sha256(hash.to_ascii_lowercase()))
            }
            _ => None,
        }
    }
}

/// The record's entry for when requests are due.
#[must_use]
pub fn arrivals(pacing: &Pacing) -> ArrivalSettings {
    let (kind, rate) = match &pacing.arrivals {
        schedule::Arrivals::Closed => (ArrivalKind::Closed, None),
        schedule::Arrivals::Constant { per_s } => (ArrivalKind::Constant, Some(*per_s)),
        schedule::Arrivals::Poisson { per_s } => (ArrivalKind::Poisson, Some(*per_s)),
        schedule::Arrivals::Stages(_) => (ArrivalKind::Stages, None),
        schedule::Arrivals::Replay(_) => (ArrivalKind::Replay, None),
    };
    ArrivalSettings {
        kind,
        rate_per_s: rate.map(|rate| rate.amount().into()),
        connections_rest: pacing.connections_rest(),
        text: words(pacing),
    }
}

/// The settings beyond kind and rate: stages, sessions and thinking.
fn words(pacing: &Pacing) -> String {
    let mut words = Vec::new();
    if let schedule::Arrivals::Stages(stages) = &pacing.arrivals {
        words.push(stages.to_string());
    }
    if let Some(stages) = &pacing.connections_over_time {
        words.push(format!("connections {stages}"));
    }
    if let Some(calls) = pacing.session_calls {
        words.push(format!("sessions of {calls} requests"));
    }
    if pacing.think_ns > 0 {
        let think = Duration::from_nanos(pacing.think_ns);
        words.push(format!("thinking {}", humantime::format_duration(think)));
    }
    words.join(", ")
}

impl UserScenario {
    /// Turns a load's connections into users of this scenario. A step takes at most `timeout`, or
    /// else the file's limit.
    pub fn onto(&self, load: &mut Load, timeout: Option<Duration>) {
        load.shape = Shape::Scenario;
        load.timeout = timeout.unwrap_or(self.timeout);
        load.requests = vec![self.readiness()];
        load.scenario = Some(self.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_record_marks_closed_loops_whose_connections_rest() {
        // Method: each key that lets connections rest by itself, and none of these keys.
        let is_saturating = |pacing| arrivals(&pacing).is_saturating();
        let stages = "0:50@10s".parse().expect("these are stages");
        let resting = [
            Pacing {
                connections_over_time: Some(stages),
                ..Pacing::default()
            },
            Pacing {
                think_ns: 1,
                ..Pacing::default()
            },
            Pacing {
                session_calls: Some(5),
                ..Pacing::default()
            },
        ];
        assert!(is_saturating(Pacing::default()));
        assert_eq!(resting.map(is_saturating), [false; 3]);
    }
}
