//! `abx timer`: where the time of a command goes, by its own markers.

use std::io::{self, Write};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use abx_lab::{MarkedCommand, MarkedCommandError};
use abx_verdict::timer::{MarkedRun, TimerRecord, TimerRuns};
use clap::Args;

use crate::flags::output::{self, OutputFlags};
use crate::flags::units;
use crate::ui::end::{End, Failure};
use crate::ui::invocation::own_program;
use crate::ui::signals::Interruption;

/// Run a command and show how long each of its marked steps takes.
///
/// The command prints a line `marker NAME`, on standard output or standard error, when it reaches a
/// point. Its other output goes to standard error. A run ends when the command and its background
/// processes have ended. For the times in a server's Server-Timing header, see `abx run` and
/// `abx compare`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    abx timer -- php page.php\n  \
    abx timer -n 30 -- sh -c 'echo marker connect; sleep 0.1; echo marker \"get row\"'\n  \
    abx timer -n 100 --json times.json -- ./client --markers\n\n\
    Exit codes: 0 done; 2 no such command; 3 it failed, took too long or printed no marker; \
    130 interrupted.")]
#[command(mut_arg("json", |json| output::saves(json, "the times")))]
pub struct TimerArgs {
    /// Run the command this many times, one after the other.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1, value_parser = units::whole_number::<u32>(1..=RUNS_MAX, 30))]
    runs: u32,
    /// Stop a run that takes longer than this, and fail.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = units::duration)]
    timeout: Duration,
    #[command(flatten)]
    output: OutputFlags,
    /// The command and its arguments.
    #[arg(required = true, last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// The times of more runs would take too much memory.
const RUNS_MAX: u64 = 100_000;

/// Runs, and prints the table.
pub fn timer(args: &TimerArgs) -> Result<End, Failure> {
    let interruption = Interruption::by_signals();
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let started_unix_ms = u64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(u64::MAX);
    let runs = measure(args, &interruption)?;
    let is_complete = runs.len() == args.runs as usize;
    if runs.iter().all(|run| run.markers.is_empty()) && is_complete {
        return Err(no_marker(args));
    }
    let record = TimerRecord::of(TimerRuns {
        abx_version: env!("CARGO_PKG_VERSION").to_owned(),
        started_unix_ms,
        command: args.command.clone(),
        asked_runs: args.runs,
        runs,
    });
    let record = record.ok_or_else(Failure::interrupted)?;
    let text = abx_report::timer_text(&record, &output::style(&args.output));
    output::print(&text, &record, &args.output)?;
    Ok(if is_complete {
        End::Done
    } else {
        End::Interrupted
    })
}

/// The runs that ended before abx was stopped.
fn measure(args: &TimerArgs, interruption: &Interruption) -> Result<Vec<MarkedRun>, Failure> {
    let program = own_program()?;
    let directory = std::env::current_dir()
        .map_err(|error| Failure::usage(format!("cannot find the current directory: {error}")))?;
    let command = MarkedCommand {
        words: &args.command,
        directory: &directory,
        within: args.timeout,
        program: &program,
        keeper_arguments: &["keeper"],
    };
    let is_stopped = || interruption.has_come();
    let mut pass_on = |bytes: &[u8]| {
        if !args.output.quiet {
            // If standard error is closed, nothing can read the output.
            let _ = io::stderr().write_all(bytes);
        }
    };
    let mut runs = Vec::new();
    for number in 1..=args.runs {
        match command.run(&is_stopped, &mut pass_on) {
            Ok(run) => runs.push(run),
            Err(MarkedCommandError::Stopped) => break,
            Err(error) => return Err(failed(args, number, &error)),
        }
        if is_stopped() {
            break;
        }
    }
    Ok(runs)
}

fn failed(args: &TimerArgs, number: u32, error: &MarkedCommandError) -> Failure {
    match error {
        MarkedCommandError::NotFound(_) | MarkedCommandError::Start(_) => Failure::usage(error),
        _ => Failure::no_claim(format!(
            "run {number} of {} of `{}`: {error}",
            args.runs,
            args.command.join(" ")
        )),
    }
}

fn no_marker(args: &TimerArgs) -> Failure {
    Failure::no_claim(format!(
        "`{}` printed no marker: make it print a line `marker NAME` at each point that it \
         reaches, on standard output or standard error, such as: echo 'marker connect'",
        args.command.join(" ")
    ))
}
