//! `abx serve`: the reference server.

use std::cell::Cell;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use abx_server::{
    BACKLOG, Content, Faults, Frames, Model, Nagle, PlantedCosts, ProcessRole, SendMethod,
    ServeError, ServerCertificate, ServerConfig, Stall, WebSocketSupport, Work, WorkerEvent,
};
use abx_sys::ServerAddress;
use abx_sys::process::{die_of_crashes, set_name};
use clap::{Args, ValueEnum};

use crate::flags::units;
use crate::ui::end::{End, Failure, notify};

/// Run the reference server, with a choice of process models and injected faults.
#[derive(Debug, Args)]
#[command(
    after_help = "Faults and planted costs: abx serve --help.\n\n\
        Examples:\n  \
        abx serve --port 8081 --model thread --work 10us\n  \
        abx serve --port 8443 --tls-self-signed",
    after_long_help = "Examples:\n  \
        abx serve --port 8080\n  \
        abx serve --listen unix:/run/server.sock\n  \
        abx serve --port 8081 --model thread --work 10us\n  \
        abx serve --port 8081 --model hybrid --max-threads 8\n  \
        abx serve --port 8081 --model thread --workers 2\n  \
        abx serve --port 8081 --model hybrid --workers 2 --blog\n  \
        abx serve --port 8082 --root ./public\n  \
        abx serve --port 8082 --root ./public --files uring\n  \
        abx serve --port 8083 --websocket\n  \
        abx serve --port 8443 --tls-self-signed"
)]
pub struct Serve {
    /// Port to listen on; 0 for any free one.
    #[arg(short, long, default_value_t = 8080, value_parser = units::whole_number::<u16>(0..=65_535, 8080))]
    port: u16,
    /// Address to listen on.
    #[arg(long, default_value = "127.0.0.1", value_parser = units::ip_address)]
    address: IpAddr,
    /// Listen on this instead: unix:/PATH for a Unix socket, or ADDRESS:PORT.
    #[arg(long, value_name = "WHERE", conflicts_with_all = ["port", "address", "share_port"])]
    listen: Option<ServerAddress>,
    /// How connections are handled.
    #[arg(long, value_enum, default_value_t = ModelName::Event)]
    model: ModelName,
    /// Serve with N processes under a supervisor, which restarts a worker that ends.
    ///
    /// A worker that ends within a second restarts after 10 ms. This delay doubles each time, up to
    /// 1 s. SIGHUP replaces all workers without losing a request. SIGTERM and SIGINT end them; they
    /// may finish their responses.
    #[arg(long, value_name = "N", value_parser = units::whole_number::<NonZeroU32>(1.., 4))]
    workers: Option<NonZeroU32>,
    /// This process is the worker of this number (started by the supervisor).
    #[arg(long, hide = true, value_name = "N")]
    worker: Option<u32>,
    /// Most threads (thread-per-request), or all of them (hybrid) [default: 20].
    #[arg(long, value_name = "N", value_parser = units::whole_number::<NonZeroU32>(1.., 20))]
    max_threads: Option<NonZeroU32>,
    /// Size of the page in bytes [default: 87].
    #[arg(
        long, value_name = "N", conflicts_with_all = ["root", "files"],
        value_parser = units::whole_number::<u64>(0.., 87)
    )]
    page_bytes: Option<u64>,
    /// Serve files from this folder instead of one page.
    #[arg(long, value_name = "FOLDER")]
    root: Option<PathBuf>,
    /// Serve a page at /blog/index that is made per request, with an SQLite query and a template.
    #[arg(long)]
    blog: bool,
    /// Rows of the blog's table; without any the page has 421 bytes.
    #[arg(
        long,
        requires = "blog",
        default_value_t = 0,
        value_name = "N",
        value_parser = units::whole_number::<u32>(0.., 1000),
        hide_short_help = true
    )]
    rows: u32,
    /// End the process with SIGSEGV when /crash is requested.
    #[arg(long, hide_short_help = true)]
    allow_crash: bool,
    /// Use TLS 1.2 and 1.3 with this certificate (PEM).
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The private key of --tls-cert (PEM).
    #[arg(
        long,
        value_name = "FILE",
        requires = "tls_cert",
        conflicts_with = "tls_self_signed"
    )]
    tls_key: Option<PathBuf>,
    /// Serve TLS with a self-signed certificate made at start-up; clients need --insecure.
    #[arg(long, conflicts_with = "tls_cert")]
    tls_self_signed: bool,
    /// How files are sent [default: sendfile; over TLS: read, the only way that can be encrypted].
    #[arg(long, value_enum, requires = "root", value_name = "WAY")]
    files: Option<SendingName>,
    /// Accept WebSocket connections at /echo, and at /chat/ROOM (event model only) unless the value
    /// is `echo`.
    ///
    /// Messages may have up to 16 MiB. In a room each goes to all members, including its sender. A
    /// member with more than 4 MiB waiting to be sent is closed with code 1008. GET /chat/ROOM
    /// returns the number of members. The prefork and null models do not support WebSocket.
    #[arg(
        long,
        value_enum,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "all",
        value_name = "WHAT"
    )]
    websocket: Option<WebSocketName>,
    /// Leave Nagle's algorithm on (do not set TCP_NODELAY).
    #[arg(long, hide_short_help = true)]
    no_nodelay: bool,
    /// CPU time to spend on each request or message.
    ///
    /// A time such as 10us, or a number of loop turns such as 4000turns, which is the same work
    /// in every process. Times below 100 us are converted to turns by a calibration at each
    /// start, which varies by a few percent.
    #[arg(long, value_parser = units::work, value_name = "TIME|TURNS")]
    work: Option<Work>,
    /// Delay before each response to a request or message.
    #[arg(long, value_parser = units::duration, value_name = "TIME")]
    delay: Option<Duration>,
    /// Write frame header and payload of an echo separately.
    #[arg(long, requires = "websocket", hide_short_help = true)]
    split_frames: bool,
    /// Stall for this long, this often, such as 100ms/1s.
    #[arg(long, value_parser = units::stall, value_name = "TIME/TIME", help_heading = FAULTS, hide_short_help = true)]
    stall: Option<(Duration, Duration)>,
    /// Percentage of responses with status 503.
    #[arg(long, default_value_t = 0.0, value_parser = units::percentage, value_name = "PCT", help_heading = FAULTS, hide_short_help = true)]
    fail: f64,
    /// Percentage of responses cut off in the middle.
    #[arg(long, default_value_t = 0.0, value_parser = units::percentage, value_name = "PCT", help_heading = FAULTS, hide_short_help = true)]
    close_early: f64,
    /// Percentage of responses that are too short.
    #[arg(long, default_value_t = 0.0, value_parser = units::percentage, value_name = "PCT", help_heading = FAULTS, hide_short_help = true)]
    wrong_length: f64,
    /// Percentage of responses with a wrong byte.
    #[arg(long, default_value_t = 0.0, value_parser = units::percentage, value_name = "PCT", help_heading = FAULTS, hide_short_help = true)]
    wrong_body: f64,
    /// Seed for injected faults.
    #[arg(long, default_value_t = 1, value_parser = units::whole_number::<u64>(0.., 42), help_heading = FAULTS, hide_short_help = true)]
    seed: u64,
    /// Listen backlog: how many connections may wait to be accepted.
    #[arg(long, default_value_t = BACKLOG, value_parser = units::whole_number::<u32>(0.., 4096), value_name = "N", hide_short_help = true)]
    backlog: u32,
    /// Share the port with other servers that are started with this flag (SO_REUSEPORT): the
    /// kernel distributes connections among them.
    #[arg(long, hide_short_help = true)]
    share_port: bool,
    /// Make N more system calls (getppid) per response.
    #[arg(long, default_value_t = 0, value_parser = units::whole_number::<u32>(0.., 10), value_name = "N", help_heading = PLANTED_COSTS, hide_short_help = true)]
    extra_syscalls: u32,
    /// Send each response in N writes.
    #[arg(long, value_parser = units::whole_number::<NonZeroU32>(1.., 2), value_name = "N", help_heading = PLANTED_COSTS, hide_short_help = true)]
    split_writes: Option<NonZeroU32>,
    /// Write to N pages of fresh memory per response.
    #[arg(long, default_value_t = 0, value_parser = units::whole_number::<u32>(0.., 10), value_name = "N", help_heading = PLANTED_COSTS, hide_short_help = true)]
    touch_pages: u32,
    /// Append a line to this file per response.
    #[arg(long, value_name = "FILE", help_heading = PLANTED_COSTS, hide_short_help = true)]
    log: Option<PathBuf>,
    /// Do the work of --work under one lock of all threads.
    #[arg(long, requires = "work", help_heading = PLANTED_COSTS, hide_short_help = true)]
    lock: bool,
}

