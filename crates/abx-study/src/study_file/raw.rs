//! The file as it is written, key by key. The JSON Schema comes from here: the
//! comments below are what an editor shows, and the limits are what `conform` checks.

use std::collections::BTreeMap;

use abx_engine::TlsVersion;
use abx_evidence::record::{Interleave, Whom};
use abx_model::load_keys::{
    CheckKeys, HELD, InFlightKeys, MESSAGES, NOT_USERS, OpeningKeys, REQUESTS, SENT, SessionKeys,
    USERS,
};
use abx_model::{LoadShape, MessageKind, TimeText};
use abx_sys::process::Signal;
use schemars::JsonSchema;
use serde::Deserialize;

use super::raw_from::RawFrom;
use super::raw_request::{RawExpect, RawRequest};
use crate::servers::service::ServiceRestart;
use crate::study::{Pin, WaitChoice};

/// The signals of faults.
const FAULT_SIGNALS: [Signal; 11] = [
    Signal::Segv,
    Signal::Kill,
    Signal::Abrt,
    Signal::Term,
    Signal::Int,
    Signal::Quit,
    Signal::Hup,
    Signal::Usr1,
    Signal::Usr2,
    Signal::Stop,
    Signal::Cont,
];
/// The signals that a server may be told to stop or to reload with.
const STOP_SIGNALS: [Signal; 8] = [
    Signal::Term,
    Signal::Int,
    Signal::Quit,
    Signal::Hup,
    Signal::Usr1,
    Signal::Usr2,
    Signal::Winch,
    Signal::Kill,
];

/// A study for abx: which servers, under which loads.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawStudy {
    /// The version of this format.
    #[serde(default)]
    #[schemars(extend("examples" = ["abx.study_file/1"]))]
    pub schema: RawSchema,
    /// The name of the subject that the others are compared with. Default: the first one.
    #[schemars(extend("examples" = ["nginx"]))]
    pub baseline: Option<String>,
    /// Differences up to this do not matter. Default: 3%.
    pub margin: Option<RawShare>,
    /// The wall-clock time that the study may take. Default: 2m per load and each subject after the first, 10m for a load with `slo`.
    pub budget: Option<TimeText>,
    /// Exactly this many blocks, however precise the result.
    #[schemars(range(min = 1, max = 1_000_000), extend("examples" = [10]))]
    pub blocks: Option<u32>,
    /// The length of a slice. Default: from the pilot, at least 100ms.
    pub slice: Option<TimeText>,
    /// How subjects take turns. Default: slices.
    #[schemars(extend("examples" = ["trials"]))]
    pub interleave: Option<Interleave>,
    /// Whether subjects are sampled after the counted slices of each block, to find out where
    /// their CPU time goes.
    #[serde(default)]
    pub why: bool,
    /// Whether subjects and generator have their own CPUs. Default: split.
    #[schemars(extend("examples" = ["shared"]))]
    pub pin: Option<Pin>,
    /// How the generator waits for responses: awake spares the servers waking it, and needs CPUs of its own. Default: auto, awake if that takes CPU time from no other process.
    #[schemars(extend("examples" = ["asleep"]))]
    pub wait: Option<WaitChoice>,
    /// Worker threads of the generator. Default: one for each of its CPUs.
    #[schemars(range(min = 1, max = 1024), extend("examples" = [1]))]
    pub threads: Option<u16>,
    /// The seed of all randomness. Default: from the clock.
    #[schemars(range(min = 0, max = 9_223_372_036_854_775_807_u64), extend("examples" = [1]))]
    pub seed: Option<u64>,
    /// Files generated from the seed in each subject's folder before it starts.
    #[serde(default)]
    pub file: Vec<RawFile>,
    /// The servers under test.
    #[schemars(length(min = 1))]
    pub subject: Vec<RawSubject>,
    /// Servers that subjects need, such as a database.
    #[serde(default)]
    pub service: Vec<RawService>,
    /// The loads that each subject gets.
    #[schemars(length(min = 1))]
    pub load: Vec<RawOffer>,
    /// Faults that each subject gets on purpose while it is under load.
    #[serde(default)]
    pub fault: Vec<RawFault>,
    /// The pairs that are compared. Default: every subject with the baseline.
    #[serde(default)]
    pub contrast: Vec<RawContrast>,
}

