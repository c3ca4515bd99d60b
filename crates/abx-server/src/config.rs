//! The configuration of the reference server, and the reasons for refusing it.

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
    /// The certificate for TLS; `None` for plain HTTP.
    pub certificate: Option<ServerCertificate>,
    /// How connections are spread over threads.
    pub model: Model,
    pub content: Content,
    /// The number of database rows of the page at `/blog/index`; `None` for no such page.
    pub blog_rows: Option<u32>,
    /// Whether a request for `/crash` ends the process by SIGSEGV.
    pub allows_crash: bool,
    /// Whether `/echo` and `/chat/ROOM` support WebSocket.
    pub websocket: WebSocketSupport,
    /// Whether small segments wait for acknowledgements.
    pub nagle: Nagle,
    /// The faults to inject.
    pub faults: Faults,
    /// The costs to plant in each response.
    pub planted_costs: PlantedCosts,
    /// The seed for random faults.
    pub seed: u64,
    /// How many connections may wait to be accepted; the kernel's limit, `net.core.somaxconn`,
    /// also applies. [`BACKLOG`] by default.
    pub backlog: u32,
    /// Whether several such servers may listen on the same port, each with a share of the
    /// connections.
    pub shares_port: bool,
    /// The number of threads that respond: the largest ([`Model::ThreadPerRequest`]) or the fixed
    /// one ([`Model::Hybrid`]); other models have no such number. `None` for [`MAX_THREADS`].
    pub max_threads: Option<NonZeroU32>,
    /// Whether the process is one of several.
    pub role: ProcessRole,
}

/// Whether a serving process is one of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessRole {
    /// The only process: it listens, and serves until it is killed.
    Alone,
    /// One of several: its standard input is the shared listening socket. At SIGTERM it accepts no
    /// more connections, closes each one after its next response, and ends with the last.
    Worker {
        /// The worker's number, from 1.
        number: u32,
    },
}

/// How connections are spread over threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Model {
    /// One thread waits for all connections with epoll.
    Event,
    /// Each connection has a blocking thread.
    Thread,
    /// A thread starts for each request, and ends after its response; another thread watches all
    /// connections with epoll.
    ThreadPerRequest,
    /// One thread watches all connections with epoll, and a pool of threads responds.
    Hybrid,
    /// One connection at a time per process. While others wait, each response ends its connection,
    /// and so does a second of silence.
    Prefork,
    /// One thread with epoll that only looks for the end of each request's head and writes a
    /// prepared response. Not a subject but a ceiling: it ignores methods, bodies and `Connection`.
    Null,
}

/// A feature that not every model supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feature {
    Files,
    FilesByRing,
    /// WebSocket at `/echo`.
    Echo,
    /// WebSocket at `/chat/ROOM`, where one thread holds all members.
    Chat,
    /// A page of database rows.
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

    /// Whether this model supports a feature.
    #[must_use]
    pub fn supports(self, feature: Feature) -> bool {
        match feature {
            Feature::Files | Feature::Blog | Feature::Crash | Feature::Faults => {
                self != Model::Null
            }
            // A WebSocket would occupy a process.
            Feature::Echo => !matches!(self, Model::Null | Model::Prefork),
            // Other models would need a ring and the rooms in each thread.
            Feature::FilesByRing | Feature::Chat => self == Model::Event,
            Feature::Threads => matches!(self, Model::ThreadPerRequest | Model::Hybrid),
        }
    }

    /// The name for `--model`.
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
    /// The name of the feature in messages.
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

    /// The names of the models that support the feature.
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

/// Whether the server supports WebSocket in addition to its content.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WebSocketSupport {
    /// Handshakes get the same response as any other request.
    #[default]
    Off,
    /// `/echo` sends each message back.
    ///
    /// Messages may have up to 16 MiB (otherwise code 1009). Work, delay and stalls apply to each
    /// message, and wrong responses only to handshakes, which then get the content.
    Echo,
    /// `/chat/ROOM` also sends each message to all members of the room, its sender included.
    ///
    /// If more than 4 MiB wait for a member when another message arrives, the member gets a close
    /// with code 1008 and leaves the room. A GET for `/chat/ROOM` returns the number of members.
    EchoAndChat,
}

