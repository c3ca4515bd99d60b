//! Flags for the load and its generator, shared by `run` and `compare`.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use abx_engine::schedule::{Amount, Arrivals, StageList};
use abx_engine::{HttpVersion, Pacing};
use abx_evidence::{ExpectedStatus, LoadShape, Objective, Shape};
use abx_lab::{
    ExpectBody, Load, RequestSpec, SWITCHED, Scheme, Spacing, SweepSpec, Target, TlsSpec,
    WaitChoice, scenario_file, study_file::key_suits,
};
use abx_model::load_keys::{CheckKeys, InFlightKeys, OpeningKeys, RESPONDED, SessionKeys, written};
use abx_model::{LoadOptions, TimeText};
use abx_sys::Nanos;
use clap::{Args, ValueEnum};

use crate::flags::replay::ReplayFlags;
use crate::flags::requests::RequestFlags;
use crate::flags::shape::ShapeFlags;
use crate::flags::tls::TlsFlags;
use crate::flags::units;
use crate::flags::units::RateList;
use crate::ui::end::Failure;

/// The load. A study file sets all of this itself, so a flag that is not given
/// is `None` here and has its default in [`LoadFlags::loads`].
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Load")]
pub struct LoadFlags {
    /// Connections; 1,10,100 is one load each [default: 50].
    #[arg(short, long, value_name = "N", value_parser = units::connections, value_delimiter = ',')]
    connections: Vec<u32>,
    /// Requests/s, sent on schedule (open loop).
    ///
    /// Requests do not wait for earlier responses. 25% means a quarter of what the slowest server
    /// can do; auto means 25%,50%,75%,90%.
    #[arg(
        short, long, visible_alias = "rps", alias = "qps", short_alias = 'R', value_parser = units::rates,
        conflicts_with_all = ["stages", "connection_stages"], value_name = "RATE,..."
    )]
    rate: Option<RateList>,
    /// Find the highest rate that meets p99<50ms, for example.
    ///
    /// An objective may have several parts, such as p99<50ms,errors<0.1%.
    #[arg(long, conflicts_with_all = ["rate", "stages", "connection_stages", "think", "calls"], value_name = "OBJECTIVE")]
    slo: Option<Objective>,
    /// When requests are sent [default: closed; with --rate: constant].
    #[arg(long, value_enum, conflicts_with_all = ["stages", "connection_stages"])]
    arrivals: Option<ArrivalsName>,
    /// A rate that changes over time: 0:20000@30s,20000@60s ramps up to 20,000/s in 30 s, then
    /// holds.
    #[arg(long, value_name = "STAGES", conflicts_with = "connection_stages")]
    stages: Option<StageList>,
    /// A number of connections that changes over time (closed loop), such as 1:100@30s; -c is
    /// the maximum [default: the highest of the stages].
    #[arg(long, value_name = "STAGES")]
    connection_stages: Option<StageList>,
    #[command(flatten)]
    sessions: SessionKeys,
    #[command(flatten, next_help_heading = "Requests")]
    requests: RequestFlags,
    #[command(flatten, next_help_heading = "Requests from an access log")]
    replay: ReplayFlags,
    #[command(flatten, next_help_heading = "Connections")]
    in_flight: InFlightKeys,
    /// Use HTTP/1.0, as ab does.
    #[arg(long = "http1.0", help_heading = "Connections", conflicts_with_all = ["http11", "http2"])]
    http10: bool,
    /// Use HTTP/1.1 (the default).
    #[arg(
        long = "http1.1",
        help_heading = "Connections",
        conflicts_with = "http2"
    )]
    http11: bool,
    /// Use HTTP/2: over http:// with prior knowledge, over https:// by ALPN.
    #[arg(
        long,
        help_heading = "Connections",
        alias = "h2",
        conflicts_with = "pipeline"
    )]
    http2: bool,
    /// Open a new connection per request.
    #[arg(long, help_heading = "Connections", alias = "disable-keepalive")]
    no_keepalive: bool,
    /// Keep connections alive, which is the default: `ab -k`.
    #[arg(short = 'k', hide = true, conflicts_with = "no_keepalive")]
    keepalive: bool,
    /// Print percentiles, which abx always does: `wrk --latency`.
    #[arg(long, hide = true)]
    latency: bool,
    #[command(flatten, next_help_heading = "Connections")]
    opening: OpeningKeys,
    /// The correct status, or a class of them such as 2xx [default: 200].
    #[arg(long, help_heading = "Correct responses", value_name = "STATUS|CLASS")]
    expect_status: Option<ExpectedStatus>,
    /// The correct body: the same from every subject, any body, or the one with this SHA-256
    /// [default: same].
    #[arg(long, help_heading = "Correct responses", value_parser = units::expect_body, value_name = "same|any|HASH")]
    expect_body: Option<ExpectBody>,
    #[command(flatten, next_help_heading = "Correct responses")]
    checks: CheckKeys,
    #[command(flatten, next_help_heading = "TLS")]
    tls: TlsFlags,
    #[command(flatten, next_help_heading = "WebSocket")]
    pub shape: ShapeFlags,
}

