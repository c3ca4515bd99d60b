//! `abx ab`: the command line, the requests and the report of ApacheBench.

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use abx_classic::ab::{
    AbCommand, AbFigures, AbOptions, AbRefusal, AbRequest, AbRun, AbTlsVersion, banner,
};
use abx_engine::schedule::StageList;
use abx_engine::{
    EngineError, ExpectedResponse, HttpVersion, LineList, LoadPlan, Pacing, PlaceholderKind,
    PlaceholderPart, RequestPlaceholder, RequestPlan, SliceEnd, Stopper, TlsIdentity, TlsPlan,
    TlsTrust, TlsVersion, WeightedRequest,
};
use abx_evidence::{
    ExpectedStatus, Outcome, RequestCount, RequestLog, RequestLogPlan, Shape, SliceTally,
};
use abx_lab::{OncePlan, OnceResult, Target, load_once, read_input, units};
use abx_model::LoadOptions;
use abx_sys::Nanos;
use clap::Args;

use super::suites::suites;
use crate::flags::load::seed_from_clock;
use crate::flags::output::to_stdout;
use crate::ui::end::notify;
use crate::ui::signals::Interruption;

/// Load one server with ab's options and report, for scripts that call ab.
///
/// `abx ab -h` lists the options. A symbolic link named ab to abx is the same command. If ab's
/// report misleads, abx warns on standard error.
#[derive(Debug, Args)]
#[command(
    disable_help_flag = true,
    after_help = "Examples:\n  \
    abx ab -n 1000 -c 10 http://127.0.0.1:8080/\n  \
    abx ab -k -t 10 -c 50 -e percentages.csv http://127.0.0.1:8080/\n\n\
    Exit codes: as ab's: 0 with a report, 22 for a wrong command line, otherwise the error's number."
)]
pub struct AbWords {
    /// Options of ab, then a URL with its path.
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "OPTIONS URL"
    )]
    words: Vec<String>,
}

/// Progress is shown if there are more requests than this.
const UNWATCHED_MAX: u64 = 150;
/// Progress is shown after each tenth of the requests, but not more often than after this many.
const STEP_MIN: u64 = 100;
/// How often the watch checks for progress to show, or for a reason to stop.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Runs as ab would.
pub fn ab(words: &AbWords) -> ExitCode {
    let done = match AbCommand::read(&words.words) {
        Ok(AbCommand::Version) => print(&banner(false)).map(|()| 0),
        Ok(AbCommand::Load(options)) => load(&options),
        Err(refusal) => Err(refusal),
    };
    ExitCode::from(done.unwrap_or_else(|refusal| {
        notify(&refusal.message);
        refusal.exit_code
    }))
}

/// Loads, and prints the result. Returns the exit code.
fn load(options: &AbOptions) -> Result<u8, AbRefusal> {
    let request = options.request(read_body(options)?);
    let step = step(options);
    print(&beginning(options, &request, step.is_some()))?;
    let target = target(options)?;
    let count = Arc::new(RequestCount::default());
    let once = OncePlan {
        plan: plan(options, &request, &target, &count)?,
        target,
        end: SliceEnd::AfterRequests(options.requests),
        threads: options.threads,
        local_addresses: options.local_address.into_iter().collect(),
    };
    let clocks = clocks();
    let loaded = AbWatch::new(options, &count, step).run(once)?;
    let SliceTally {
        tally,
        wall_ns,
        stopped_responding,
        ..
    } = loaded.slice;
    let run = AbRun {
        log: tally.log.map(|log| *log).unwrap_or_default(),
        elapsed: Duration::from_nanos(wall_ns),
        received_bytes: tally.bytes,
        body_bytes: tally.body_bytes,
        request_bytes: request.bytes(),
        clocks,
    };
    print(&heads(options, &run.log))?;
    let mut requests = run.log.requests().iter();
    let has_tls_failure = requests.any(|request| request.outcome == Outcome::TlsFailed);
    if options.proxy.is_some() && has_tls_failure {
        notify(TLS_OF_PROXY);
    }
    if let Some(abort) = abort(options, &run.log, stopped_responding) {
        notify(&abort.message);
        print(&completed_before(&run.log))?;
        return Ok(abort.exit_code);
    }
    report(options, &run, step.is_some())?;
    if stopped_responding {
        let ended = run.log.requests().len();
        notify(&format!(
            "abx: the server stopped responding: {ended} of {} requests were sent",
            options.requests
        ));
    }
    // Like ab after an interrupt.
    Ok(u8::from(loaded.is_interrupted))
}

