//! `abx httperf`: httperf's command line and report. What its words mean and what its figures
//! are is in `abx-classic`, the load in the engine's sessions.

use std::net::SocketAddr;

use abx_classic::httperf::{
    HttperfCommand, HttperfCpu, HttperfFailure, HttperfFigures, HttperfOptions, HttperfPrinter,
    HttperfReply, HttperfRequests, HttperfUris, notes, usage,
};
use abx_engine::{
    EngineError, SessionAnswer, SessionClient, SessionFailure, SessionLoad, SessionStep, Stopper,
    TlsPlan, TlsTrust, run_sessions,
};
use abx_sys::process::{OwnCpu, own_cpu};
use abx_sys::{Nanos, limits, names};
use clap::Args;

use super::output::to_stdout;
use super::signals;
use crate::end::{End, Failure, tell};

/// Load a server by httperf's options, and print its report.
///
/// Takes the options of httperf 0.9.0 for connections and calls, also when abx is called by that
/// name. One that abx does not do is refused, none is passed over: docs/httperf.md.
#[derive(Debug, Args)]
#[command(
    disable_help_flag = true,
    after_help = "Examples:\n  \
        abx httperf --server 127.0.0.1 --port 8080 --num-conns 1000\n  \
        abx httperf --hog --server=127.0.0.1 --port=8080 --uri=/x --rate=200 --num-conns=2000 \
        --num-calls=5 --timeout=5\n  \
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

/// What waits to be printed is so much at most, in bytes.
const WAITING_MAX: usize = 64 * 1024;

/// Loads, and prints what came of it.
pub fn httperf(args: &HttperfArgs) -> Result<End, Failure> {
    let options = match HttperfCommand::parse(&args.words) {
        Err(refusal) => return Ok(refuse(&refusal.to_string())),
        Ok(HttperfCommand::Help) => return printed(&usage()),
        Ok(HttperfCommand::Version) => {
            let version = env!("CARGO_PKG_VERSION");
            return printed(&format!(
                "httperf: abx {version} in the way of httperf-0.9.0\n"
            ));
        }
        Ok(HttperfCommand::Load(options)) => options,
    };
    let stopper = Stopper::default();
    signals::stop_on_signals(&stopper);
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
    let mut client = HttperfClient::new(&options, &log);
    let before = own_cpu();
    let took = match run_sessions(load(&options, address), &mut client, &stopper) {
        Ok(took) => took,
        Err(error) => return Ok(refuse(&explained(&error))),
    };
    client.figures.finish(took.0, spent(before, own_cpu()));
    print(&format!(
        "{}{}",
        client.printer.take(),
        client.figures.report()
    ))?;
    if let Some(why) = &client.first_other {
        tell(&format!("abx: the first of the other errors: {why}"));
    }
    for note in notes(&options, &client.figures) {
        tell(&format!("abx: {note}"));
    }
    Ok(End::Done)
}

/// Says why there is no load, in httperf's way.
fn refuse(why: &str) -> End {
    tell(&format!("httperf: {why}"));
    End::Failed
}

fn explained(error: &EngineError) -> String {
    format!("there is no load: {error}")
}

fn print(text: &str) -> Result<(), Failure> {
    to_stdout(text).map_err(Failure::no_claim)
}

fn printed(text: &str) -> Result<End, Failure> {
    print(text).map(|()| End::Done)
}

/// What stands in the file of `--wlog`.
fn log(options: &HttperfOptions) -> Result<Vec<u8>, String> {
    match &options.uris {
        HttperfUris::Log { file, .. } => {
            std::fs::read(file).map_err(|error| format!("can't open {file}: {error}"))
        }
        _ => Ok(Vec::new()),
    }
}

/// Where the server is: of several addresses the first of IPv4, as httperf knows no other.
fn address(options: &HttperfOptions) -> Result<SocketAddr, String> {
    let (server, port) = (&options.server, options.port);
    let found = names::look_up(server, port).unwrap_or_default();
    let mut all = found.iter();
    let first = all.find(|one| one.is_ipv4());
    let first = first.or(found.first()).copied();
    first.ok_or_else(|| format!("invalid server address {server}"))
}

