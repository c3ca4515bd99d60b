//! What is to be compared, under which load, and how. Parsed once; from here
//! on the types prove it.

pub mod access_log;
pub mod container;
pub mod credentials;
pub mod fault;
pub mod form;
pub mod host;
pub mod input_file;
pub mod launch;
pub mod load_records;
pub mod numbered;
pub mod placeholder;
pub mod program;
pub mod rates;
pub mod request_file;
pub mod request_placeholder;
pub mod service;
pub mod shape;
pub mod study_file;
pub mod subject;
mod subject_error;
mod target;
pub mod tls;
pub mod units;
pub mod url_list;
pub mod user_scenario;

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use abx_engine::{HttpVersion, Pacing, RequestPlaceholder, RequestPlan, schedule};
use abx_evidence::record::{
    Contrast, Interleave, LoadSettings, RequestBody, RequestSettings, SkippedSubject,
};
use abx_evidence::{ArrivalKind, ArrivalSettings, Exchange, ExpectedStatus, Measured, Shape};
use abx_model::LoadOptions;
use abx_stats::Margin;
use sha2::{Digest, Sha256};

use fault::Fault;
use rates::RateSpec;
use service::StudyService;
use subject::Subject;
use tls::TlsSpec;
use user_scenario::UserScenario;

/// A search for rates and the grid around what it finds take the time of so many loads.
const GRID_IN_LOADS: usize = 5;

/// A study.
#[derive(Debug, Clone)]
pub struct Study {
    /// The servers under test; the first is the baseline.
    pub subjects: Vec<Subject>,
    /// What subjects need beside themselves, in the order in which it is started.
    pub services: Vec<StudyService>,
    /// The pairs that are compared; none for each subject beside the baseline.
    pub contrasts: Vec<Contrast>,
    pub loads: Vec<Load>,
    /// What is done to the subjects on purpose, under some of the loads.
    pub faults: Vec<Fault>,
    /// Whether both subjects are one and the same on purpose.
    pub aa: bool,
    /// The smallest difference that matters.
    pub margin: Margin,
    /// The wall time that the study may take; `None` for the usual one.
    pub budget: Option<Duration>,
    /// A fixed number of blocks instead of a stop by precision.
    pub blocks: Option<u32>,
    /// The time that ordered blocks have; `None`: they take what they take.
    pub ordered_time: Option<OrderedTime>,
    /// The length of a slice; `None` for the pilot's, which is longer for slow subjects.
    pub slice: Option<Duration>,
    /// A fixed number of rounds in a block instead of one from the slices' length.
    pub rounds: Option<u32>,
    /// For how long at least the first load of a block warms up, so that what a
    /// fresh start gives can be compared.
    pub cold: Option<Duration>,
    /// How a server that does nothing is started, to learn what the generator
    /// can get at most; `None` to leave that out.
    pub ceiling: Option<CeilingServer>,
    pub interleave: Interleave,
    /// Files that are made in the folder of each subject that abx starts.
    pub files: Vec<GeneratedFile>,
    /// Local addresses that connections come from; empty for the usual ones.
    pub local_addresses: Vec<IpAddr>,
    /// Worker threads; `None` for one on each of the generator's processors.
    pub threads: Option<usize>,
    pub pin: Pin,
    /// How the generator waits for responses.
    pub wait: WaitChoice,
    /// What all randomness is drawn from.
    pub seed: u64,
    /// The command line, for the record.
    pub command: Vec<String>,
    /// A subject of an older record that all are compared with.
    pub against: Option<OlderRecord>,
    /// Subjects of the study that are not measured, for want of what they need.
    pub skipped: Vec<SkippedSubject>,
    /// How long the pilot looks at each subject.
    pub pilot: PilotEffort,
}

/// The time of blocks whose number was ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderedTime {
    /// The wall time of the whole study: blocks that do not fit have less load.
    Whole(Duration),
    /// For how long all blocks together measure each subject under each load.
    EachLoad(Duration),
}

/// How the server that does nothing is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CeilingServer {
    /// Its argument list, with `{port}`, and `{bytes}` for the length of its page.
    pub command: Vec<String>,
    /// What is added to that where connections are encrypted.
    pub encrypted: Vec<String>,
}

