//! `abx run`: one server, under one load or several.

use std::path::PathBuf;
use std::time::Duration;

use abx_engine::LoadGenerator;
use abx_engine::schedule::Arrivals;
use abx_evidence::{Measured, Shape};
use abx_lab::{
    Abort, Load, OrderedTime, PrepareError, RateSpec, RunEnd, RunEnvironment, RunError, RunPlan,
    RunProgress, Scheme, Source, Store, Study, Subject, Target, WaitChoice, with_scheme,
};
use abx_report::plural;
use abx_stats::stop::BLOCKS_ORDERED;
use abx_verdict::StudyRecord;
use abx_verdict::expectation::{KnownNames, expectation_results};
use clap::Args;

use crate::commands::compare;
use crate::flags::expect;
use crate::flags::expect::{ExpectFlags, ThresholdFlags};
use crate::flags::fleet::FleetFlags;
use crate::flags::help;
use crate::flags::load::{GeneratorFlags, LoadFlags};
use crate::flags::output::{FormatFlags, LabelFlag, MeasuredFormatFlags, OutputFlags, Outputs};
use crate::flags::units;
use crate::ui::end::{End, Failure, notify};
use crate::ui::invocation;
use crate::ui::signals::Interruption;
use crate::ui::watch::RunWatch;

/// Load one server and report throughput, response times and cost.
///
/// With several numbers of connections, rates that are a share of what the server can do, or an
/// objective, it is a study of the server alone: its curve, its knee, its capacity.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  \
    abx run http://127.0.0.1:8080/ -c 50 -d 10s\n  \
    abx run localhost:8080 -c 1,10,100 -d 20s\n  \
    abx run localhost:8080 --slo 'p99<50ms,errors<0.1%'\n  \
    abx run localhost:8080 -r 500 --warmup 1s --expect 'p99<50ms,errors<0.1%'\n  \
    abx run http://127.0.0.1:8080/ -c 100 -n 10000 --no-keepalive\n  \
    abx run http://unix:/run/server.sock:/path -c 10\n  \
    abx run localhost:8080 --scenario login.toml -c 50 -d 10s\n  \
    abx run localhost:8080 --replay access.log --speed 10\n  \
    abx run -c 10 -d 5s curl 'http://127.0.0.1:8080/' -H 'Accept: text/html' --compressed\n  \
    abx run ws://127.0.0.1:8083/echo --message-bytes 5000",
    after_help = "Examples:\n  abx run localhost:8080 -c 1,10,100 -d 20s\n\n\
        `abx run --help` has all flags and more examples.",
    mut_args(|argument| help::brief(argument, BRIEF))
)]
pub struct Run {
    /// URL of the server, such as http://HOST:PORT/PATH.
    ///
    /// Or https://, and ws:// or wss:// for WebSocket; without a scheme, http://. On a Unix socket:
    /// http://unix:/SOCKET:/PATH. Or, after all flags, a curl command as browsers copy it.
    url: String,
    /// How long to send requests [default: 10s].
    ///
    /// In seconds, or with a unit such as 2m. With several loads, under each of them. With --slo, how long
    /// the search takes for each number of connections [default: 2m].
    #[arg(short, long, help_heading = "Load", visible_short_alias = 'z', value_parser = units::run_time, value_name = "TIME")]
    duration: Option<Duration>,
    /// Stop after this many requests instead of after a time.
    ///
    /// Messages of WebSocket and sessions of a scenario count too.
    #[arg(short = 'n', long, help_heading = "Load", conflicts_with = "duration", value_parser = units::requests, value_name = "N")]
    requests: Option<u64>,
    /// Send the load for this long before anything counts, in seconds or with a unit.
    #[arg(long, help_heading = "Load", visible_alias = "warm-up", value_parser = units::seconds, value_name = "TIME")]
    warmup: Option<Duration>,
    /// Sample the server after the counted load, and report where its CPU time goes.
    ///
    /// The server must run on this machine.
    #[arg(long, help_heading = "Measurement")]
    why: bool,
    /// Let -c users make sessions of several requests in order, from this TOML file.
    #[arg(long, help_heading = "Load", value_name = "FILE")]
    scenario: Option<PathBuf>,
    #[command(flatten)]
    load: LoadFlags,
    /// Connect through this Unix socket; the URL's host is sent as `Host:` but not resolved.
    #[arg(
        long,
        help_heading = "Connections",
        value_name = "PATH",
        conflicts_with = "local_address"
    )]
    unix_socket: Option<PathBuf>,
    #[command(flatten)]
    generator: GeneratorFlags,
    #[command(flatten, next_help_heading = "Several machines")]
    fleet: FleetFlags,
    #[command(flatten)]
    thresholds: ThresholdFlags,
    #[command(flatten)]
    label: LabelFlag,
    #[command(flatten)]
    output: OutputFlags,
    #[command(flatten)]
    formats: FormatFlags,
    #[command(flatten)]
    measured_formats: MeasuredFormatFlags,
}

