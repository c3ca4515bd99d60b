//! `abx run`: one server, one load.

use std::time::Duration;

use abx_evidence::{Level, RunRecord, Shape};
use abx_lab::{Abort, Load, PrepareError, RunEnd, RunError, Store, Target};
use clap::Args;

use super::load::{GeneratorFlags, LoadFlags};
use super::output::{FormatFlags, OutputFlags, Outputs};
use super::{compare, history, output, signals, units};
use crate::end::{End, Failure, tell};

/// Load one server and report throughput, response times, outcomes and cost.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    abx run http://127.0.0.1:8080/ -c 50 -d 10s\n  \
    abx run http://127.0.0.1:8080/ -c 100 -n 10000 --no-keepalive\n  \
    abx run ws://127.0.0.1:8083/echo --message-bytes 5000")]
pub struct Run {
    /// URL of the server: http://HOST:PORT/PATH or https://, and ws:// or wss:// for WebSocket.
    url: String,
    /// How long to send requests [default: 10s].
    #[arg(short, long, value_parser = units::duration)]
    duration: Option<Duration>,
    /// Stop after this many requests or messages, instead of after a time.
    #[arg(
        short = 'n', long, conflicts_with = "duration",
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    requests: Option<u64>,
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
    /// When it ends.
    fn end(&self, shape: Shape) -> Result<RunEnd, Failure> {
        if let Some(hold_ns) = shape.hold_ns() {
            return match (self.duration, self.requests) {
                (None, None) => Ok(RunEnd::After(Duration::from_nanos(hold_ns))),
                _ => Err(Failure::usage(
                    "-d and -n do not apply to idle connections: set how long they are held with \
                     --hold",
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
        RunEnd::AfterRequests(count) => format!("with {count} {}", load.shape.kind().units()),
    };
    let connections = load.connections;
    match load.shape {
        Shape::Connections { .. } => {
            format!("Holding {connections} connections to {url} {how_long}")
        }
        _ => format!("Loading {url} over {connections} connections {how_long}"),
    }
}

/// Loads, and prints what came of it.
pub fn run(run: &Run) -> Result<End, Failure> {
    let outputs = Outputs::of_run(&run.output, &run.formats)?;
    let target = Target::parse(&run.url).map_err(Failure::usage)?;
    let load = run.load.load(target.scheme, target.is_encrypted)?;
    let end = run.end(load.shape)?;
    if !run.output.quiet {
        target.choice().iter().for_each(|choice| tell(choice));
        tell(&announcement(&run.url, &load, end));
    }
    let plan = abx_lab::RunPlan {
        target,
        load,
        end,
        threads: run.generator.threads.map(usize::from),
        wait: run.generator.wait().unwrap_or(abx_lab::WaitChoice::Auto),
        local_addresses: run.generator.local_address.clone(),
        seed: run.generator.seed(),
        command: std::env::args().collect(),
    };
    let seed = plan.seed;
    let mut on_stopper = |stopper| signals::stop_on_signals(&stopper);
    let record = match abx_lab::run(plan, env!("CARGO_PKG_VERSION"), &mut on_stopper) {
        Ok(record) => record,
        Err(error) => return Err(failure(error)),
    };
    let style = output::style(&run.output);
    let report = abx_report::run_text(&record, outputs.extent(), &style);
    let mut store = Store::for_new_record("run", seed);
    let saved = store.save_somewhere(&record);
    let printed = outputs.print_run(&report, &record);
    let is_kept = saved.is_ok();
    match saved {
        // What was measured is in the report all the same.
        Err(error) => tell(&format!("abx: {error}")),
        Ok(()) => history::note(&store),
    }
    if is_kept && (!run.output.quiet || store.moved().is_some()) {
        compare::tell_where(&store);
    }
    printed?;
    Ok(end_of(&record))
}

/// How a command ends that printed this run.
pub fn end_of(record: &RunRecord) -> End {
    let mut levels = record.findings.iter().map(|finding| finding.level);
    match levels.any(|level| level == Level::Void) {
        _ if record.interrupted => End::Interrupted,
        true => End::NoClaim,
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