/// A fault that each subject gets on purpose, once in every block.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawFault {
    /// Its name in reports, which no load may have: letters, digits, `-`, `_` and `.`, at most 40.
    #[schemars(extend("examples" = ["crash"]))]
    pub name: String,
    /// The name of the load during the fault. Its rate must be fixed.
    #[schemars(extend("examples" = ["steady"]))]
    pub load: String,
    /// The signal that is sent to the processes that `whom` sets.
    #[schemars(with = "Option<String>", extend("enum" = FAULT_SIGNALS, "examples" = ["SEGV"]))]
    pub signal: Option<Signal>,
    /// The processes that get the signal: a random worker, the parent of the workers, or every process.
    #[schemars(extend("examples" = ["worker"]))]
    pub whom: Option<Whom>,
    /// The action that replaces a signal.
    pub action: Option<RawAction>,
    /// The time from the start of the slice to the fault.
    pub at: TimeText,
    /// The length of the slice: by then the subject should have recovered.
    pub within: TimeText,
    /// A request whose correct response takes longer was delayed. Default: 100ms.
    pub delayed_after: Option<TimeText>,
}

/// The action that replaces a signal.
#[derive(Deserialize, JsonSchema, Clone, Copy)]
#[serde(rename_all = "snake_case")]
#[schemars(extend("examples" = ["restart"]))]
pub enum RawAction {
    Restart,
    Reload,
}

/// A pair that is compared.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawContrast {
    /// The name of the subject that is compared.
    #[schemars(extend("examples" = ["lighttpd"]))]
    pub subject: String,
    /// The name of the subject that it is compared with.
    #[schemars(extend("examples" = ["nginx"]))]
    pub baseline: String,
    /// The names of the loads under which the two are compared. A sweep's name stands for all its rows. A subject of contrasts gets only their loads. Default: all loads.
    #[schemars(length(min = 1), extend("examples" = [["small"]]))]
    pub loads: Option<Vec<String>>,
    /// The question that it answers. Reports print the question above the result. Contrasts with
    /// the same question are reported together.
    #[schemars(length(min = 1), extend("examples" = ["What does TLS cost?"]))]
    pub question: Option<String>,
}

/// The version of this format.
#[derive(Deserialize, JsonSchema, Default)]
pub enum RawSchema {
    #[default]
    #[serde(rename = "abx.study_file/1")]
    One,
}

/// A share with its unit.
#[derive(Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline, extend("examples" = ["3%", "0.5%"], "pattern" = "%$"))]
pub struct RawShare(pub String);

/// A file that is generated from the seed: the same bytes for all subjects.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawFile {
    /// Its path in {dir}; with `count`, one that has `{n}` for the number.
    #[schemars(extend("examples" = ["small.bin"]))]
    pub path: String,
    /// How many files there are, numbered from 0, each with different bytes. Default: one, without a number.
    #[schemars(range(min = 1, max = 1000), extend("examples" = [250]))]
    pub count: Option<u32>,
    /// Its length.
    #[schemars(range(min = 0, max = 1_073_741_824), extend("examples" = [1320]))]
    pub bytes: u64,
}

/// What a file says of every server that abx starts.
#[derive(Deserialize, JsonSchema)]
pub struct RawServer {
    /// How it is obtained. Default: its program is already there.
    #[serde(default)]
    pub from: RawFrom,
    /// Files written into {dir} before each start: the name there, and the template next to the study file.
    #[serde(default)]
    #[schemars(extend("examples" = [{"n.conf": "n.conf.in"}]))]
    pub templates: BTreeMap<String, String>,
    /// Additional environment variables.
    #[serde(default)]
    #[schemars(extend("examples" = [{"PORT": "{port}"}]))]
    pub env: BTreeMap<String, String>,
    /// How it is stopped.
    pub stop: Option<RawStop>,
}

/// A server under test: started by `command` or from an image, or running at `address`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawSubject {
    /// Its name in reports: letters, digits, `-`, `_` and `.`, at most 40.
    #[schemars(extend("examples" = ["nginx"]))]
    pub name: String,
    #[serde(flatten)]
    pub server: RawServer,
    /// The command that starts it, one item per argument, without a shell.
    #[schemars(length(min = 1), extend("examples" = [["nginx", "-c", "{dir}/n.conf"]]))]
    pub command: Option<Vec<String>>,
    /// The URL of a server that already runs.
    #[schemars(extend("examples" = ["http://127.0.0.1:8081"]))]
    pub address: Option<String>,
    /// It uses TLS, and its certificate is for this name. Default: no TLS.
    #[schemars(length(min = 1), extend("examples" = ["localhost"]))]
    pub tls: Option<String>,
    /// Whether it gets HTTP/2 requests under loads of HTTP/1.1. Default: false.
    #[serde(default)]
    pub http2: bool,
    /// When it is ready.
    pub ready: Option<RawReady>,
    /// The program name of its workers, for faults. Default: every process without children but the main one.
    #[schemars(extend("examples" = ["php-cgi"]))]
    pub worker: Option<String>,
    /// The signal that makes its main process reload its configuration, for faults. Default: it cannot.
    #[schemars(with = "Option<String>", extend("enum" = STOP_SIGNALS, "examples" = ["TERM"]))]
    pub reload: Option<Signal>,
}