/// The flags of `abx run -h`.
const BRIEF: &[&str] = &[
    "duration",
    "requests",
    "connections",
    "rate",
    "slo",
    "headers",
    "no_keepalive",
    "insecure",
    "expect",
    "json",
    "html",
    "full",
    "help",
];

/// The duration when neither `-d` nor `-n` is given.
const DURATION: Duration = Duration::from_secs(10);

impl Run {
    /// The server.
    fn target(&self) -> Result<Target, Failure> {
        let url = with_scheme(&self.url);
        let Some(socket) = &self.unix_socket else {
            return Target::parse(&url).map_err(Failure::usage);
        };
        let socket = std::path::absolute(socket).map_err(Failure::usage)?;
        Target::on_socket(&url, &socket.to_string_lossy()).map_err(Failure::usage)
    }

    /// The loads for the server.
    fn loads(&self, target: &Target) -> Result<Vec<Load>, Failure> {
        let is_encrypted = target.is_encrypted;
        if let Some(file) = &self.scenario {
            if target.scheme != Scheme::Http {
                return Err(Failure::usage(
                    "a scenario sends HTTP requests: give an http:// or https:// URL",
                ));
            }
            return self.load.of_users(file, is_encrypted);
        }
        if !self.output.quiet {
            self.load.hint(is_encrypted).into_iter().for_each(notify);
        }
        self.load.loads(target.scheme, is_encrypted, Some(target))
    }

    /// How long the load is sent before anything counts.
    fn warm_up(&self, load: &Load) -> Result<Duration, Failure> {
        let Some(warm_up) = self.warmup else {
            return Ok(Duration::ZERO);
        };
        let refused = if load.shape.hold_ns().is_some() {
            "idle connections, which send nothing"
        } else if load.log.is_some() {
            "--replay, which plays its log only once: cut off its first lines instead"
        } else if self.load.stages_last().is_some() {
            "stages, which run only once: make the first stage the warm-up"
        } else if self.fleet.is_used() {
            "--bus, whose agents keep the counts of one load: run it once before"
        } else {
            return Ok(warm_up);
        };
        Err(Failure::usage(format!(
            "--warmup does not apply to {refused}"
        )))
    }

    fn end(&self, load: &Load) -> Result<RunEnd, Failure> {
        if let Some(hold_ns) = load.shape.hold_ns() {
            return match (self.duration, self.requests) {
                (None, None) => Ok(RunEnd::After(Duration::from_nanos(hold_ns))),
                _ => Err(Failure::usage(
                    "-d and -n do not apply to idle connections: set how long they are held with \
                     --hold",
                )),
            };
        }
        if let Arrivals::Replay(replay) = &load.pacing.arrivals {
            let lasts = replay.lasts().into();
            return match self.requests {
                None => Ok(RunEnd::After(
                    self.duration.map_or(lasts, |span| span.min(lasts)),
                )),
                Some(_) => Err(Failure::usage(
                    "-n does not apply to --replay, which ends with its log: end it sooner with \
                     -d, or give fewer lines of it",
                )),
            };
        }
        let usual = self.load.stages_last().unwrap_or(DURATION);
        Ok(match self.requests {
            Some(requests) => RunEnd::AfterRequests(requests),
            None => RunEnd::After(self.duration.unwrap_or(usual)),
        })
    }
}

