//! The configuration of the reference server, and why it may be refused.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroU32;
use std::path::PathBuf;

use abx_sys::{RingError, ServerAddress};

use crate::faults::planted_costs::PlantedCosts;
use crate::faults::{Faults, Stall};
use crate::tls::{CertificateFault, ServerCertificate};

/// All settings of the reference server.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerConfig {
    /// Where to listen; port 0 lets the kernel choose.
    pub address: ServerAddress,
    /// What clients are shown over TLS; `None` for plain HTTP.
    pub certificate: Option<ServerCertificate>,
    /// How connections are spread over threads.
    pub model: Model,
    pub content: Content,
    /// Whether `/blog/index` is a page made of so many rows of a database.
    pub blog_rows: Option<u32>,
    /// Whether a request for `/crash` ends the process by SIGSEGV.
    pub allows_crash: bool,
    /// Whether `/echo` and `/chat/ROOM` support WebSocket.
    pub websocket: WebSocketSupport,
    /// Whether small segments wait for others.
    pub nagle: Nagle,
    /// What is done wrong on purpose.
    pub faults: Faults,
    /// What each response costs on purpose.
    pub planted_costs: PlantedCosts,
    /// Seed of the faults that are drawn at random.
    pub seed: u64,
    /// How many connections may wait to be accepted; the kernel's limit,
    /// `net.core.somaxconn`, holds as well. Usually [`BACKLOG`].
    pub backlog: u32,
    /// Whether several such servers may listen on the same port, each of them with its part
    /// of the connections.
    pub shares_port: bool,
    /// How many threads respond, at most ([`Model::ThreadPerRequest`]), or always
    /// ([`Model::Hybrid`]); other models have no such number. `None` for [`MAX_THREADS`].
    pub max_threads: Option<NonZeroU32>,
    /// Whether the process is one of several.
    pub role: ProcessRole,
}

/// Whether a serving process is one of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessRole {
    /// It is not: it listens by itself, and serves until it is killed.
    Alone,
    /// Its standard input is the listening socket, which others have too. At SIGTERM it accepts
    /// no more connections, has each one end with its next response, and ends with the last.
    Worker {
        /// Its number, from 1.
        number: u32,
    },
}

/// How connections are spread over threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Model {
    /// One thread waits for all connections with epoll.
    Event,
    /// Each connection has a thread of its own that blocks.
    Thread,
    /// A thread is made for each request, and gone after its response; one more watches all
    /// connections with epoll.
    ThreadPerRequest,
    /// One thread watches all connections with epoll, and a pool of threads responds.
    Hybrid,
    /// One connection at a time, and so as many as there are processes. While others wait,
    /// each response ends its connection, and so does a second of silence.
    Prefork,
    /// One thread with epoll that looks only for the end of each request's head
    /// and writes a response made beforehand. No subject, but a ceiling: it
    /// ignores methods, bodies and `Connection`.
    Null,
}

/// What not every model can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feature {
    Files,
    FilesByRing,
    /// WebSocket at `/echo`.
    Echo,
    /// WebSocket at `/chat/ROOM`, where one thread holds all members.
    Chat,
    /// A page of a database's rows.
    Blog,
    /// A path that crashes the process.
    Crash,
    Faults,
    Threads,
}

impl Model {
    /// All models, in the order in which they are recommended.
    pub const ALL: [Model; 6] = [
        Model::Event,
        Model::Thread,
        Model::ThreadPerRequest,
        Model::Hybrid,
        Model::Prefork,
        Model::Null,
    ];

    /// Whether this model can do that.
    #[must_use]
    pub fn supports(self, feature: Feature) -> bool {
        match feature {
            Feature::Files | Feature::Blog | Feature::Crash | Feature::Faults => {
                self != Model::Null
            }
            // A process for each connection would be needed.
            Feature::Echo => !matches!(self, Model::Null | Model::Prefork),
            // Each thread would need a ring, and the rooms.
            Feature::FilesByRing | Feature::Chat => self == Model::Event,
            Feature::Threads => matches!(self, Model::ThreadPerRequest | Model::Hybrid),
        }
    }

