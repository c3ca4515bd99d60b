//! `abx run`: one server, under one load or several.

use std::path::{Path, PathBuf};
use std::time::Duration;

use abx_engine::LoadGenerator;
use abx_engine::schedule::Arrivals;
use abx_evidence::{Level, RunRecord, Shape};
use abx_lab::{
    Abort, Load, PrepareError, RateSpec, RunEnd, RunEnvironment, RunError, RunPlan, RunProgress,
    Source, Store, Study, Subject, Target, WaitChoice, with_scheme,
};
use abx_report::plural;
use clap::Args;

use super::expect::ExpectFlags;
use super::load::{GeneratorFlags, LoadFlags};
use super::output::{FormatFlags, OutputFlags, Outputs};
use super::scenario::ScenarioWords;
use super::watch::RunWatch;
use super::{command_line, compare, history, output, scenario, signals, units};
use crate::end::{End, Failure, tell};

/// Load one server and report throughput, response times, outcomes and cost.
///
/// With several numbers of connections, rates that are a share of what the server can do, or an
/// objective, it is a study of the server alone: its curve, its knee, its capacity.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    abx run http://127.0.0.1:8080/ -c 50 -d 10s\n  \
    abx run localhost:8080 -c 1,10,100 -d 20s\n  \
    abx run localhost:8080 --slo 'p99<50ms,errors<0.1%'\n  \
    abx run http://127.0.0.1:8080/ -c 100 -n 10000 --no-keepalive\n  \
    abx run http://unix:/run/server.sock:/path -c 10\n  \
    abx run localhost:8080 --scenario login.toml -c 50 -d 10s\n  \
    abx run localhost:8080 --replay access.log --speed 10\n  \
    abx run -c 10 -d 5s curl 'http://127.0.0.1:8080/' -H 'Accept: text/html' --compressed\n  \
    abx run ws://127.0.0.1:8083/echo --message-bytes 5000")]
pub struct Run {
    /// URL of the server: http://HOST:PORT/PATH or https://, and ws:// or wss:// for WebSocket;
    /// without a scheme, http://. On a Unix socket: http://unix:/SOCKET:/PATH. Or, behind all
    /// flags, a command of curl as browsers copy it.
    url: String,
    /// Connect to this Unix socket; the URL's host is only told, and not looked up.
    #[arg(long, value_name = "PATH", conflicts_with = "local_address")]
    unix_socket: Option<PathBuf>,
    /// How long to send requests, in seconds or with a unit; of several loads each [default: 10s;
    /// with --slo 2m].
    #[arg(short, long, visible_short_alias = 'z', value_parser = units::seconds, value_name = "TIME")]
    duration: Option<Duration>,
    /// Stop after this many requests or messages, or sessions of a scenario, instead of after a
    /// time.
    #[arg(short = 'n', long, conflicts_with = "duration", value_parser = units::requests, value_name = "N")]
    requests: Option<u64>,
    /// Have -c users make sessions of several requests in order, as this TOML file says
    /// (docs/scenarios.md).
    #[arg(long, value_name = "FILE", conflicts_with = "bus")]
    scenario: Option<PathBuf>,
    #[command(flatten)]
    load: LoadFlags,
    #[command(flatten)]
    generator: GeneratorFlags,
    #[command(flatten)]
    output: OutputFlags,
    #[command(flatten)]
    formats: FormatFlags,
}

/// What `-d` is when neither it nor `-n` is given.
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

    /// What is asked of a scenario.
    fn scenario<'a>(&'a self, path: &'a Path, target: Target) -> ScenarioWords<'a> {
        ScenarioWords {
            path,
            target,
            sessions: self.requests,
            time: self.duration.unwrap_or(DURATION),
            load: &self.load,
            generator: &self.generator,
            output: &self.output,
            formats: &self.formats,
        }
    }

    /// When it ends.
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

/// What is about to be done.
fn announcement(url: &str, load: &Load, end: RunEnd) -> String {
    let how_long = match end {
        RunEnd::After(span) => format!("for {}", humantime::format_duration(span)),
        RunEnd::AfterRequests(count) => {
            let unit = load.shape.kind().units();
            format!("with {}", plural(count, unit.trim_end_matches('s')))
        }
    };
    let connections = plural(load.connections.into(), "connection");
    match load.shape {
        Shape::Connections { .. } => format!("Holding {connections} to {url} {how_long}"),
        _ => format!("Loading {url} over {connections} {how_long}"),
    }
}

/// What is about to be done under several loads, or to find one.
fn announcement_of_several(url: &str, loads: usize) -> String {
    match loads {
        1 => format!("Finding out what {url} can do, then loading it by that"),
        _ => format!("Loading {url} in {loads} ways, which take turns in each block"),
    }
}