/// The load that the options describe.
fn load(options: &HttperfOptions, address: SocketAddr) -> SessionLoad {
    let nanos = |seconds: f64| Nanos((seconds * 1e9) as u64);
    let begins = options.pace.begins(options.client.0);
    SessionLoad {
        address,
        // httperf believes every certificate, and resumes within its sessions only.
        tls: options.ssl.then(|| TlsPlan {
            server_name: options.host().to_owned(),
            hides_name: false,
            trust: TlsTrust::Anyone,
            version: None,
            resumption: false,
            protocols: Vec::new(),
            identity: None,
        }),
        sessions: options.num_conns,
        begins: begins.map(|begins| Box::new(begins.map(Nanos)) as Box<dyn Iterator<Item = Nanos>>),
        calls: options.num_calls,
        burst: options.burst_length,
        heads_only: options.method.as_deref() == Some("HEAD"),
        timeout: (options.timeout_s > 0.0).then(|| nanos(options.timeout_s)),
        answer_timeout: nanos(options.think_timeout_s),
        tick: Nanos(HttperfFigures::SAMPLE_NS),
    }
}

/// Processor time between two readings.
fn spent(before: OwnCpu, after: OwnCpu) -> HttperfCpu {
    HttperfCpu {
        user_ns: after.user.since(before.user).0,
        system_ns: after.system.since(before.system).0,
    }
}

/// Asks httperf's requests and counts what comes.
struct HttperfClient {
    requests: HttperfRequests,
    figures: HttperfFigures,
    printer: HttperfPrinter,
    verbose: bool,
    /// Why the first connection failed of those that failed in no way that has a name.
    first_other: Option<String>,
}

impl HttperfClient {
    fn new(options: &HttperfOptions, log: &[u8]) -> HttperfClient {
        HttperfClient {
            requests: HttperfRequests::new(options, log),
            figures: HttperfFigures::default(),
            printer: HttperfPrinter::new(options),
            verbose: options.verbose,
            first_other: None,
        }
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
    fn ask(&mut self, bytes: &mut Vec<u8>) -> bool {
        self.requests.write(bytes)
    }

    fn hears(&mut self, at: Nanos, step: SessionStep<'_>) {
        let is_sample = matches!(step, SessionStep::Ticks);
        match step {
            SessionStep::Begins { open, together } => self.figures.begins(at.0, open, together),
            SessionStep::Stands(took) => self.figures.stands(took.0),
            SessionStep::Sent { call, request } => {
                self.figures.sent(request.len() as u64);
                self.printer.sent(call, request);
            }
            SessionStep::Head { call, bytes } => self.printer.head(call, bytes),
            SessionStep::Body { call, bytes } => self.printer.body(call, bytes),
            SessionStep::Answered { call, answer } => {
                let reply = reply(&answer);
                self.figures.answered(&reply);
                self.printer.answered(call, &reply);
            }
            SessionStep::Fails(failure) => self.fails(failure),
            SessionStep::Ends { lasted, answers } => self.figures.ends(lasted.0, answers),
            SessionStep::Ticks => {
                let rate = self.figures.samples(at.0);
                if self.verbose {
                    self.printer.sampled(rate);
                }
            }
        }
        if is_sample || self.printer.waiting() > WAITING_MAX {
            // The report behind it will say when nobody can be told any more.
            let _ = to_stdout(&self.printer.take());
        }
    }
}

fn reply(answer: &SessionAnswer) -> HttperfReply {
    HttperfReply {
        status: answer.status,
        header_bytes: answer.head_bytes,
        content_bytes: answer.body_bytes,
        footer_bytes: answer.footer_bytes,
        response_ns: answer.first_byte.0,
        transfer_ns: answer.rest.0,
        is_cut: answer.is_cut,
    }
}