/// Prints the report, writes its files, and warns if it misleads.
fn report(options: &AbOptions, run: &AbRun, is_watched: bool) -> Result<(), AbRefusal> {
    let figures = AbFigures::of(options, run);
    if is_watched {
        notify(&format!("Finished {} requests", figures.complete()))
    } else {
        print("..done\n")?
    }
    print(&match &options.markup {
        Some(markup) => figures.html(markup),
        None => figures.text(options),
    })?;
    if let Some(file) = &options.csv {
        write(file, "CSV", &figures.csv())?;
    }
    if let Some(file) = &options.gnuplot {
        let table = figures.gnuplot(abx_sys::calendar::local_date);
        write(file, "gnuplot", &table)?;
    }
    for remark in figures.remarks(options) {
        notify(&format!("abx: {remark}"));
    }
    Ok(())
}

/// The text before the report.
fn beginning(options: &AbOptions, request: &AbRequest, is_watched: bool) -> String {
    let mut text = banner(options.markup.is_some());
    if options.markup.is_none() {
        let proxy = options
            .proxy
            .as_ref()
            .map(|(host, port)| format!(" [through {host}:{port}]"))
            .unwrap_or_default();
        let host = &options.url.host;
        let end = if is_watched { "\n" } else { "..." };
        text.push_str(&format!("Benchmarking {host}{proxy} (be patient){end}"));
    }
    if options.verbosity >= 2 {
        let AbRequest { method, .. } = request;
        let head = request.head();
        text.push_str(&format!("INFO: {method} header == \n---\n{head}\n---\n"));
    }
    text
}

/// The heads of responses, if they were requested.
fn heads(options: &AbOptions, log: &RequestLog) -> String {
    let mut text = String::new();
    for head in log.heads().iter().filter(|_| options.verbosity >= 2) {
        let head = String::from_utf8_lossy(head);
        text.push_str(&format!("LOG: header received:\n{head}\n"));
        let status = head.split(' ').nth(1).unwrap_or_default();
        let status = status.get(..3).unwrap_or(status);
        if !status.starts_with('2') {
            text.push_str(&format!("WARNING: Response code not 2xx ({status})\n"));
        } else if options.verbosity >= 3 {
            text.push_str(&format!("LOG: Response code = {status}\n"));
        }
    }
    text
}

/// After how many requests the progress is shown each time; `None` if it is not shown.
fn step(options: &AbOptions) -> Option<u64> {
    let is_shown = options.requests > UNWATCHED_MAX && !options.is_quiet;
    is_shown.then(|| (options.requests / 10).max(STEP_MIN))
}

fn read_body(options: &AbOptions) -> Result<Vec<u8>, AbRefusal> {
    let Some(file) = &options.body_file else {
        return Ok(Vec::new());
    };
    read_input(file.as_ref()).map_err(|error| AbRefusal {
        message: format!(
            "ab: Could not open POST data file ({file}): {}",
            why(&error)
        ),
        exit_code: 1,
    })
}

/// Where connections go: to the server, or to the proxy.
fn target(options: &AbOptions) -> Result<Target, AbRefusal> {
    let url = match &options.proxy {
        Some((host, port)) => format!("http://{host}:{port}/"),
        // The rest of the URL is sent as it is, so it is not parsed.
        None => options.url.origin(),
    };
    Target::parse(&url).map_err(|error| AbRefusal {
        message: format!("\nab: {error}"),
        exit_code: UNRESOLVED,
    })
}

/// The message if TLS with a proxy failed: most proxies do not support it, and wait for a request
/// for a tunnel.
const TLS_OF_PROXY: &str = "abx: with -X and https://, abx uses TLS with the proxy itself, as ab \
                            does, and does not request a tunnel (CONNECT)";

/// The exit code of ab when a host is not found.
const UNRESOLVED: u8 = 50;

fn plan(
    options: &AbOptions,
    request: &AbRequest,
    target: &Target,
    count: &Arc<RequestCount>,
) -> Result<LoadPlan, AbRefusal> {
    let (path, placeholders) = verbatim(&request.target);
    let weighted_request = WeightedRequest {
        request: RequestPlan {
            version: HttpVersion::Http10,
            method: request.method.clone(),
            path,
            host: options.url.authority(),
            headers: request.headers.clone(),
            body: request.body.clone(),
            placeholders,
        },
        // Statuses and lengths are evaluated in the log.
        expect: ExpectedResponse {
            status: ExpectedStatus::any(),
            body: None,
        },
        weight: 1,
    };
    Ok(LoadPlan {
        options: LoadOptions {
            connections: options.concurrency,
            keep_alive: options.keep_alive,
            timeout: options.timeout,
            ..LoadOptions::default()
        }
        .hashing_one_in(1),
        address: target.address,
        tls: tls(options)?,
        buffer_bytes: options.buffer_bytes,
        sources: Vec::new(),
        pipeline: 1,
        requests: vec![weighted_request],
        opening_limit: None,
        open_within_ns: None,
        timeline: None,
        log: Some(RequestLogPlan {
            most: options.requests,
            keeps_heads: options.verbosity >= 2,
            count: Arc::clone(count),
        }),
        seed: seed_from_clock(),
        pacing: pacing(options)?,
        shape: Shape::Request,
        scenario: None,
    })
}

