//! `abx serve`: the reference server.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use abx_server::{
    BACKLOG, Content, Faults, Frames, Model, Nagle, Sending, ServerConfig, Stall, WebSocket, Work,
};
use clap::{Args, ValueEnum};

use super::units;
use crate::end::{End, Failure, tell};

/// Serve: a reference server in several process models, with faults on purpose.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    abx serve --port 8080\n  \
    abx serve --port 8081 --model thread --work 10us\n  \
    abx serve --port 8082 --root ./public\n  \
    abx serve --port 8082 --root ./public --files uring\n  \
    abx serve --port 8083 --websocket")]
pub struct Serve {
    /// The port; 0 lets the kernel choose.
    #[arg(short, long, default_value_t = 8080)]
    port: u16,
    /// The address to listen on.
    #[arg(long, default_value = "127.0.0.1")]
    address: IpAddr,
    /// How connections are spread over threads.
    #[arg(long, value_enum, default_value_t = ModelName::Event)]
    model: ModelName,
    /// The length of the page in bytes; by default 87.
    #[arg(long, value_name = "N", conflicts_with = "root")]
    page_bytes: Option<u64>,
    /// Serve the files below this folder instead of a page.
    #[arg(long, value_name = "FOLDER")]
    root: Option<PathBuf>,
    /// How the files' bytes come to the socket; by default sendfile.
    #[arg(long, value_enum, requires = "root", value_name = "WAY")]
    files: Option<Way>,
    /// Speak WebSocket at /echo and /chat/ROOM; the event model only.
    ///
    /// A message may have 16 MiB. In a room it goes to all members, its speaker
    /// included; a member for whom more than 4 MiB wait to be sent is closed with
    /// code 1008. GET /chat/ROOM says how many members there are.
    #[arg(long)]
    websocket: bool,
    /// Let small segments wait for acknowledgements, as without `TCP_NODELAY`.
    #[arg(long)]
    no_nodelay: bool,
    /// Processor time spent on each request or WebSocket message.
    ///
    /// A time such as 10us, or turns of a fixed loop such as 4000turns, which are
    /// the same work in every process: a time below 100 us is turned into turns by
    /// a timing of each start's own, which differ by some percent.
    #[arg(long, value_parser = units::work, value_name = "TIME|TURNS")]
    work: Option<Work>,
    /// Time that passes before each answer to a request or message.
    #[arg(long, value_parser = units::duration, value_name = "TIME")]
    delay: Option<Duration>,
    /// Write the head and the payload of an echo's frames apart.
    #[arg(long, requires = "websocket")]
    split_frames: bool,
    /// Do nothing for this long, this often, such as 100ms/1s.
    #[arg(long, value_parser = units::stall, value_name = "TIME/TIME")]
    stall: Option<(Duration, Duration)>,
    /// The percentage of requests that are answered with 503.
    #[arg(long, default_value_t = 0.0, value_name = "PCT")]
    fail: f64,
    /// The percentage of answers that end in the middle.
    #[arg(long, default_value_t = 0.0, value_name = "PCT")]
    close_early: f64,
    /// The percentage of answers that are shorter than they should be.
    #[arg(long, default_value_t = 0.0, value_name = "PCT")]
    wrong_length: f64,
    /// The percentage of answers with a wrong byte.
    #[arg(long, default_value_t = 0.0, value_name = "PCT")]
    wrong_body: f64,
    /// What the faults are drawn from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many connections may wait to be accepted.
    #[arg(long, default_value_t = BACKLOG, value_name = "N")]
    backlog: u32,
}

/// How connections are spread over threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ModelName {
    /// One thread waits for all connections.
    Event,
    /// Each connection has a thread.
    Thread,
    /// A canned answer, as fast as this machine can.
    Null,
}

/// How the bytes of a file come to the socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Way {
    /// The kernel moves them.
    Sendfile,
    /// They are read into a buffer and sent from there.
    Read,
    /// The same by `io_uring`, for many connections at once; the event model only.
    Uring,
}

impl Serve {
    fn config(&self) -> ServerConfig {
        ServerConfig {
            address: SocketAddr::new(self.address, self.port),
            model: match self.model {
                ModelName::Event => Model::Event,
                ModelName::Thread => Model::Thread,
                ModelName::Null => Model::Null,
            },
            content: match &self.root {
                Some(root) => Content::Files {
                    root: root.clone(),
                    sending: match self.files {
                        None | Some(Way::Sendfile) => Sending::Sendfile,
                        Some(Way::Read) => Sending::Read,
                        Some(Way::Uring) => Sending::Uring,
                    },
                },
                None => Content::Page {
                    bytes: self.page_bytes,
                },
            },
            websocket: match self.websocket {
                true => WebSocket::On,
                false => WebSocket::Off,
            },
            nagle: match self.no_nodelay {
                true => Nagle::On,
                false => Nagle::Off,
            },
            faults: Faults {
                work: self.work.unwrap_or_default(),
                delay: self.delay.unwrap_or_default(),
                frames: match self.split_frames {
                    true => Frames::Apart,
                    false => Frames::Whole,
                },
                stall: self.stall.map(|(length, period)| Stall { length, period }),
                fail_percent: self.fail,
                close_early_percent: self.close_early,
                wrong_length_percent: self.wrong_length,
                wrong_body_percent: self.wrong_body,
            },
            seed: self.seed,
            backlog: self.backlog,
        }
    }
}

/// Serves until the process is ended.
pub fn serve(serve: &Serve) -> Result<End, Failure> {
    // Each connection needs a descriptor; without the raise the usual limit serves fewer.
    let _ = abx_sys::limits::raise_descriptor_limit();
    let on_ready = |address: SocketAddr| tell(&format!("abx serves http://{address}/"));
    match abx_server::serve(&serve.config(), on_ready) {
        Ok(never) => match never {},
        Err(error) => Err(Failure::usage(error)),
    }
}