const FAULTS: &str = "Faults";
const PLANTED_COSTS: &str = "Planted costs";

/// How connections are spread over threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ModelName {
    /// One thread with an event loop for all connections.
    Event,
    /// One thread per connection.
    Thread,
    /// One thread per request, which ends after the response.
    ThreadPerRequest,
    /// One thread watches connections, a pool of threads responds.
    Hybrid,
    /// One connection at a time per process.
    Prefork,
    /// A fixed response, as fast as this machine can send it.
    Null,
}

/// The paths that accept WebSocket connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum WebSocketName {
    /// At /echo and /chat/ROOM.
    All,
    /// At /echo.
    Echo,
}

/// How a file is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SendingName {
    /// sendfile: the kernel copies from file to socket.
    Sendfile,
    /// Read into a buffer, then send.
    Read,
    /// Read and send with io_uring, batched over connections (event model only).
    Uring,
}

impl Serve {
    /// The certificate that clients receive over TLS.
    fn certificate(&self) -> Option<ServerCertificate> {
        match (&self.tls_cert, &self.tls_key) {
            (Some(certificate), Some(key)) => Some(ServerCertificate::Files {
                certificate: certificate.clone(),
                key: key.clone(),
            }),
            _ => self
                .tls_self_signed
                .then_some(ServerCertificate::SelfSigned),
        }
    }