/// A path that is sent byte for byte, as in ab. A path that the grammar of HTTP does not allow
/// becomes the value of a placeholder, which the engine does not check.
fn verbatim(target: &str) -> (String, Vec<RequestPlaceholder>) {
    let is_sendable = units::is_url_path(target) || target.starts_with("http");
    if is_sendable && target.bytes().all(|byte| byte.is_ascii_graphic()) {
        return (target.to_owned(), Vec::new());
    }
    let path = "/target";
    let lines = LineList::new("target", vec![target.to_owned()]).expect("it has one line");
    let placeholder = RequestPlaceholder {
        part: PlaceholderPart::Path,
        start: 0,
        end: path.len(),
        kind: PlaceholderKind::Line(lines),
    };
    (path.to_owned(), vec![placeholder])
}

/// With `-R`, connections begin to send one after the other.
fn pacing(options: &AbOptions) -> Result<Pacing, AbRefusal> {
    let last = options.concurrency - 1;
    let ramp_ms = options.ramp.as_millis() * u128::from(last);
    if ramp_ms == 0 {
        return Ok(Pacing::default());
    }
    let stages = format!("1:{}@{ramp_ms}ms", options.concurrency);
    let stages = stages.parse::<StageList>().map_err(|error| AbRefusal {
        message: format!("abx ab: -R: {error}"),
        exit_code: 22,
    })?;
    Ok(Pacing {
        connections_over_time: Some(stages),
        ..Pacing::default()
    })
}

/// TLS as in ab, which trusts every certificate.
fn tls(options: &AbOptions) -> Result<Option<TlsPlan>, AbRefusal> {
    let suites = suites(options.tls.suites.iter().map(String::as_str));
    let suites = suites.map_err(|why| AbRefusal {
        message: format!("abx ab: -Z: {why}"),
        exit_code: 22,
    })?;
    if !options.url.is_encrypted {
        return Ok(None);
    }
    let identity = options
        .tls
        .identity
        .as_deref()
        .map(|file| TlsIdentity::read(Path::new(file), Path::new(file)));
    let identity = identity.transpose().map_err(|error| AbRefusal {
        message: format!("abx ab: -E: {error}"),
        exit_code: 1,
    })?;
    let host = options.url.host.trim_start_matches('[');
    Ok(Some(TlsPlan {
        server_name: host.trim_end_matches(']').to_owned(),
        hides_name: options.tls.hides_name,
        trust: TlsTrust::Anyone,
        version: options.tls.version.map(|version| match version {
            AbTlsVersion::Tls12 => TlsVersion::Tls12,
            AbTlsVersion::Tls13 => TlsVersion::Tls13,
        }),
        suites,
        resumption: false,
        protocols: Vec::new(),
        identity,
    }))
}

/// The current time of the calendar in µs, and of the monotonic clock in ns.
fn clocks() -> (u64, u64) {
    let calendar = SystemTime::now().duration_since(UNIX_EPOCH);
    let calendar_us = calendar.unwrap_or_default().as_micros();
    (u64::try_from(calendar_us).unwrap_or(0), Nanos::now().0)
}

/// The result of a load.
struct AbOutcome {
    slice: SliceTally,
    is_interrupted: bool,
}

/// Watches a load: shows its progress, and stops it at the time limit, or at the first failure
/// unless it `continues`.
struct AbWatch<'a> {
    count: &'a RequestCount,
    step: Option<u64>,
    /// How long the load may last.
    limit: Option<Duration>,
    continues: bool,
    is_over: AtomicBool,
}