/// A subject of an older record.
#[derive(Debug, Clone)]
pub struct OlderRecord {
    pub study: Measured,
    pub path: String,
    /// The subject's name; `None` when the record has only one.
    pub subject: Option<String>,
}

/// A file made from the seed, the same bytes for all subjects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneratedFile {
    /// Its path in the subject's folder: relative, and never above it.
    pub path: PathBuf,
    pub bytes: u64,
}

/// How the generator waits for responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitChoice {
    /// Awake where that takes a processor from nobody.
    Auto,
    /// Awake, or not at all.
    Awake,
    Asleep,
}

/// Who uses which processors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pin {
    /// Subjects and generator have processors of their own.
    Split,
    /// Both may use all.
    Shared,
}

/// How long the pilot looks at each subject.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PilotEffort {
    /// Until it is known for how long it warms up.
    #[default]
    Usual,
    /// The same under the first load, when it is fresh, and shorter under the others.
    Quick,
    /// Hardly: nobody wants to know how fast it is, only that it works.
    Brief,
}

impl PilotEffort {
    /// The care under one load, which is the first or a later one.
    #[must_use]
    pub fn under(self, is_first: bool) -> PilotEffort {
        match (self, is_first) {
            (PilotEffort::Quick, true) => PilotEffort::Usual,
            (care, _) => care,
        }
    }
}

/// Which bodies are right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExpectBody {
    /// All subjects answer the same bytes.
    Same,
    /// Each subject answers what it answered before the load.
    Any,
    /// All subjects answer the body of this SHA-256, in hexadecimal.
    Sha256(String),
}

/// One load.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    /// Its name in the study.
    pub name: String,
    pub options: LoadOptions,
    pub shape: Shape,
    /// What is asked, at least one request, by weight; of WebSocket the one request
    /// that opens each connection.
    pub requests: Vec<RequestSpec>,
    pub version: HttpVersion,
    /// Requests that a connection has in flight at most, at least 1; in HTTP/2 its streams.
    pub pipeline: u32,
    /// How connections are encrypted to subjects that speak TLS.
    pub tls: TlsSpec,
    /// When a connection that is free sends its next request.
    pub pacing: Pacing,
    /// What the record says of the access log that is replayed; `None` without one.
    pub log: Option<String>,
    /// What its users do, where connections are users with sessions: `requests` tells then
    /// when a subject is ready.
    pub scenario: Option<UserScenario>,
    /// How much is offered; pacing is that of a closed loop until it is found.
    pub rate: RateSpec,
    /// Whether the files that abx made leave memory before each slice.
    pub cold_cache: bool,
    /// The right status, or the class of those that are.
    pub status: ExpectedStatus,
    pub body: ExpectBody,
}

abx_model::has_options!(Load);

impl Default for Load {
    /// `GET /` over and over on one connection that is kept alive, one request at a
    /// time, each answered within 10 s by status 200 and the same body.
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

impl Default for RequestSpec {
    /// `GET` of a subject's own path, without a body.
    fn default() -> RequestSpec {
        RequestSpec {
            method: usual_method(false).to_owned(),
            path: None,
            headers: Vec::new(),
            body: Vec::new(),
            is_verbatim: false,
            is_form: false,
            weight: 1,
            status: None,
            placeholders: Vec::new(),
            is_logged: false,
        }
    }
}

/// The method of a request that names none.
#[must_use]
pub fn usual_method(has_body: bool) -> &'static str {
    if has_body { "POST" } else { "GET" }
}

/// What is asked, before it is known of whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestSpec {
    pub method: String,
    /// Path and query; `None` takes that of a subject's URL, or `/`.
    pub path: Option<String>,
    pub headers: Vec<(String, String)>,
    /// The body, mostly empty.
    pub body: Vec<u8>,
    /// Whether the body is sent as it is, so that nothing in it is a placeholder.
    pub is_verbatim: bool,
    /// Whether the body is a form, whose text stays out of the record: a password may be in it.
    pub is_form: bool,
    /// How often it is asked, beside the weights of the others.
    pub weight: u32,
    /// The right status; `None` for that of the load.
    pub status: Option<ExpectedStatus>,
    /// What is filled in anew each time; what stands there says what it is.
    pub placeholders: Vec<RequestPlaceholder>,
    /// Whether it is one of an access log: what a server answers to it is counted, right or
    /// wrong, and does not keep the load from beginning.
    pub is_logged: bool,
}

