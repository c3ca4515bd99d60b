//! Flags that say what is offered, and by what; `run` and `compare` share them.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use abx_engine::schedule::{Arrivals, StageList};
use abx_engine::{Backend, HttpVersion, Pacing};
use abx_evidence::{LoadShape, Objective};
use abx_lab::{
    ExpectBody, Load, RateSpec, RequestSpec, SWITCHED, Scheme, Shape, Spacing, Subject, SweepSpec,
    suits,
};
use abx_sys::Nanos;
use clap::{Args, ValueEnum};

use super::shape::ShapeFlags;
use super::units;
use super::units::Rates;
use crate::end::Failure;

/// What is offered. A study file says all of this itself, so what a flag
/// leaves open is `None` here and has its default in [`LoadFlags::load`].
#[derive(Debug, Clone, Args)]
pub struct LoadFlags {
    /// Connections; several, as in 1,10,100, are as many loads [default: 50].
    #[arg(short, long, value_parser = clap::value_parser!(u32).range(1..), value_delimiter = ',')]
    connections: Vec<u32>,
    /// Requests per second, due whatever becomes of those before them; 25% is a quarter of
    /// what the slowest server can do, auto is 25%,50%,75%,90%.
    #[arg(short, long, value_parser = units::rates, conflicts_with_all = ["stages", "connection_stages"], value_name = "RATE[,RATE...]")]
    rate: Option<Rates>,
    /// What the servers are to keep to, such as p99<50ms,errors<0.1%: finds and compares the
    /// highest rate at which each does.
    #[arg(long, conflicts_with_all = ["rate", "stages", "connection_stages", "think", "calls"], value_name = "OBJECTIVE")]
    slo: Option<Objective>,
    /// How requests arrive [default: closed; with --rate constant].
    #[arg(long, value_enum, conflicts_with_all = ["stages", "connection_stages"])]
    arrivals: Option<ArrivalsName>,
    /// A rate over time, such as 0:20000@30s,20000@60s: up to 20,000/s within 30 s, then steady.
    #[arg(long, value_name = "STAGES", conflicts_with = "connection_stages")]
    stages: Option<StageList>,
    /// Connections over time, in a closed loop, such as 1:100@30s; -c is the most of them.
    #[arg(long, value_name = "STAGES")]
    connection_stages: Option<StageList>,
    /// How long a user thinks between an answer and the next request.
    #[arg(long, value_parser = units::duration, value_name = "TIME")]
    think: Option<Duration>,
    /// Requests of a session; the next session has a connection of its own.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..), value_name = "N")]
    calls: Option<u32>,
    /// Path and query; by default that of the URL, or /.
    #[arg(long, value_parser = units::path)]
    path: Option<String>,
    /// A further header, such as 'Accept: text/html'; may be repeated.
    #[arg(short = 'H', long = "header", value_parser = units::header, value_name = "NAME: VALUE")]
    headers: Vec<(String, String)>,
    /// The method [default: GET].
    #[arg(short, long, value_parser = units::method)]
    method: Option<String>,
    /// The body of the request.
    #[arg(short, long)]
    body: Option<String>,
    /// Requests that a connection has in flight at most [default: 1].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pipeline: Option<u32>,
    /// Speak HTTP/1.0, as ab does.
    #[arg(long = "http1.0", conflicts_with = "http11")]
    http10: bool,
    /// Speak HTTP/1.1, which is the default.
    #[arg(long = "http1.1")]
    http11: bool,
    /// One connection for each request.
    #[arg(long)]
    no_keepalive: bool,
    /// How long a request may take, its connection's making included [default: 10s].
    #[arg(long, value_parser = units::duration)]
    timeout: Option<Duration>,
    /// The status that is right [default: 200].
    #[arg(long, value_parser = clap::value_parser!(u16).range(100..600))]
    expect_status: Option<u16>,
    /// The body that is right: the same from all, any, or the one of this SHA-256
    /// [default: same].
    #[arg(long, value_parser = units::expect_body, value_name = "same|any|HASH")]
    expect_body: Option<ExpectBody>,
    /// Of how many answers one has its body looked at and its phases timed (1 is
    /// all, 0 none); status and length are always checked [default: 100].
    #[arg(long, value_name = "N")]
    verify_every: Option<u32>,
    #[command(flatten)]
    shape: ShapeFlags,
}

