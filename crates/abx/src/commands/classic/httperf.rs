//! `abx httperf`: httperf's command line and report. `abx-classic` defines its options and figures;
//! the engine's sessions make the load.

use std::net::SocketAddr;
use std::path::Path;

use abx_classic::httperf::{
    HttperfCommand, HttperfCpu, HttperfFailure, HttperfFigures, HttperfOptions, HttperfPrinter,
    HttperfReply, HttperfRequests, HttperfSessionCalls, HttperfSessionEnd, HttperfSessionRequests,
    HttperfTlsVersion, HttperfUris, notes, usage,
};
use abx_engine::{
    SessionClient, SessionFailure, SessionListener, SessionOptions, SessionPlan, SessionResponse,
    SessionStep, Stopper, TlsIdentity, TlsPlan, TlsTrust, TlsVersion, VisitBurst, VisitCall,
    VisitClient, VisitEnd, VisitPlan, run_sessions, run_visits,
};
use abx_lab::look_up;
use abx_sys::process::{OwnCpu, own_cpu};
use abx_sys::{Nanos, SocketTuning, limits};
use clap::Args;

use super::suites::suites;
use crate::flags::output::to_stdout;
use crate::ui::end::{End, Failure, notify};
use crate::ui::signals::Interruption;

/// Load a server with httperf's options and report.
///
/// Takes the options of httperf 0.9.0, even if abx is called by that name. abx refuses an option
/// that it does not support, and ignores none.
#[derive(Debug, Args)]
#[command(
    disable_help_flag = true,
    after_help = "Examples:\n  \
        abx httperf --server 127.0.0.1 --port 8080 --num-conns 1000\n  \
        abx httperf --hog --server=127.0.0.1 --port=8080 --uri=/x --rate=200 --num-conns=2000 \
        --num-calls=5 --timeout=5\n  \
        abx httperf --server=127.0.0.1 --port=8080 --wsess=100,6,2 --burst-length=3 --rate=10\n  \
        abx httperf --server 127.0.0.1 --port 8080 --print-request --print-reply=header\n\n\
        Exit codes are httperf's: 0 with a report, whatever is in it; 1 without."
)]
pub struct HttperfArgs {
    /// httperf's options; --help lists them.
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "OPTION"
    )]
    words: Vec<String>,
}

/// The most output that waits to be printed, in bytes.
const WAITING_MAX: usize = 64 * 1024;

/// Loads, and prints the result.
pub fn httperf(args: &HttperfArgs) -> Result<End, Failure> {
    let options = match HttperfCommand::parse(&args.words) {
        Err(refusal) => return Ok(refuse(&refusal.to_string())),
        Ok(HttperfCommand::Help) => return printed(&usage()),
        Ok(HttperfCommand::Version) => {
            let version = env!("CARGO_PKG_VERSION");
            return printed(&format!(
                "httperf: abx {version}, compatible with httperf-0.9.0\n"
            ));
        }
        Ok(HttperfCommand::Load(options)) => options,
    };
    let tls = match tls(&options) {
        Ok(tls) => tls,
        Err(why) => return Ok(refuse(&why)),
    };
    let stopper = Stopper::default();
    let interruption = Interruption::by_signals();
    interruption.stops(&stopper);
    print(&format!("{}\n", options.echo()))?;
    let (log, address) = match (log(&options), address(&options)) {
        (Ok(log), Ok(address)) => (log, address),
        (Err(why), _) | (_, Err(why)) => return Ok(refuse(&why)),
    };
    let descriptors =
        limits::raise_descriptor_limit().unwrap_or_else(|_| limits::descriptor_limit());
    if options.verbose {
        let soft = descriptors.soft;
        print(&format!(
            "httperf: maximum number of open descriptors = {soft}\n"
        ))?;
    }
    let mut client = match HttperfClient::new(&options, &log) {
        Ok(client) => client,
        Err(why) => return Ok(refuse(&why)),
    };
    let before = own_cpu();
    let terms = session_options(&options, address, tls);
    let took = match &options.session.load {
        None => run_sessions(session_load(&options, terms), &mut client, &stopper),
        Some(sessions) => {
            let load = visit_load(&options, sessions.count, terms);
            run_visits(load, &mut client, &stopper)
        }
    };
    let took = match took {
        Ok(took) => took,
        Err(error) => return Ok(refuse(&format!("there is no load: {error}"))),
    };
    client.figures.finish(took.0, spent(before, own_cpu()));
    print(&format!(
        "{}{}",
        client.printer.take(),
        client.figures.report()
    ))?;
    if let Some(why) = &client.first_other {
        notify(&format!("abx: the first of the other errors: {why}"));
    }
    for note in notes(&options, &client.figures) {
        notify(&format!("abx: {note}"));
    }
    Ok(End::Done)
}

/// Reports why there is no load, in httperf's way.
fn refuse(why: &str) -> End {
    notify(&format!("httperf: {why}"));
    End::Failed
}