/// Whether a small segment waits until the one before it is acknowledged (RFC 896).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Nagle {
    /// Segments are sent at once (`TCP_NODELAY`).
    #[default]
    Off,
    /// Small segments wait: 40 ms on Linux, if a client that has just sent something delays its
    /// acknowledgements and a response consists of two small segments.
    On,
}

/// The content that is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// One page for every path and method.
    Page {
        /// The length in bytes; `None` for the default page of 87 bytes.
        bytes: Option<u64>,
    },
    /// The files below a directory, for GET, HEAD and POST.
    Files {
        /// The directory. Nothing outside it is served, not even through links.
        root: PathBuf,
        /// How the bytes of files get to the socket.
        sending: SendMethod,
    },
}

/// How the bytes of a file get to the socket; the bytes are always the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SendMethod {
    /// By sendfile(2): the kernel moves them.
    #[default]
    Sendfile,
    /// Read into the connection's buffer, 64 KiB or less at a time, and sent from there.
    Read,
    /// Read and sent by io_uring, for many connections at once, so that nothing waits for the disk;
    /// in the event model only.
    Uring,
}

impl SendMethod {
    /// The call by which the kernel sends a file, if the bytes do not pass through this process.
    fn by_the_kernel(self) -> Option<&'static str> {
        match self {
            SendMethod::Sendfile => Some("sendfile"),
            SendMethod::Uring => Some("io_uring"),
            SendMethod::Read => None,
        }
    }
}

/// Why the server cannot serve.
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
        /// The length of a stall.
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
    #[error(
        "a page of 0 bytes cannot have wrong or cut-off responses: give it at least 1 byte, or \
         leave these faults out"
    )]
    EmptyPage,
    #[error("a page of {bytes} bytes is above {max}: serve a file of that size instead")]
    PageTooLarge { bytes: u64, max: u64 },
    #[error("root {root}: {source}: name a folder that can be read (Linux 5.6 or later is needed)")]
    Root { root: PathBuf, source: io::Error },
    #[error(
        "cannot listen on {address}: {source}: choose another address, or stop the program that \
         uses it"
    )]
    Listen {
        /// The address; boxed, because paths make it far larger than the other variants.
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
    /// The default page without faults, at a loopback port that the kernel chooses.
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

    /// The number of threads that respond.
    pub(crate) fn threads(&self) -> u32 {
        self.max_threads.unwrap_or(MAX_THREADS).get()
    }

    /// The backlog for the kernel.
    pub(crate) fn backlog(&self) -> i32 {
        i32::try_from(self.backlog).unwrap_or(i32::MAX)
    }

    /// Refuses a contradictory configuration.
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

    /// Refuses features that several processes cannot provide.
    pub(crate) fn check_workers(&self, workers: NonZeroU32) -> Result<(), ServeError> {
        if self.websocket == WebSocketSupport::EchoAndChat && workers.get() > 1 {
            Err(ServeError::ChatOfWorkers)
        } else {
            Ok(())
        }
    }

    /// The features that the model must support in addition to pages.
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
            // If the model does not support echo either, the message names echo.
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

/// Refuses contradictory faults.
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

/// The largest page, which is kept in memory, twice if wrong bodies are injected.
const PAGE_BYTES_MAX: u64 = 1 << 30;

/// How many connections may wait to be accepted, by default.
pub const BACKLOG: u32 = 4096;

/// The default number of threads that respond.
pub const MAX_THREADS: NonZeroU32 = NonZeroU32::new(20).expect("20 is not zero");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_shares_are_refused() {
        // Method: below 0, above 100, NaN, and a sum above 100.
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