/// Loads, and prints what came of it.
pub fn run(run: &Run) -> Result<End, Failure> {
    let outputs = Outputs::of_run(&run.output, &run.formats)?;
    let target = run.target()?;
    if let Some(file) = &run.scenario {
        return scenario::run(run.scenario(file, target));
    }
    let mut loads = { &run.load }.loads(target.scheme, target.is_encrypted, Some(&target))?;
    let load = match loads.pop() {
        Some(only) if loads.is_empty() && !only.rate.is_unresolved() => only,
        last => {
            loads.extend(last);
            let text = announcement_of_several(&target.url, loads.len());
            let study = curve(run, target, loads)?;
            if !run.output.quiet {
                tell(&text);
            }
            let nothing = ExpectFlags::default();
            let generator = run.generator.fleet.generator(run.output.quiet)?;
            let printing = (&outputs, &run.output);
            return compare::conduct(&study, "run", printing, &nothing, generator);
        }
    };
    let end = run.end(&load)?;
    let generator = run.generator.fleet.generator(run.output.quiet)?;
    if !run.output.quiet {
        target.choice().iter().for_each(|choice| tell(choice));
        tell(&announcement(&target.url, &load, end));
    }
    let plan = RunPlan {
        target,
        load,
        end,
        threads: run.generator.threads.map(usize::from),
        wait: run.generator.wait().unwrap_or(WaitChoice::Auto),
        local_addresses: run.generator.local_address.clone(),
        seed: run.generator.seed(),
        command: command_line::recorded(),
    };
    let seed = plan.seed;
    let record = measure(plan, RunWatch::new(run.output.quiet, end), generator)?;
    keep_and_print(&record, &outputs, &run.output, seed)
}

/// Saves a record, prints its report, and says where it is and how the command ends.
pub fn keep_and_print(
    record: &RunRecord,
    outputs: &Outputs,
    flags: &OutputFlags,
    seed: u64,
) -> Result<End, Failure> {
    let style = output::style(flags);
    let report = abx_report::run_text(record, outputs.extent(), &style);
    let mut store = Store::for_new_record("run", seed);
    let saved = store.save_somewhere(record);
    let printed = outputs.print_run(&report, record);
    let is_kept = saved.is_ok();
    match saved {
        // What was measured is in the report all the same.
        Err(error) => tell(&format!("abx: {error}")),
        Ok(()) => history::note(&store),
    }
    if is_kept && (!flags.quiet || store.moved().is_some()) {
        compare::tell_where(&store);
    }
    printed?;
    Ok(ended(record, flags))
}

/// Loads, while a person looks.
fn measure(
    plan: RunPlan,
    watch: Option<RunWatch>,
    generator: Option<Box<dyn LoadGenerator>>,
) -> Result<RunRecord, Failure> {
    let mut watch = watch;
    let mut see = watch
        .as_mut()
        .map(|watch| move |progress: RunProgress| watch.see(progress));
    let measured = abx_lab::run(
        plan,
        RunEnvironment {
            version: env!("CARGO_PKG_VERSION"),
            on_stopper: &mut |stopper| signals::stop_on_signals(&stopper),
            watch: see.as_mut().map(|see| see as &mut dyn FnMut(RunProgress)),
            generator,
        },
    );
    watch.iter().for_each(RunWatch::finish);
    measured.map_err(failure)
}

/// Blocks of a study of one server: the fewest of which intervals are given.
const BLOCKS: u32 = 6;
/// How long the search for a capacity and its blocks take, about.
const CAPACITY_TIME: Duration = Duration::from_secs(120);

/// The study of one server under several loads, or at rates that are still to be found.
fn curve(run: &Run, target: Target, loads: Vec<Load>) -> Result<Study, Failure> {
    if run.requests.is_some() {
        return Err(Failure::usage(
            "-n counts the requests of one load: for several loads, percentages such as 25% and \
             --slo, say by -d how long each may take",
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
    let subject = Subject {
        name: target.title(),
        source: Source::Address(target),
        stand_in_for: None,
        http2: false,
    };
    let command = command_line::recorded();
    Ok(Study {
        threads: run.generator.threads.map(usize::from),
        wait: run.generator.wait().unwrap_or(WaitChoice::Auto),
        local_addresses: run.generator.local_address.clone(),
        blocks: Some(BLOCKS),
        blocks_within: Some(each.saturating_mul(count)),
        ..Study::of_one(subject, loads, run.generator.seed(), command)
    })
}

/// How a command ends that printed this run; who wanted to see no more than errors is told
/// why there is no claim.
pub fn ended(record: &RunRecord, flags: &OutputFlags) -> End {
    let mut levels = record.findings.iter().map(|finding| finding.level);
    match levels.any(|level| level == Level::Void) {
        _ if record.interrupted => End::Interrupted,
        true => {
            if flags.quiet {
                let why = abx_report::no_claim_line(&record.findings, &[]);
                tell(&format!("abx: {why}"));
            }
            End::NoClaim
        }
        false => End::Done,
    }
}

fn failure(error: RunError) -> Failure {
    match error {
        RunError::Abort(Abort::Interrupted) => Failure::interrupted(),
        RunError::Abort(Abort::Engine(_)) | RunError::Prepare(PrepareError::Engine(_)) => {
            Failure::no_claim(error)
        }
        RunError::Prepare(_) | RunError::Abort(_) => Failure::usage(error),
    }
}