fn print(text: &str) -> Result<(), Failure> {
    to_stdout(text).map_err(Failure::no_claim)
}

fn printed(text: &str) -> Result<End, Failure> {
    print(text).map(|()| End::Done)
}

/// The content of the file of `--wlog` or `--wsesslog`.
fn log(options: &HttperfOptions) -> Result<Vec<u8>, String> {
    let sessions = options.session.load.as_ref();
    let file = match (&options.uris, sessions.map(|sessions| &sessions.calls)) {
        (_, Some(HttperfSessionCalls::Log(file))) | (HttperfUris::Log { file, .. }, _) => file,
        _ => return Ok(Vec::new()),
    };
    abx_lab::read_input(file.as_ref()).map_err(|error| format!("can't open {file}: {error}"))
}

/// The address of the server. IPv4 is preferred, because httperf supports nothing else.
fn address(options: &HttperfOptions) -> Result<SocketAddr, String> {
    let (server, port) = (&options.server, options.port);
    let addresses = look_up(server, port).unwrap_or_default();
    let ipv4 = addresses.iter().find(|address| address.is_ipv4());
    let address = ipv4.or(addresses.first()).copied();
    address.ok_or_else(|| format!("invalid server address {server}"))
}

/// TLS as in httperf, which trusts every certificate unless an option forbids that. abx resumes no
/// session.
fn tls(options: &HttperfOptions) -> Result<Option<TlsPlan>, String> {
    let given = &options.tls;
    let suites = suites(given.suites());
    let suites =
        suites.map_err(|why| format!("abx does not support these --ssl-ciphers: {why}"))?;
    if !options.ssl {
        return Ok(None);
    }
    let files = given.certificate.as_ref().zip(given.key.as_ref());
    let identity = files.map(|(cert, key)| TlsIdentity::read(Path::new(cert), Path::new(key)));
    let trust = match (given.verifies, &given.ca_file) {
        (false, _) => Ok(TlsTrust::Anyone),
        (true, None) => Ok(TlsTrust::System),
        (true, Some(file)) => TlsTrust::read(Path::new(file)),
    };
    let server_name = given.server_name.as_deref().unwrap_or(options.name());
    Ok(Some(TlsPlan {
        server_name: server_name.to_owned(),
        hides_name: false,
        trust: trust.map_err(|error| error.to_string())?,
        version: given.version.map(|version| match version {
            HttperfTlsVersion::Tls12 => TlsVersion::Tls12,
            HttperfTlsVersion::Tls13 => TlsVersion::Tls13,
        }),
        suites,
        resumption: false,
        protocols: Vec::new(),
        identity: identity.transpose().map_err(|error| error.to_string())?,
    }))
}

/// The settings of every connection.
fn session_options(
    options: &HttperfOptions,
    address: SocketAddr,
    tls: Option<TlsPlan>,
) -> SessionOptions {
    let nanos = |seconds: f64| Nanos((seconds * 1e9) as u64);
    let (send, receive) = options.buffers;
    SessionOptions {
        address,
        tls,
        timeout: (options.timeout_s > 0.0).then(|| nanos(options.timeout_s)),
        response_timeout: nanos(options.think_timeout_s),
        tick: Nanos(HttperfFigures::SAMPLE_NS),
        ends_after: options.runtime_s.map(nanos),
        tuning: SocketTuning {
            send_bytes: Some(send as usize),
            receive_bytes: Some(receive as usize),
            closes_with_reset: options.close_with_reset,
        },
    }
}

/// When connections or sessions begin.
fn begins(options: &HttperfOptions) -> Option<Box<dyn Iterator<Item = Nanos>>> {
    let begins = options.pace.begins(options.client.0)?;
    Some(Box::new(begins.map(Nanos)))
}

/// The load of connections that the options describe.
fn session_load(options: &HttperfOptions, terms: SessionOptions) -> SessionPlan {
    SessionPlan {
        terms,
        sessions: options.num_conns,
        begins: begins(options),
        calls: options.num_calls,
        burst: options.burst_length,
        heads_only: options.method.as_deref() == Some("HEAD"),
    }
}

/// The load of httperf's sessions.
fn visit_load(options: &HttperfOptions, visits: u64, terms: SessionOptions) -> VisitPlan {
    let (connections, piped) = options.session.room(options.is_http10);
    VisitPlan {
        terms,
        visits,
        begins: begins(options),
        connections,
        piped,
        // Between the calls of a session httperf keeps no connection of HTTP/1.0.
        keeps: !options.is_http10,
        failure_status: options.session.failure_status,
        retries: options.session.retry_on_failure,
    }
}

/// CPU time between two readings.
fn spent(before: OwnCpu, after: OwnCpu) -> HttperfCpu {
    HttperfCpu {
        user_ns: after.user.since(before.user).0,
        system_ns: after.system.since(before.system).0,
    }
}