/// The announcement of a run.
fn announcement(url: &str, load: &Load, end: RunEnd, warm_up: Duration) -> String {
    let how_long = match end {
        RunEnd::After(span) => format!("for {}", humantime::format_duration(span)),
        RunEnd::AfterRequests(count) => {
            let unit = load.shape.kind().units();
            format!("with {}", plural(count, unit.trim_end_matches('s')))
        }
    };
    let after = if warm_up.is_zero() {
        String::new()
    } else {
        format!(", after {} of warm-up", humantime::format_duration(warm_up))
    };
    let connections = u64::from(load.connections);
    match load.shape {
        Shape::Connections { .. } => {
            let connections = plural(connections, "connection");
            format!("Holding {connections} to {url} {how_long}")
        }
        Shape::Scenario => {
            let users = plural(connections, "user");
            format!("Loading {url} with sessions of {users} {how_long}{after}")
        }
        _ => {
            let connections = plural(connections, "connection");
            format!("Loading {url} over {connections} {how_long}{after}")
        }
    }
}

/// The announcement of several loads, or of a search for a load, and how long they take.
fn announcement_of_several(study: &Study, url: &str) -> String {
    let loads = u32::try_from(study.loads.len()).unwrap_or(u32::MAX);
    let time = |span: Duration| humantime::format_duration(span);
    match study.ordered_time {
        Some(OrderedTime::EachLoad(each)) if loads > 1 => format!(
            "Loading {url} under {loads} loads, each for {}: {} of load, after a pilot",
            time(each),
            time(each.saturating_mul(loads))
        ),
        Some(OrderedTime::EachLoad(each)) => format!(
            "Finding out how much load {url} can take, then loading it for {}",
            time(each)
        ),
        Some(OrderedTime::Whole(whole)) => format!(
            "Finding out how much load {url} can take, then loading it at rates around that: \
             about {} in total",
            time(whole)
        ),
        None => format!("Loading {url}"),
    }
}

/// Loads, and prints the result.
pub fn run(run: &Run) -> Result<End, Failure> {
    let outputs = Outputs::new(&run.output, &run.formats, run.measured_formats.given())?;
    run.measured_formats.refuse_unsampled(run.why)?;
    let target = run.target()?;
    let expect = ExpectFlags::from(&run.thresholds);
    let mut loads = run.loads(&target)?;
    let interruption = Interruption::by_signals();
    let mut load = match loads.pop() {
        Some(only) if loads.is_empty() && !only.rate.is_unresolved() => only,
        last => {
            loads.extend(last);
            let url = target.url.clone();
            let study = curve(run, target, loads)?;
            if !run.output.quiet {
                notify(&announcement_of_several(&study, &url));
            }
            let generator = run.fleet.generator(run.output.quiet, &interruption)?;
            let printing = (&outputs, &run.output);
            let start = compare::StudyStart {
                generator,
                resumed: None,
                interruption,
            };
            return compare::conduct(&study, "run", printing, &expect, start);
        }
    };
    let (end, warm_up) = (run.end(&load)?, run.warm_up(&load)?);
    // A mistake in the expectations is found before anything is loaded.
    expect.read(&KnownNames {
        subjects: vec![target.url.clone()],
        loads: vec![load.name.clone()],
    })?;
    let generator = run.fleet.generator(run.output.quiet, &interruption)?;
    if !run.output.quiet {
        target.choice().iter().for_each(|choice| notify(choice));
        notify(&announcement(&target.url, &load, end, warm_up));
    }
    for request in &mut load.requests {
        request.path.get_or_insert(target.path.clone());
    }
    let plan = RunPlan {
        study: study(run, target.url.clone(), target, vec![load]),
        end,
        warm_up,
    };
    let watch = RunWatch::new(run.output.quiet, end);
    let measured = measure(plan, watch, generator, &interruption)?;
    keep_and_print(measured, &expect, &outputs, &run.output)
}