/// A server that all subjects of a block need, such as a database: started before them, and not compared.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawService {
    /// Its name, which placeholders such as {service.NAME.port} contain: letters, digits, `-`, `_` and `.`, at most 40.
    #[schemars(extend("examples" = ["database"]))]
    pub name: String,
    #[serde(flatten)]
    pub server: RawServer,
    /// The command that starts it, one item per argument, without a shell.
    #[schemars(length(min = 1), extend("examples" = [["redis-server", "--port", "{port}"]]))]
    pub command: Vec<String>,
    /// Names of additional ports that abx chooses for it, each for {port.NAME}. Default: none.
    #[serde(default)]
    #[schemars(extend("examples" = [["storage"]]))]
    pub ports: Vec<String>,
    /// When it is ready. Default: when its port accepts connections.
    pub ready: Option<RawServiceReady>,
    /// A command that fills it with data after each start, one item per argument, without a shell. Default: none.
    #[schemars(length(min = 1), extend("examples" = [["{study}/seed", "{port}"]]))]
    pub seed: Option<Vec<String>>,
    /// How long `seed` may take. Default: 2m.
    pub seed_within: Option<TimeText>,
    /// How long one start of it serves. Default: study.
    #[schemars(extend("examples" = ["block"]))]
    pub restart: Option<ServiceRestart>,
}

/// When a service is ready: three correct responses, or three commands that end well.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawServiceReady {
    /// Path and query of an HTTP request.
    #[schemars(extend("examples" = ["/health"]))]
    pub path: Option<String>,
    /// The status that means ready. Default: 200.
    #[schemars(range(min = 100, max = 599), extend("examples" = [200]))]
    pub status: Option<u16>,
    /// A command that ends with exit code 0 if the service is ready.
    #[schemars(length(min = 1), extend("examples" = [["redis-cli", "-p", "{port}", "ping"]]))]
    pub check: Option<Vec<String>>,
    /// How long it may take. Default: 30s.
    pub within: Option<TimeText>,
}

/// When a subject is ready: three correct responses.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawReady {
    /// The path that is requested. Default: that of the first request of the first load.
    #[schemars(extend("examples" = ["/"]))]
    pub path: Option<String>,
    /// How long it may take. Default: 30s.
    pub within: Option<TimeText>,
    /// The status that means ready. Default: that of the first load.
    #[schemars(range(min = 100, max = 599), extend("examples" = [200]))]
    pub status: Option<u16>,
}

/// How a subject is stopped.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawStop {
    /// The signal. Default: TERM.
    #[schemars(with = "Option<String>", extend("enum" = STOP_SIGNALS, "examples" = ["TERM"]))]
    pub signal: Option<Signal>,
    /// How long it may take to end before it is killed. Default: 5s.
    pub within: Option<TimeText>,
}

/// A load: the requests and connections that each subject gets.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawOffer {
    /// Its name in reports: letters, digits, `-`, `_` and `.`, at most 40.
    #[schemars(extend("examples" = ["small"]))]
    pub name: String,
    /// What a connection does.
    #[serde(default)]
    #[schemars(with = "String", extend(
        "enum" = NOT_USERS, "x-shapes" = NOT_USERS, "examples" = ["request", "echo"]
    ))]
    pub shape: LoadShape,
    /// The protocol. Default: http/1.1, and websocket for every shape except request.
    #[schemars(extend("x-shapes" = REQUESTS))]
    pub protocol: Option<RawProtocol>,
    /// The WebSocket message that is sent. Default: 87 bytes of text.
    #[schemars(extend("x-shapes" = MESSAGES))]
    pub message: Option<RawMessage>,
    /// How long idle connections are held. Default: 1s.
    #[schemars(extend("x-shapes" = HELD))]
    pub hold: Option<TimeText>,
    /// Connections, each with one request in flight. A list is a sweep, one row each. Default: 50.
    #[schemars(with = "Option<NumberOrSweep<1, 1_000_000>>", extend("examples" = [[10, 100]]))]
    pub connections: Option<RawSweep>,
    /// Requests per second, sent on schedule regardless of earlier responses. "25%" is a quarter of the slowest subject's throughput, "auto" is 25, 50, 75 and 90 %. A list is a sweep. Default: none, a closed loop.
    #[schemars(extend("x-shapes" = SENT))]
    pub rate: Option<RawRates>,
    /// A service objective: abx finds the highest rate at which each subject meets it, and compares these rates.
    #[schemars(extend("x-shapes" = SENT, "examples" = ["p99<50ms,errors<0.1%"]))]
    pub slo: Option<String>,
    /// How requests arrive. Default: constant with a rate, else closed.
    #[schemars(extend("x-shapes" = SENT))]
    pub arrivals: Option<RawArrivals>,
    #[serde(flatten)]
    pub sessions: SessionKeys,
    /// Instead of requests, a scenario file next to this one. Each connection is a user who repeats the scenario.
    #[schemars(extend("x-shapes" = USERS, "examples" = ["browse.toml"]))]
    pub scenario: Option<String>,
    /// The requests, mixed by their weights.
    #[serde(default)]
    #[schemars(length(min = 1), extend("x-shapes" = NOT_USERS, "examples" = [[{"path": "/small.bin"}]]))]
    pub requests: Vec<RawRequest>,
    #[serde(flatten)]
    pub in_flight: InFlightKeys,
    /// Whether the generated files are dropped from memory before each slice. Default: false.
    #[schemars(extend("x-shapes" = REQUESTS, "examples" = [true]))]
    pub cold_cache: Option<bool>,
    /// Whether a connection serves more than one request. Default: true.
    #[schemars(extend("x-shapes" = REQUESTS, "examples" = [false]))]
    pub keep_alive: Option<bool>,
    /// How connections to subjects that use TLS are encrypted.
    pub tls: Option<RawTls>,
    #[serde(flatten)]
    pub opening: OpeningKeys,
    #[serde(flatten)]
    pub checks: CheckKeys,
    /// Which responses are correct.
    #[schemars(extend("x-shapes" = REQUESTS))]
    pub expect: Option<RawExpect>,
}