/// When requests are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ArrivalsName {
    /// Each connection sends when its last response is complete (closed loop).
    Closed,
    /// At a constant rate.
    Constant,
    /// At random times with the given average rate (Poisson).
    Poisson,
}

/// Ways to wait for responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WaitName {
    /// Awake if the generator has CPUs that no other program needs, otherwise asleep.
    Auto,
    /// Awake: the server never has to wake the generator, so it responds faster; uses a whole CPU.
    Awake,
    /// Asleep: the server wakes the generator, which costs it time per response.
    Asleep,
}

/// The generator of the load.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Generator")]
pub struct GeneratorFlags {
    /// Generator threads [default: one per generator CPU, within half of a CPU quota].
    #[arg(short, long, value_parser = units::threads)]
    pub threads: Option<u16>,
    /// How the generator waits for responses [default: auto].
    #[arg(long, value_enum)]
    wait: Option<WaitName>,
    /// Local address to connect from; with several, they take turns.
    #[arg(long, value_name = "ADDRESS", value_delimiter = ',', value_parser = units::local_address)]
    pub local_address: Vec<IpAddr>,
    /// Seed for all randomness [default: from the clock].
    #[arg(long, value_parser = units::whole_number::<u64>(0.., 42))]
    pub seed: Option<u64>,
}

impl LoadFlags {
    /// The loads, under the names that reports use. `is_encrypted` means that at least one server
    /// uses TLS; `server` is given if there is only one.
    ///
    /// # Errors
    /// A usage failure for flags that contradict each other or have no meaning here.
    pub fn loads(
        &self,
        scheme: Scheme,
        is_encrypted: bool,
        server: Option<&Target>,
    ) -> Result<Vec<Load>, Failure> {
        let kind = self.shape.kind(scheme)?;
        self.refuse_misplaced(kind)?;
        self.check_in_flight()?;
        let log = self.replay.log(&self.requests)?;
        let requests = match log {
            Some(_) => Vec::new(),
            None => self.requests.requests(server, kind == LoadShape::Request)?,
        };
        if kind != LoadShape::Request && requests.len() > 1 {
            return Err(Failure::usage(
                "WebSocket connections are opened by one request: give --path once",
            ));
        }
        let sweep = SweepSpec {
            connections: self.sweep_connections()?,
            rates: self.rate.clone().map_or(Vec::new(), |rates| rates.0),
            objective: self.slo.clone(),
            spacing: self.spacing()?,
        };
        let shapes = self.shape.shapes(kind)?;
        let several = shapes.len() > 1;
        let tls = self.tls.spec(is_encrypted)?;
        let mut loads = Vec::new();
        for shape in shapes {
            let bytes = shape.message().filter(|_| several);
            let bytes = bytes.map_or_else(String::new, |message| format!("-b{}", message.bytes));
            let mut like = self.like(shape, &tls, requests.clone());
            if let Some(log) = &log {
                log.onto(&mut like, self.expect_status.is_some());
            }
            loads.extend(sweep.loads(&like, |connections| format!("c{connections}{bytes}")));
        }
        distinct(loads)
    }

    // clap drops `requires` if a flag that is given excludes the required one.
    /// Refuses more requests in flight than the other flags allow per connection.
    fn check_in_flight(&self) -> Result<(), Failure> {
        let keys = &self.in_flight;
        if keys.streams.is_some() && !self.http2 {
            return Err(Failure::usage(
                "--streams needs HTTP/2: add --http2, or leave --streams out",
            ));
        }
        keys.check(!self.no_keepalive, &self.sessions).map_err(|_| {
            Failure::usage(
                "--pipeline does not apply to --no-keepalive, --think or --calls, which keep one \
                 request in flight: leave one of them out",
            )
        })
    }