/// Sends httperf's requests and counts the responses.
struct HttperfClient {
    requests: HttperfRequests,
    /// The requests of a load of sessions.
    sessions: Option<HttperfSessionRequests>,
    figures: HttperfFigures,
    printer: HttperfPrinter,
    /// Whether samples of rates are printed.
    prints_rates: bool,
    /// Why the first connection failed that is counted among the other failures.
    first_other: Option<String>,
}

impl HttperfClient {
    fn new(options: &HttperfOptions, log: &[u8]) -> Result<HttperfClient, String> {
        let has_sessions = options.session.load.is_some();
        let sessions = has_sessions.then(|| HttperfSessionRequests::new(options, log));
        Ok(HttperfClient {
            requests: HttperfRequests::new(options, log),
            sessions: sessions
                .transpose()
                .map_err(|refusal| refusal.to_string())?,
            figures: if has_sessions {
                HttperfFigures::of_sessions()
            } else {
                HttperfFigures::default()
            },
            printer: HttperfPrinter::new(options),
            prints_rates: options.verbose || options.periodic_stats,
            first_other: None,
        })
    }

    fn fails(&mut self, failure: SessionFailure) {
        self.figures.fails(match failure {
            SessionFailure::Timeout => HttperfFailure::ClientTimeout,
            SessionFailure::KernelTimeout => HttperfFailure::SocketTimeout,
            SessionFailure::Refused => HttperfFailure::ConnectionRefused,
            SessionFailure::Reset => HttperfFailure::ConnectionReset,
            SessionFailure::NoDescriptor => HttperfFailure::DescriptorUnavailable,
            SessionFailure::FileTableFull => HttperfFailure::FileTableFull,
            SessionFailure::NoPort => HttperfFailure::AddressUnavailable,
            SessionFailure::Other(why) => {
                self.first_other.get_or_insert(why);
                HttperfFailure::Other
            }
        });
    }
}

impl SessionClient for HttperfClient {
    fn append_request(&mut self, bytes: &mut Vec<u8>) -> bool {
        self.requests.write(bytes)
    }
}

impl VisitClient for HttperfClient {
    fn visits(&mut self) -> Vec<VisitBurst> {
        let bursts = self.sessions.as_mut().map(HttperfSessionRequests::begin);
        bursts
            .unwrap_or_default()
            .into_iter()
            .map(|burst| VisitBurst {
                calls: burst.calls,
                think: Nanos(burst.think_ns),
            })
            .collect()
    }

    fn write_request(&mut self, call: VisitCall, bytes: &mut Vec<u8>) -> bool {
        let sessions = self.sessions.as_mut();
        sessions.is_some_and(|sessions| sessions.write(call.visit, call.place, call.number, bytes))
    }

    fn ends(&mut self, _: Nanos, end: VisitEnd) {
        self.figures.session_ends(HttperfSessionEnd {
            lasted_ns: end.lasted.0,
            connections: end.connections,
            replies: end.responses,
            is_whole: end.is_whole,
        });
        if let Some(sessions) = &mut self.sessions {
            sessions.ends(end.visit);
        }
    }
}

impl SessionListener for HttperfClient {
    fn on_step(&mut self, at: Nanos, step: SessionStep<'_>) {
        let is_sample = matches!(step, SessionStep::Ticks);
        match step {
            SessionStep::Begins { open, together } => self.figures.begins(at.0, open, together),
            SessionStep::Opened(took) => self.figures.opened(took.0),
            SessionStep::Sent { call, request } => {
                self.figures.sent(request.len() as u64);
                self.printer.sent(call, request);
            }
            SessionStep::Head { call, bytes } => {
                self.printer.head(call, bytes);
                if let Some(sessions) = &mut self.sessions {
                    sessions.head(call, bytes);
                }
            }
            SessionStep::Body { call, bytes } => self.printer.body(call, bytes),
            SessionStep::Responded { call, response } => {
                let reply = reply(&response);
                self.figures.responded(&reply);
                self.printer.responded(call, &reply);
                if let Some(sessions) = &mut self.sessions {
                    sessions.responded(call);
                }
            }
            SessionStep::Fails(failure) => self.fails(failure),
            SessionStep::Ends { lasted, responses } => self.figures.ends(lasted.0, responses),
            SessionStep::Ticks => {
                let sample = self.figures.samples(at.0);
                if self.prints_rates {
                    self.printer.sampled(sample);
                }
            }
        }
        if is_sample || self.printer.waiting() > WAITING_MAX {
            // If standard output is closed, printing the report fails too.
            let _ = to_stdout(&self.printer.take());
        }
    }
}

fn reply(response: &SessionResponse) -> HttperfReply {
    HttperfReply {
        status: response.status,
        header_bytes: response.head_bytes,
        content_bytes: response.body_bytes,
        footer_bytes: response.footer_bytes,
        response_ns: response.first_byte.0,
        transfer_ns: response.rest.0,
        is_cut: response.is_cut,
    }
}