    /// The name that `--model` takes.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Model::Event => "event",
            Model::Thread => "thread",
            Model::ThreadPerRequest => "thread-per-request",
            Model::Hybrid => "hybrid",
            Model::Prefork => "prefork",
            Model::Null => "null",
        }
    }
}

impl Feature {
    /// What the feature is called in messages.
    fn name(self) -> &'static str {
        match self {
            Feature::Files => "files",
            Feature::FilesByRing => "files sent by io_uring",
            Feature::Echo => "WebSocket",
            Feature::Chat => "WebSocket chat",
            Feature::Blog => "a blog",
            Feature::Crash => "crashes on request",
            Feature::Faults => "injected faults",
            Feature::Threads => "a number of threads",
        }
    }

    /// The models that have it, as one reads them out.
    fn models(self) -> String {
        let names: Vec<&str> = Model::ALL
            .iter()
            .filter(|model| model.supports(self))
            .map(|model| model.name())
            .collect();
        match names.as_slice() {
            [] => String::new(),
            [only] => (*only).to_owned(),
            [others @ .., last] => format!("{} or {last}", others.join(", ")),
        }
    }
}

/// Whether the server supports WebSocket beside its content.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WebSocketSupport {
    /// Handshakes get the same response as any other request.
    #[default]
    Off,
    /// `/echo` sends each message back.
    ///
    /// Messages may have 16 MiB (else code 1009). Work, delay and stalls hold for each message;
    /// wrong responses for handshakes only, which then get the content.
    Echo,
    /// `/chat/ROOM` also sends each message to all members of the room, its sender included.
    ///
    /// If more than 4 MiB wait for a member when another message comes, it gets a close
    /// with code 1008 and leaves the room. A GET for `/chat/ROOM` gives its number of members.
    EchoAndChat,
}

/// Whether a small segment waits until the one before it is acknowledged (RFC 896).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Nagle {
    /// All is sent at once (`TCP_NODELAY`).
    #[default]
    Off,
    /// It waits: 40 ms on Linux, where a client that has just sent something
    /// delays its acknowledgements, and a response comes in two small segments.
    On,
}

/// What is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// One page for every path and method.
    Page {
        /// Its length in bytes; `None` for the usual page of 87 bytes.
        bytes: Option<u64>,
    },
    /// The files below a directory, for GET, HEAD and POST.
    Files {
        /// The directory. Nothing above it is served, also not through links.
        root: PathBuf,
        /// How the files' bytes come to the socket.
        sending: SendMethod,
    },
}

/// How the bytes of a file come to the socket: the same bytes each way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SendMethod {
    /// By sendfile(2): the kernel moves them.
    #[default]
    Sendfile,
    /// Read into the connection's buffer, 64 KiB or less at a time, and sent from there.
    Read,
    /// The same by io_uring, for many connections at once, so that no disk is
    /// waited for; the event model only.
    Uring,
}

impl SendMethod {
    /// What the kernel sends a file's bytes by, where we do not see them.
    fn by_the_kernel(self) -> Option<&'static str> {
        match self {
            SendMethod::Sendfile => Some("sendfile"),
            SendMethod::Uring => Some("io_uring"),
            SendMethod::Read => None,
        }
    }
}