/// How requests arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ArrivalsName {
    /// A connection sends when its last answer is whole.
    Closed,
    /// At equal distances.
    Constant,
    /// At random, independent of each other.
    Poisson,
}

/// What moves the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BackendName {
    /// The one that costs less for the load, and epoll where the kernel refuses io_uring.
    Auto,
    /// epoll.
    Epoll,
    /// io_uring.
    Uring,
}

/// What makes the load.
#[derive(Debug, Clone, Args)]
pub struct GeneratorFlags {
    /// Worker threads of the generator; by default one for each of its processors.
    #[arg(short, long, value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
    /// What moves the bytes [default: auto, by what costs less].
    #[arg(long, value_enum)]
    backend: Option<BackendName>,
    /// A local address that connections come from; several are used in turn.
    #[arg(long, value_name = "ADDRESS", value_delimiter = ',')]
    pub local_address: Vec<IpAddr>,
    /// What all randomness is drawn from; by default the clock.
    #[arg(long)]
    pub seed: Option<u64>,
}

impl LoadFlags {
    /// The only load of a run.
    ///
    /// # Errors
    /// A usage failure where several are asked for, or what only a comparison finds.
    pub fn load(&self, scheme: Scheme) -> Result<Load, Failure> {
        let mut loads = self.loads(scheme)?;
        match (loads.pop(), loads.is_empty()) {
            (Some(load), true) if !load.rate.is_unresolved() => Ok(load),
            _ => Err(Failure::usage(
                "a run has one load: name one number of connections, one length of messages and one \
                 rate per second; lists, shares such as 25% and --slo are for `abx compare`",
            )),
        }
    }

    /// The loads, under the names that reports use.
    pub fn loads(&self, scheme: Scheme) -> Result<Vec<Load>, Failure> {
        let kind = self.shape.kind(scheme)?;
        self.refuse_beside(kind)?;
        let sweep = SweepSpec {
            connections: match &self.connections[..] {
                [] => vec![50],
                some => some.to_vec(),
            },
            rates: self.rate.clone().map_or(Vec::new(), |rates| rates.0),
            objective: self.slo.clone(),
            spacing: self.spacing()?,
        };
        let shapes = self.shape.shapes(kind)?;
        let several = shapes.len() > 1;
        let mut loads = Vec::new();
        for shape in shapes {
            let bytes = shape.message().filter(|_| several);
            let bytes = bytes.map_or_else(String::new, |message| format!("-b{}", message.bytes));
            loads.extend(sweep.loads(&self.like(shape)?, |connections| {
                format!("c{connections}{bytes}")
            }));
        }
        let mut names = BTreeSet::new();
        match loads.iter().find(|load| !names.insert(&load.name)) {
            Some(load) => Err(Failure::usage(format!(
                "the load `{}` is asked for twice: list each number once",
                load.name
            ))),
            None => Ok(loads),
        }
    }

    /// A load but for its name, connections and rate.
    fn like(&self, shape: Shape) -> Result<Load, Failure> {
        Ok(Load {
            shape,
            name: String::new(),
            connections: 1,
            requests: vec![self.request()],
            version: match self.http10 {
                true => HttpVersion::Http10,
                false => HttpVersion::Http11,
            },
            pipeline: self.pipeline.unwrap_or(1),
            keep_alive: !self.no_keepalive,
            pacing: self.pacing(),
            rate: RateSpec::AsPaced,
            timeout: self.timeout.unwrap_or(Duration::from_secs(10)),
            cold_cache: false,
            verify_every: self.verify_every.unwrap_or(100),
            status: match shape.is_websocket() {
                true => SWITCHED,
                false => self.expect_status.unwrap_or(200),
            },
            body: self.expect_body.clone().unwrap_or(ExpectBody::Same),
        })
    }

    /// Refuses the first flag that says nothing of loads of this shape.
    fn refuse_beside(&self, kind: LoadShape) -> Result<(), Failure> {
        let says_nothing = |(is_given, flag, key): &(bool, &str, &str)| {
            let key = match *flag {
                "--connection-stages" => "connection_stages",
                _ => *key,
            };
            *is_given && !suits(kind, key)
        };
        match self.all().into_iter().find(says_nothing) {
            None => Ok(()),
            Some((_, flag, _)) => Err(Failure::usage(format!(
                "{flag} says nothing of a load of shape `{}`: leave it out",
                kind.id()
            ))),
        }
    }