    fn config(&self) -> ServerConfig {
        ServerConfig {
            address: self
                .listen
                .unwrap_or_else(|| SocketAddr::new(self.address, self.port).into()),
            certificate: self.certificate(),
            model: match self.model {
                ModelName::Event => Model::Event,
                ModelName::Thread => Model::Thread,
                ModelName::ThreadPerRequest => Model::ThreadPerRequest,
                ModelName::Hybrid => Model::Hybrid,
                ModelName::Prefork => Model::Prefork,
                ModelName::Null => Model::Null,
            },
            content: match &self.root {
                Some(root) => Content::Files {
                    root: root.clone(),
                    sending: match self.files {
                        None if self.certificate().is_some() => SendMethod::Read,
                        None | Some(SendingName::Sendfile) => SendMethod::Sendfile,
                        Some(SendingName::Read) => SendMethod::Read,
                        Some(SendingName::Uring) => SendMethod::Uring,
                    },
                },
                None => Content::Page {
                    bytes: self.page_bytes,
                },
            },
            blog_rows: self.blog.then_some(self.rows),
            allows_crash: self.allow_crash,
            websocket: match self.websocket {
                None => WebSocketSupport::Off,
                Some(WebSocketName::Echo) => WebSocketSupport::Echo,
                Some(WebSocketName::All) => WebSocketSupport::EchoAndChat,
            },
            nagle: if self.no_nodelay {
                Nagle::On
            } else {
                Nagle::Off
            },
            faults: Faults {
                work: self.work.unwrap_or_default(),
                delay: self.delay.unwrap_or_default(),
                frames: if self.split_frames {
                    Frames::Apart
                } else {
                    Frames::Whole
                },
                stall: self.stall.map(|(length, period)| Stall { length, period }),
                fail_percent: self.fail,
                close_early_percent: self.close_early,
                wrong_length_percent: self.wrong_length,
                wrong_body_percent: self.wrong_body,
            },
            planted_costs: PlantedCosts {
                extra_syscalls: self.extra_syscalls,
                split_writes: self.split_writes,
                touch_pages: self.touch_pages,
                log: self.log.clone(),
                lock: self.lock,
            },
            seed: self.seed,
            backlog: self.backlog,
            shares_port: self.share_port,
            max_threads: self.max_threads,
            role: match self.worker {
                None => ProcessRole::Alone,
                Some(number) => ProcessRole::Worker { number },
            },
        }
    }
}

/// Serves until the process is ended.
pub fn serve(serve: &Serve) -> Result<End, Failure> {
    // Each connection needs a descriptor. If the limit cannot be raised, fewer can be served.
    let _ = abx_sys::limits::raise_descriptor_limit();
    die_of_crashes();
    let config = serve.config();
    let scheme = match config.certificate {
        Some(_) => "https",
        None => "http",
    };
    let on_ready = |address: ServerAddress| {
        let root = match address {
            ServerAddress::Tcp(_) => "/",
            ServerAddress::Unix(_) => ":/",
        };
        notify(&format!("abx serves {scheme}://{address}{root}"));
    };
    let ended = match (serve.worker, serve.workers) {
        (None, Some(workers)) => {
            let _ = set_name(c"abx-supervisor");
            let event = |event: &WorkerEvent| notify(&format!("abx: {event}"));
            abx_server::supervise(&config, workers, worker_command, on_ready, event)
        }
        (Some(_), _) => {
            let _ = set_name(c"abx-worker");
            // The supervisor waits for this byte. If the supervisor is gone, this process ends too.
            let on_ready = |_| drop(io::stdout().write_all(b"\n").and(io::stdout().flush()));
            serve_alone(&config, on_ready)
        }
        (None, None) => serve_alone(&config, on_ready),
    };
    ended.map(|()| End::Done).map_err(Failure::usage)
}

fn serve_alone(
    config: &ServerConfig,
    on_ready: impl FnOnce(ServerAddress),
) -> Result<(), ServeError> {
    let is_reported = Cell::new(false);
    let on_refusal = |error: &io::Error| {
        if !is_reported.replace(true) {
            notify(&refusal(error));
        }
    };
    abx_server::serve(config, on_ready, on_refusal)
}

/// The command that starts this program again, with the same arguments, as a worker.
fn worker_command(number: u32) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.args(std::env::args_os().skip(1));
    command.arg(format!("--worker={number}"));
    command
}

/// The message about a connection that cannot be accepted, with a remedy.
fn refusal(error: &io::Error) -> String {
    format!(
        "abx: a connection cannot be accepted: {error}; others wait until one is closed. Each \
         needs a descriptor, and a thread with `--model thread`: raise `ulimit -n` and `ulimit -u`"
    )
}