    /// The numbers of connections, none of them below the highest number in the stages.
    fn sweep_connections(&self) -> Result<Vec<u32>, Failure> {
        let highest = self.connection_stages.as_ref().map_or(0, highest);
        let is_lower = |connections: &&u32| **connections < highest;
        if let Some(connections) = self.connections.iter().find(is_lower) {
            return Err(Failure::usage(format!(
                "--connection-stages reaches {highest}, and -c is {connections}: raise -c to \
                 {highest}, or lower the stages"
            )));
        }
        Ok(match (&self.connections[..], highest) {
            ([], 0) => vec![50],
            ([], highest) => vec![highest],
            (given, _) => given.to_vec(),
        })
    }

    /// A load without its name, connections and rate.
    fn like(&self, shape: Shape, tls: &TlsSpec, requests: Vec<RequestSpec>) -> Load {
        let usual = Load::default();
        let window = self.in_flight.window(self.http2).ok().flatten();
        Load {
            options: LoadOptions::of(&self.opening, &self.checks, !self.no_keepalive),
            tls: tls.clone(),
            shape,
            requests,
            version: match (self.http10, self.http2) {
                (true, _) => HttpVersion::Http10,
                (_, true) => HttpVersion::Http2,
                _ => HttpVersion::Http11,
            },
            pipeline: window.unwrap_or(usual.pipeline),
            pacing: self.pacing(),
            status: if shape.is_websocket() {
                SWITCHED
            } else {
                self.expect_status.unwrap_or(usual.status)
            },
            body: self.expect_body.clone().unwrap_or(ExpectBody::Same),
            ..usual
        }
    }