/// Why the server does not serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("the {} model does not support {}: choose the {} model", .model.name(), .feature.name(), .feature.models())]
    Unsupported { model: Model, feature: Feature },
    #[error("cannot use TLS: {0}")]
    Certificate(#[from] CertificateFault),
    #[error("the kernel does not encrypt files sent with {0}: over TLS, send them with `read`")]
    Unencrypted(&'static str),
    #[error("files cannot be sent by io_uring: {0}; send them by sendfile or read")]
    Ring(#[from] RingError),
    #[error("io_uring failed: {0}; send files by sendfile or read")]
    RingFailed(#[source] io::Error),
    #[error("{name} is {value}: give a number from 0 to 100")]
    Percent {
        /// The name of the setting.
        name: &'static str,
        value: f64,
    },
    #[error("the shares of wrong responses add up to {sum} %: lower them to 100 % together")]
    PercentSum {
        /// The sum, in percent.
        sum: f64,
    },
    #[error(
        "stall of {length:?} every {period:?}: the length must be above zero and below the period"
    )]
    Stall {
        /// How long nothing is done.
        length: std::time::Duration,
        period: std::time::Duration,
    },
    #[error("log {path}: {source}: name a file that can be written to")]
    Log { path: PathBuf, source: io::Error },
    #[error("files cannot be served with {0}: serve a page, or leave it out")]
    FaultOnFiles(&'static str),
    #[error("a blog cannot have cut-off or wrong responses: leave out the blog, or these faults")]
    FaultOnBlog,
    #[error("a blog cannot be served: {0}")]
    Blog(#[from] BlogError),
    #[error("a page of 0 bytes cannot be wrong: give it at least 1 byte, or leave the faults out")]
    EmptyPage,
    #[error("a page of {bytes} bytes is above {max}: serve a file of that size instead")]
    PageTooLarge { bytes: u64, max: u64 },
    #[error(
        "root {root}: {source}: name a directory that can be read (Linux 5.6 or later is needed)"
    )]
    Root { root: PathBuf, source: io::Error },
    #[error("cannot listen on {address}: {source}: choose another one, or end what holds it")]
    Listen {
        /// The address; boxed, since paths make it far larger than what else may go wrong.
        address: Box<ServerAddress>,
        source: io::Error,
    },
    #[error(
        "a chat's members must be in one process: give one worker, or leave the chat out \
         (--websocket=echo)"
    )]
    ChatOfWorkers,
    #[error("cannot supervise workers: {0}")]
    Supervise(#[source] io::Error),
    #[error("a thread cannot be started: {0}: lower --max-threads, or raise `ulimit -u`")]
    Thread(#[source] io::Error),
    #[error("cannot wait for connections: {0}")]
    Wait(#[source] io::Error),
}

/// Why a blog, or one page of it, cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum BlogError {
    #[error("its database: {0}")]
    Database(#[from] rusqlite::Error),
    #[error("its template: {0}")]
    Template(#[from] minijinja::Error),
}

impl ServerConfig {
    /// The usual page, served without faults at a port of the kernel's choice on this machine.
    #[must_use]
    pub fn new(model: Model) -> ServerConfig {
        ServerConfig {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into(),
            certificate: None,
            model,
            content: Content::Page { bytes: None },
            blog_rows: None,
            allows_crash: false,
            websocket: WebSocketSupport::Off,
            nagle: Nagle::Off,
            faults: Faults::default(),
            planted_costs: PlantedCosts::default(),
            seed: 1,
            backlog: BACKLOG,
            shares_port: false,
            max_threads: None,
            role: ProcessRole::Alone,
        }
    }

    /// The seed of this process's faults: each worker has its own.
    pub(crate) fn fault_seed(&self) -> u64 {
        match self.role {
            ProcessRole::Alone => self.seed,
            ProcessRole::Worker { number } => self.seed.wrapping_add(u64::from(number)),
        }
    }

    /// How many threads respond.
    pub(crate) fn threads(&self) -> u32 {
        self.max_threads.unwrap_or(MAX_THREADS).get()
    }

    /// The backlog as the kernel takes it.
    pub(crate) fn backlog(&self) -> i32 {
        i32::try_from(self.backlog).unwrap_or(i32::MAX)
    }

    /// Refuses what contradicts itself; afterwards every part can be relied on.
    pub(crate) fn check(&self) -> Result<(), ServeError> {
        check_faults(&self.faults)?;
        for feature in self.features() {
            if !self.model.supports(feature) {
                let model = self.model;
                return Err(ServeError::Unsupported { model, feature });
            }
        }
        match &self.content {
            _ if self.blog_rows.is_some() && self.faults.of_the_page().is_some() => {
                return Err(ServeError::FaultOnBlog);
            }
            Content::Files { sending, .. } => {
                if let (Some(_), Some(call)) = (&self.certificate, sending.by_the_kernel()) {
                    return Err(ServeError::Unencrypted(call));
                }
                if let Some(name) = self.faults.of_the_page() {
                    return Err(ServeError::FaultOnFiles(name));
                }
            }
            Content::Page { bytes: Some(0) } if self.faults.of_the_page().is_some() => {
                return Err(ServeError::EmptyPage);
            }
            Content::Page { bytes: Some(bytes) } if *bytes > PAGE_BYTES_MAX => {
                return Err(ServeError::PageTooLarge {
                    bytes: *bytes,
                    max: PAGE_BYTES_MAX,
                });
            }
            Content::Page { .. } => {}
        }
        Ok(())
    }

    /// Refuses what several processes cannot do.
    pub(crate) fn check_workers(&self, workers: NonZeroU32) -> Result<(), ServeError> {
        if self.websocket == WebSocketSupport::EchoAndChat && workers.get() > 1 {
            Err(ServeError::ChatOfWorkers)
        } else {
            Ok(())
        }
    }

    /// The features that the model must have beyond pages.
    fn features(&self) -> Vec<Feature> {
        let mut features = Vec::new();
        if let Content::Files { sending, .. } = &self.content {
            features.push(Feature::Files);
            if *sending == SendMethod::Uring {
                features.push(Feature::FilesByRing);
            }
        }
        match self.websocket {
            WebSocketSupport::Off => {}
            WebSocketSupport::Echo => features.push(Feature::Echo),
            // If there is no echo either, the message names that.
            WebSocketSupport::EchoAndChat => features.extend([Feature::Echo, Feature::Chat]),
        }
        if self.blog_rows.is_some() {
            features.push(Feature::Blog);
        }
        if self.allows_crash {
            features.push(Feature::Crash);
        }
        let has_costs = self.planted_costs != PlantedCosts::default();
        if has_costs || self.faults != Faults::default() {
            features.push(Feature::Faults);
        }
        if self.max_threads.is_some() {
            features.push(Feature::Threads);
        }
        features
    }
}

/// Refuses faults that contradict themselves.
fn check_faults(faults: &Faults) -> Result<(), ServeError> {
    let percents = faults.percents();
    for (name, value, _) in percents {
        if !(0.0..=100.0).contains(&value) {
            return Err(ServeError::Percent { name, value });
        }
    }
    let sum: f64 = percents.iter().map(|(_, value, _)| value).sum();
    if sum > 100.0 {
        return Err(ServeError::PercentSum { sum });
    }
    match faults.stall {
        Some(Stall { length, period }) if length.is_zero() || length >= period => {
            Err(ServeError::Stall { length, period })
        }
        _ => Ok(()),
    }
}

/// The largest page: it is kept in memory, twice when bytes are changed.
const PAGE_BYTES_MAX: u64 = 1 << 30;

/// How many connections may wait to be accepted, by default.
pub const BACKLOG: u32 = 4096;

/// How many threads respond, by default.
pub const MAX_THREADS: NonZeroU32 = NonZeroU32::new(20).expect("20 is not zero");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_that_make_no_sense_are_refused() {
        // Method: below zero, above 100, no number, and a sum above 100.
        for value in [-1.0, 100.1, f64::NAN] {
            let faults = Faults {
                wrong_body_percent: value,
                ..Faults::default()
            };
            assert!(matches!(
                check_faults(&faults),
                Err(ServeError::Percent { .. })
            ));
        }
        let faults = Faults {
            fail_percent: 60.0,
            close_early_percent: 50.0,
            ..Faults::default()
        };
        assert!(matches!(
            check_faults(&faults),
            Err(ServeError::PercentSum { .. })
        ));
    }
}