impl Study {
    /// A study of one subject that is compared with nothing, with what is usual elsewhere.
    #[must_use]
    pub fn of_one(subject: Subject, loads: Vec<Load>, seed: u64, command: Vec<String>) -> Study {
        Study {
            subjects: vec![subject],
            services: Vec::new(),
            contrasts: Vec::new(),
            loads,
            faults: Vec::new(),
            aa: false,
            margin: Margin::DEFAULT,
            budget: None,
            blocks: None,
            ordered_time: None,
            slice: None,
            rounds: None,
            cold: None,
            ceiling: None,
            interleave: Interleave::Slices,
            files: Vec::new(),
            local_addresses: Vec::new(),
            threads: None,
            pin: Pin::Split,
            wait: WaitChoice::Auto,
            seed,
            command,
            against: None,
            skipped: Vec::new(),
            pilot: PilotEffort::Usual,
        }
    }

    /// The baseline's name.
    #[must_use]
    pub fn baseline(&self) -> &str {
        self.subjects.first().map_or("", |subject| &subject.name)
    }

    /// The wall time that the study may take: by default two minutes for each
    /// load or fault and each subject beside the baseline, or for each load or fault
    /// when there is one subject alone; a search for rates and the grid around what it
    /// finds have as long as five loads.
    #[must_use]
    pub fn budget(&self) -> Duration {
        let others = self.subjects.len().saturating_sub(1).max(1);
        let weight = |load: &Load| match load.rate {
            RateSpec::Objective { .. } => GRID_IN_LOADS,
            RateSpec::AsPaced | RateSpec::Share { .. } | RateSpec::Found { .. } => 1,
        };
        let loads: usize = self.loads.iter().map(weight).sum();
        let comparisons = (loads + self.faults.len()) * others;
        let usual = Duration::from_secs(120) * u32::try_from(comparisons).unwrap_or(u32::MAX);
        self.budget.unwrap_or(usual)
    }
}

impl RequestSpec {
    /// The request to one server: `own_path` is that of its URL.
    #[must_use]
    pub fn plan(&self, version: HttpVersion, host: &str, own_path: Option<&str>) -> RequestPlan {
        RequestPlan {
            version,
            method: self.method.clone(),
            path: self.path_for(own_path),
            host: host.to_owned(),
            headers: self.headers.clone(),
            body: self.body.clone(),
            placeholders: self.placeholders.clone(),
        }
    }

    /// Adds headers, but for those that it says itself.
    pub fn add_headers(&mut self, more: &[(String, String)]) {
        let texts: Vec<String> = self.headers.iter().map(|(name, _)| name.clone()).collect();
        let is_new = |(name, _): &&(String, String)| {
            !texts
                .iter()
                .any(|own_text| own_text.eq_ignore_ascii_case(name))
        };
        self.headers.extend(more.iter().filter(is_new).cloned());
    }

    fn settings(&self) -> RequestSettings {
        let sent = (!self.body.is_empty()).then(|| RequestBody {
            bytes: self.body.len() as u64,
            sha256: units::hex(&Sha256::digest(&self.body)),
            text: { std::str::from_utf8(&self.body).ok() }
                .filter(|text| text.len() <= BODY_TEXT_BYTES_MAX && !self.is_form)
                .map(str::to_owned),
        });
        RequestSettings {
            method: self.method.clone(),
            path: self.path_for(None),
            weight: self.weight,
            body: sent,
            status: self.status,
        }
    }

    fn path_for(&self, own_path: Option<&str>) -> String {
        let path = self.path.as_deref().or(own_path);
        path.unwrap_or("/").to_owned()
    }
}

/// The longest body that a record has as text, in bytes; of all it has length and hash.
const BODY_TEXT_BYTES_MAX: usize = 1_024;

/// What the record says of when requests are due.
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

/// What kind and rate do not say: stages, sessions and thinking.
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

impl Load {
    /// What a subject is asked in: HTTP/2 instead of HTTP/1.1 where it is to be.
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

    /// What the record says of when its requests are due.
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

    /// What the record says of it.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_record_says_as_data_which_closed_loops_rest() {
        // Method: each key that lets connections rest, alone, and none of them.
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