/// How connections are encrypted.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields)]
pub struct RawTls {
    /// A PEM file next to the study file: its certificates, and those that they signed, are trusted. Default: those of the machine.
    #[schemars(extend("examples" = ["ca.pem"]))]
    pub ca: Option<String>,
    /// Whether every certificate is accepted. Default: false.
    #[schemars(extend("examples" = [true]))]
    pub insecure: Option<bool>,
    /// The only version that is used. Default: the newest that the subject supports.
    #[schemars(with = "Option<String>", extend("enum" = ["1.2", "1.3"], "examples" = ["1.3"]))]
    pub version: Option<TlsVersion>,
    /// Whether connections resume earlier sessions. Default: false, a full handshake each.
    #[schemars(extend("examples" = [true]))]
    pub resume: Option<bool>,
}

/// A WebSocket message.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{"bytes": 5000, "kind": "text"}]))]
pub struct RawMessage {
    /// The length of its payload. A list is a sweep, one row each. Default: 87.
    #[schemars(with = "Option<NumberOrSweep<0, 16_777_216>>", extend("examples" = [5000, [100, 5000]]))]
    pub bytes: Option<RawSweep>,
    /// The type of its payload. Default: text.
    #[schemars(extend("examples" = ["text"]))]
    pub kind: Option<MessageKind>,
}

/// The protocol.
#[derive(Deserialize, JsonSchema, Clone, Copy)]
#[schemars(extend("examples" = ["http/1.1"]))]
pub enum RawProtocol {
    #[serde(rename = "http/1.0")]
    Http10,
    #[serde(rename = "http/1.1")]
    Http11,
    #[serde(rename = "http/2")]
    Http2,
    #[serde(rename = "websocket")]
    WebSocket,
}

/// How requests arrive.
#[derive(Deserialize, JsonSchema, Clone, Copy)]
#[serde(rename_all = "snake_case")]
#[schemars(extend("examples" = ["poisson"]))]
pub enum RawArrivals {
    Closed,
    Constant,
    Poisson,
}

/// One number, or a sweep.
#[derive(Deserialize)]
#[serde(untagged)]
pub enum RawSweep {
    One(u32),
    Sweep(Vec<u32>),
}

/// The schema of a [`RawSweep`] whose numbers are between two bounds.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum NumberOrSweep<const MIN: u32, const MAX: u32> {
    One(#[schemars(range(min = MIN, max = MAX))] u32),
    Sweep(#[schemars(length(min = 1), inner(range(min = MIN, max = MAX)))] Vec<u32>),
}

/// One rate, or a sweep.
#[derive(Deserialize, JsonSchema, Clone)]
#[serde(untagged)]
#[schemars(extend("examples" = [2000, "25%", ["25%", "50%"], "auto"]))]
pub enum RawRates {
    PerSecond(#[schemars(range(min = 0.001, max = 10_000_000))] f64),
    Words(String),
    Sweep(#[schemars(length(min = 1))] Vec<RawRate>),
}

/// One rate of a sweep.
#[derive(Deserialize, JsonSchema, Clone)]
#[serde(untagged)]
#[schemars(extend("examples" = [2000, "25%"]))]
pub enum RawRate {
    PerSecond(#[schemars(range(min = 0.001, max = 10_000_000))] f64),
    Share(String),
}