    /// What all subjects of a comparison are spoken to in.
    ///
    /// # Errors
    /// A usage failure for URLs of both kinds.
    pub fn scheme(&self, subjects: &[Subject]) -> Result<Scheme, Failure> {
        self.shape.scheme(subjects)
    }

    /// How the requests of a rate are laid out.
    fn spacing(&self) -> Result<Spacing, Failure> {
        let has_rate = self.rate.is_some() || self.slo.is_some();
        match (has_rate, self.arrivals) {
            (true, Some(ArrivalsName::Poisson)) => Ok(Spacing::Poisson),
            (false, Some(ArrivalsName::Constant | ArrivalsName::Poisson)) => Err(Failure::usage(
                "these --arrivals need a rate: add one, such as --rate 2000",
            )),
            (true, Some(ArrivalsName::Closed)) => Err(Failure::usage(
                "--rate and --slo are for open loops, and --arrivals closed is none: leave one of \
                 both out",
            )),
            _ => Ok(Spacing::Constant),
        }
    }

    /// When a connection that is free sends its next request, but for rates.
    fn pacing(&self) -> Pacing {
        Pacing {
            arrivals: self
                .stages
                .clone()
                .map_or(Arrivals::Closed, Arrivals::Stages),
            connections_over_time: self.connection_stages.clone(),
            think_ns: self.think.map_or(0, |think| Nanos::from(think).0),
            session_calls: self.calls,
        }
    }

    /// How long the stages last, where there are some.
    pub fn stages_last(&self) -> Option<Duration> {
        let stages = self.stages.as_ref().or(self.connection_stages.as_ref());
        stages.map(|stages| stages.lasts().into())
    }

    /// The one request of the load.
    pub fn request(&self) -> RequestSpec {
        RequestSpec {
            method: self.method.clone().unwrap_or_else(|| "GET".to_owned()),
            path: self.path.clone(),
            headers: self.headers.clone(),
            body: self.body.clone().unwrap_or_default().into_bytes(),
            weight: 1,
        }
    }

    /// The first flag that was given, with the key of a study file that says the same.
    pub fn given(&self) -> Option<(&'static str, &'static str)> {
        let first = { self.all().into_iter() }.find(|(is_given, ..)| *is_given);
        first.map(|(_, flag, key)| (flag, key))
    }

    /// Each flag: whether it was given, its name, and the key of a study file that
    /// says the same.
    fn all(&self) -> Vec<(bool, &'static str, &'static str)> {
        let own = [
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
            (self.think.is_some(), "--think", "think"),
            (self.calls.is_some(), "--calls", "calls"),
            (self.path.is_some(), "--path", "requests.path"),
            (!self.headers.is_empty(), "--header", "requests.headers"),
            (self.method.is_some(), "--method", "requests.method"),
            (self.body.is_some(), "--body", "requests.body"),
            (self.pipeline.is_some(), "--pipeline", "pipeline"),
            (self.http10, "--http1.0", "protocol"),
            (self.http11, "--http1.1", "protocol"),
            (self.no_keepalive, "--no-keepalive", "keep_alive"),
            (self.timeout.is_some(), "--timeout", "timeout"),
            (
                self.expect_status.is_some(),
                "--expect-status",
                "expect.status",
            ),
            (self.expect_body.is_some(), "--expect-body", "expect.body"),
            (
                self.verify_every.is_some(),
                "--verify-every",
                "verify_every",
            ),
        ];
        own.into_iter().chain(self.shape.given()).collect()
    }
}

impl GeneratorFlags {
    /// What is to move the bytes.
    pub fn backend(&self) -> Backend {
        match self.backend {
            None | Some(BackendName::Auto) => Backend::Auto,
            Some(BackendName::Epoll) => Backend::Epoll,
            Some(BackendName::Uring) => Backend::Uring,
        }
    }

    /// The seed that was given, or one from the clock.
    pub fn seed(&self) -> u64 {
        self.seed.unwrap_or_else(seed_from_clock)
    }
}

/// The lower digits change from study to study; short seeds are easier to type.
pub fn seed_from_clock() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    u64::from(now.unwrap_or_default().subsec_nanos())
}