/// Saves a run, prints its report and the file's name, and returns how the command ends.
pub fn keep_and_print(
    measured: Measured,
    expect: &ExpectFlags,
    outputs: &Outputs,
    flags: &OutputFlags,
) -> Result<End, Failure> {
    let store = Store::for_new_record("run", measured.seed);
    let record = StudyRecord::judged(measured);
    compare::keep(store, &record, flags, |file| {
        let expectations = expect.read(&expect::known_of_record(&record))?;
        let results = expectation_results(&record, &expectations);
        compare::print(&record, &results, file, (outputs, flags))
    })
}

/// Makes the load, and shows its progress.
fn measure(
    plan: RunPlan,
    mut watch: Option<RunWatch>,
    generator: Option<Box<dyn LoadGenerator>>,
    interruption: &Interruption,
) -> Result<Measured, Failure> {
    let mut see = watch
        .as_mut()
        .map(|watch| move |progress: RunProgress| watch.see(progress));
    let measured = abx_lab::run(
        plan,
        RunEnvironment {
            version: env!("CARGO_PKG_VERSION"),
            on_stopper: &mut |stopper| interruption.stops(&stopper),
            watch: see.as_mut().map(|see| see as &mut dyn FnMut(RunProgress)),
            generator,
        },
    );
    watch.iter().for_each(RunWatch::finish);
    measured.map_err(failure)
}

/// Blocks of a study of one server.
const BLOCKS: u32 = BLOCKS_ORDERED as u32;
/// About how long the search for a capacity takes, including its blocks.
const CAPACITY_TIME: Duration = Duration::from_secs(120);

/// The study of one server under several loads, or at rates that abx has to find.
fn curve(run: &Run, target: Target, loads: Vec<Load>) -> Result<Study, Failure> {
    if run.requests.is_some() {
        return Err(Failure::usage(
            "-n counts the requests of one load: for several loads, percentages such as 25% and \
             --slo, set the time of each with -d",
        ));
    }
    if run.warmup.is_some() {
        return Err(Failure::usage(
            "--warmup is for one load: several loads, percentages such as 25% and --slo take turns \
             in blocks, each of which warms the server up",
        ));
    }
    if run.load.stages_last().is_some() {
        return Err(Failure::usage(
            "stages take longer than a slice lasts: give one number of connections and one message \
             size",
        ));
    }
    if loads.iter().any(|load| load.log.is_some()) {
        return Err(Failure::usage(
            "--replay is one load: give one number of connections, or compare servers by \
             `abx compare`",
        ));
    }
    let is_search = loads
        .iter()
        .any(|load| matches!(load.rate, RateSpec::Objective { .. }));
    let usual = if is_search { CAPACITY_TIME } else { DURATION };
    let each = run.duration.unwrap_or(usual);
    let count = u32::try_from(loads.len()).unwrap_or(u32::MAX);
    Ok(Study {
        blocks: Some(BLOCKS),
        ordered_time: Some(if is_search {
            OrderedTime::Whole(each.saturating_mul(count))
        } else {
            OrderedTime::EachLoad(each)
        }),
        ..study(run, target.title(), target, loads)
    })
}

/// The study of one server of this name, with the settings of the flags.
fn study(run: &Run, name: String, target: Target, loads: Vec<Load>) -> Study {
    let subject = Subject::new(name, Source::Address(target));
    let generator = &run.generator;
    Study {
        threads: generator.threads.map(usize::from),
        wait: generator.wait().unwrap_or(WaitChoice::Auto),
        local_addresses: generator.local_address.clone(),
        why: run.why,
        label: run.label.text(),
        ..Study::of_one(subject, loads, generator.seed(), invocation::recorded())
    }
}

fn failure(error: RunError) -> Failure {
    match error {
        RunError::Abort(Abort::Interrupted) => Failure::interrupted(),
        RunError::Abort(Abort::Engine(ref engine))
        | RunError::Prepare(PrepareError::Engine(ref engine))
            if !engine.is_of_load() =>
        {
            Failure::no_claim(error)
        }
        RunError::Prepare(_) | RunError::Abort(_) => Failure::usage(error),
    }
}