    /// A hint about a flag that has another meaning in other tools; `None` if it was not given.
    pub fn hint(&self, is_encrypted: bool) -> Option<&'static str> {
        (self.keepalive && is_encrypted && !self.tls.trusts_any()).then_some(
            "-k keeps connections open, which abx always does; to trust any certificate (curl's \
             -k), write --insecure",
        )
    }

    /// The loads of users with the scenario in this file: one per number of users.
    ///
    /// # Errors
    /// A usage failure for a file that cannot be read, and for a flag without meaning for users.
    pub fn of_users(&self, file: &Path, is_encrypted: bool) -> Result<Vec<Load>, Failure> {
        self.refuse_misplaced(LoadShape::Scenario)?;
        let scenario = scenario_file::read(file).map_err(Failure::usage)?;
        let users = scenario.users(file.display().to_string());
        let mut like = self.like(Shape::Scenario, &self.tls.spec(is_encrypted)?, Vec::new());
        users.onto(&mut like, self.timeout());
        let sweep = SweepSpec {
            connections: match &self.connections[..] {
                [] => vec![50],
                given => given.to_vec(),
            },
            rates: Vec::new(),
            objective: None,
            spacing: Spacing::Constant,
        };
        distinct(sweep.loads(&like, |users| format!("c{users}")))
    }

    /// Refuses flags that have no meaning for loads of this shape.
    fn refuse_misplaced(&self, kind: LoadShape) -> Result<(), Failure> {
        match self.misplaced(kind) {
            None => Ok(()),
            Some((flag, key)) if kind == LoadShape::Scenario => {
                let why = match key.as_str() {
                    "protocol" | "streams" => "scenarios use HTTP/1.1 only",
                    _ => "the scenario file sets the requests and when they are sent",
                };
                Err(Failure::usage(format!(
                    "{flag} does not apply to a scenario: {why}. Leave it out"
                )))
            }
            Some((flag, _)) => Err(Failure::usage(format!(
                "{flag} does not apply to a load of shape `{}`: leave it out",
                kind.id()
            ))),
        }
    }

    /// The first flag that has no meaning for loads of this shape, with its key.
    fn misplaced(&self, kind: LoadShape) -> Option<(String, String)> {
        let suits = |(flag, key): &(String, String)| match flag.as_str() {
            "--connection-stages" => RESPONDED.contains(&kind),
            _ => key_suits(kind, key),
        };
        self.given().find(|flag| !suits(flag))
    }

    /// How the requests of a rate are spaced.
    fn spacing(&self) -> Result<Spacing, Failure> {
        let has_rate = self.rate.is_some() || self.slo.is_some();
        match (has_rate, self.arrivals) {
            (true, Some(ArrivalsName::Poisson)) => Ok(Spacing::Poisson),
            (false, Some(ArrivalsName::Constant | ArrivalsName::Poisson)) => Err(Failure::usage(
                "these --arrivals need a rate: add one, such as --rate 2000",
            )),
            (true, Some(ArrivalsName::Closed)) => Err(Failure::usage(
                "--rate and --slo make an open loop, and --arrivals closed does not: leave one of \
                 them out",
            )),
            _ => Ok(Spacing::Constant),
        }
    }

    /// When a free connection sends its next request, except for rates.
    fn pacing(&self) -> Pacing {
        Pacing {
            arrivals: self
                .stages
                .clone()
                .map_or(Arrivals::Closed, Arrivals::Stages),
            connections_over_time: self.connection_stages.clone(),
            think_ns: Nanos::from(self.sessions.think_time()).0,
            session_calls: self.sessions.calls,
        }
    }

    /// How long the stages last, if there are any.
    pub fn stages_last(&self) -> Option<Duration> {
        let stages = self.stages.as_ref().or(self.connection_stages.as_ref());
        stages.map(|stages| stages.lasts().into())
    }

    /// The flags that were given, each with its key in a study file.
    pub fn given(&self) -> impl Iterator<Item = (String, String)> {
        let parts = [
            (!self.connections.is_empty(), "--connections", "connections"),
            (self.rate.is_some(), "--rate", "rate"),
            (self.slo.is_some(), "--slo", "slo"),
            (self.stages.is_some(), "--stages", "rate"),
            (
                self.connection_stages.is_some(),
                "--connection-stages",
                "connections",
            ),
            (self.arrivals.is_some(), "--arrivals", "arrivals"),
            (self.http10, "--http1.0", "protocol"),
            (self.http11, "--http1.1", "protocol"),
            (self.http2, "--http2", "protocol"),
            (self.no_keepalive, "--no-keepalive", "keep_alive"),
            (self.keepalive, "-k", "keep_alive"),
            (
                self.expect_status.is_some(),
                "--expect-status",
                "expect.status",
            ),
            (self.expect_body.is_some(), "--expect-body", "expect.body"),
        ];
        let renamed = parts
            .into_iter()
            .chain(self.requests.given())
            .chain(self.replay.given())
            .chain(self.tls.given())
            .chain(self.shape.given())
            .filter(|(is_given, ..)| *is_given)
            .map(|(_, flag, key)| (flag.to_owned(), key.to_owned()));
        // The flags of these have the names of their keys.
        let keys = written(&self.sessions)
            .chain(written(&self.in_flight))
            .chain(written(&self.opening))
            .chain(written(&self.checks));
        renamed.chain(keys.map(|key| (format!("--{}", key.replace('_', "-")), key)))
    }

    fn timeout(&self) -> Option<Duration> {
        self.opening.timeout.as_ref().and_then(TimeText::time)
    }
}

impl GeneratorFlags {
    /// The way to wait that was requested.
    pub fn wait(&self) -> Option<WaitChoice> {
        self.wait.map(|wait| match wait {
            WaitName::Auto => WaitChoice::Auto,
            WaitName::Awake => WaitChoice::Awake,
            WaitName::Asleep => WaitChoice::Asleep,
        })
    }

    /// The seed that was given, or one from the clock.
    pub fn seed(&self) -> u64 {
        self.seed.unwrap_or_else(seed_from_clock)
    }
}

/// The highest number of connections in the stages.
fn highest(stages: &StageList) -> u32 {
    let thousandths = stages
        .stages()
        .iter()
        .flat_map(|stage| [stage.from, stage.to])
        .map(Amount::thousandths)
        .max();
    let connections = thousandths.unwrap_or(0).div_ceil(1_000);
    u32::try_from(connections).unwrap_or(u32::MAX)
}

/// Refuses loads of the same name.
fn distinct(loads: Vec<Load>) -> Result<Vec<Load>, Failure> {
    let mut names = BTreeSet::new();
    match loads.iter().find(|load| !names.insert(&load.name)) {
        Some(load) => Err(Failure::usage(format!(
            "the load `{}` is given twice: list each number once",
            load.name
        ))),
        None => Ok(loads),
    }
}

/// The nanoseconds of the clock, which change from study to study. A short seed is easier to type.
pub fn seed_from_clock() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    u64::from(now.unwrap_or_default().subsec_nanos())
}