impl<'a> AbWatch<'a> {
    fn new(options: &AbOptions, count: &'a RequestCount, step: Option<u64>) -> AbWatch<'a> {
        AbWatch {
            count,
            step,
            limit: options.time_limit,
            continues: options.continues,
            is_over: AtomicBool::new(false),
        }
    }

    /// Makes the load, which a thread watches.
    fn run(&self, once: OncePlan) -> Result<AbOutcome, AbRefusal> {
        let interruption = Interruption::by_signals();
        let (loaded, has_stopped) = thread::scope(|scope| {
            let mut watcher = None;
            let loaded = load_once(once, &mut |stopper| {
                interruption.stops(&stopper);
                let watch = {
                    let stopper = stopper.clone();
                    move || self.watch(&stopper)
                };
                watcher = Some(thread::Builder::new().spawn_scoped(scope, watch));
                if matches!(watcher, Some(Err(_))) {
                    stopper.stop();
                }
            });
            self.is_over.store(true, Ordering::Release);
            let has_stopped = watcher.transpose().map(|watcher| {
                watcher.is_some_and(|watcher| {
                    watcher.thread().unpark();
                    watcher.join().expect("it only counts and prints")
                })
            });
            (loaded, has_stopped)
        });
        let has_stopped = has_stopped.map_err(|source| AbRefusal {
            message: format!("\nabx ab: {}", EngineError::no_thread(source)),
            exit_code: 1,
        })?;
        let OnceResult { slice, is_stopped } = loaded.map_err(|error| AbRefusal {
            message: format!("\nabx ab: {error}"),
            exit_code: 1,
        })?;
        Ok(AbOutcome {
            slice,
            is_interrupted: is_stopped && !has_stopped,
        })
    }

    /// Watches until the load is over. Returns whether it stopped the load.
    fn watch(&self, stopper: &Stopper) -> bool {
        let deadline = self
            .limit
            .and_then(|limit| Instant::now().checked_add(limit));
        let left = || deadline.map(|moment| moment.saturating_duration_since(Instant::now()));
        let (mut shown, mut has_stopped) = (0, false);
        loop {
            // Read before the progress is shown, so that all requests of the load are shown.
            let is_over = self.is_over.load(Ordering::Acquire);
            shown = self.show(shown);
            if is_over {
                return has_stopped;
            }
            let is_late = left() == Some(Duration::ZERO);
            let has_failed =
                !self.continues && ENDING.iter().any(|outcome| self.count.of(*outcome) > 0);
            if !has_stopped && !stopper.is_stopped() && (is_late || has_failed) {
                stopper.stop();
                has_stopped = true;
            }
            let pause = left().filter(|left| !left.is_zero()).unwrap_or(LOOK_EVERY);
            thread::park_timeout(pause.min(LOOK_EVERY));
        }
    }

    /// Shows how many requests have ended, at each step after `shown`. Returns the number shown.
    fn show(&self, mut shown: u64) -> u64 {
        let Some(step) = self.step else {
            return shown;
        };
        let ended = self.count.all();
        while shown + step <= ended {
            shown += step;
            notify(&format!("Completed {shown} requests"));
        }
        shown
    }
}

/// Failures after which ab gives up, unless its options make it continue.
const ENDING: [Outcome; 9] = [
    Outcome::Refused,
    Outcome::Reset,
    Outcome::StreamReset,
    Outcome::Timeout,
    Outcome::TlsFailed,
    Outcome::Unreachable,
    Outcome::NoPort,
    Outcome::NoDescriptor,
    Outcome::NoMemory,
];

/// Why there is no report, in ab's words; `None` if there is one.
fn abort(options: &AbOptions, log: &RequestLog, stopped_responding: bool) -> Option<AbRefusal> {
    let requests = log.requests().iter();
    let mut outcomes = requests.map(|request| request.outcome);
    let outcome = if options.continues {
        // ab gives up on a server that does not respond, even if it continues after failures.
        outcomes.find(|outcome| stopped_responding && *outcome == Outcome::Timeout)?
    } else {
        outcomes.find(|outcome| ENDING.contains(outcome))?
    };
    let (message, exit_code) = match outcome {
        Outcome::Refused => ("apr_socket_recv: Connection refused (111)", 111),
        Outcome::Timeout => (
            "apr_pollset_poll: The timeout specified has expired (70007)",
            119,
        ),
        Outcome::TlsFailed => ("SSL handshake failed (1).", 1),
        Outcome::Unreachable => ("apr_socket_connect(): No route to host (113)", 113),
        Outcome::NoPort => (
            "apr_socket_connect(): Cannot assign requested address (99)",
            99,
        ),
        Outcome::NoDescriptor => ("apr_socket_create: Too many open files (24)", 24),
        Outcome::NoMemory => ("apr_socket_create: Cannot allocate memory (12)", 12),
        _ => ("apr_socket_recv: Connection reset by peer (104)", 104),
    };
    Some(AbRefusal {
        message: message.to_owned(),
        exit_code,
    })
}

/// The line with the number of requests that had a response before ab gave up.
fn completed_before(log: &RequestLog) -> String {
    let requests = log.requests().iter();
    let completed = requests.filter(|request| request.outcome.is_completed());
    match completed.count() {
        0 => String::new(),
        count => format!("Total of {count} requests completed\n"),
    }
}

fn print(text: &str) -> Result<(), AbRefusal> {
    to_stdout(text).map_err(|error| AbRefusal {
        message: format!("ab: cannot write: {error}"),
        exit_code: 1,
    })
}

fn write(file: &str, what: &str, text: &str) -> Result<(), AbRefusal> {
    fs::write(file, text).map_err(|error| AbRefusal {
        message: format!("Cannot open {what} output file: {}", why(&error)),
        exit_code: 1,
    })
}

/// The system's error message, without its number.
fn why(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}
