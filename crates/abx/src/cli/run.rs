//! `abx run`: one server, one load.

use std::time::Duration;

use abx_evidence::{Level, Shape};
use abx_lab::{Load, PrepareError, RunEnd, RunError, Store, Target};
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
    /// URL of the server: http://HOST:PORT/PATH (port 80 by default), or ws:// for WebSocket.
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
    let load = run.load.load(target.scheme)?;
    let end = run.end(load.shape)?;
    if !run.output.quiet {
        tell(&announcement(&run.url, &load, end));
    }
    let plan = abx_lab::RunPlan {
        target,
        request: run.load.request(),
        load,
        end,
        threads: run.generator.threads.map(usize::from),
        backend: run.generator.backend(),
        local_addresses: run.generator.local_address.clone(),
        seed: run.generator.seed(),
    };
    let mut on_stopper = |stopper| signals::stop_on_signals(&stopper);
    let record =
        abx_lab::run(&plan, env!("CARGO_PKG_VERSION"), &mut on_stopper).map_err(failure)?;
    let report = abx_report::run_text(&record, &output::style(&run.output));
    let mut store = Store::for_new_record("run", plan.seed);
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
    let is_void = record
        .findings
        .iter()
        .any(|finding| finding.level == Level::Void);
    Ok(match (record.interrupted, is_void) {
        (true, _) => End::Interrupted,
        (_, true) => End::NoClaim,
        _ => End::Done,
    })
}

fn failure(error: RunError) -> Failure {
    match error {
        RunError::Engine(_) | RunError::Prepare(PrepareError::Engine(_)) => {
            Failure::no_claim(error)
        }
        RunError::Prepare(_) | RunError::Answer(_) => Failure::usage(error),
    }
}
