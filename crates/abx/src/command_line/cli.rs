//! The command line of abx: a command and its flags.

use std::ffi::OsString;

use clap::{CommandFactory, Error, FromArgMatches, Subcommand};

use crate::command_line::groups::grouped;
#[cfg(feature = "audit")]
use crate::commands::audit;
#[cfg(feature = "classic")]
use crate::commands::classic::{ab, httperf};
#[cfg(feature = "nats")]
use crate::commands::fleet::bus;
#[cfg(feature = "fleet")]
use crate::commands::fleet::{agent, collect};
use crate::commands::{
    bisect, cache, compare, completions, doctor, explain, history, manual, report, run, serve,
    study, timer, view,
};

/// Compare web servers, with confidence intervals.
#[derive(Debug, clap::Parser)]
#[command(
    version,
    after_help = "Examples:\n  abx compare http://127.0.0.1:8081/ http://127.0.0.1:8082/",
    after_long_help = examples()
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

fn examples() -> String {
    let audit = if cfg!(feature = "audit") {
        "abx audit ab.txt\n  "
    } else {
        ""
    };
    format!(
        "Examples:\n  \
        abx compare\n  \
        abx compare 'old=./server --port {{port}}' 'new=./server --port {{port}} --fast' --path /x\n  \
        abx compare http://127.0.0.1:8081/ http://127.0.0.1:8082/\n  \
        abx run http://127.0.0.1:8080/ -c 50 -d 10s\n  \
        abx study list\n  \
        abx doctor\n  \
        {audit}abx view\n\n\
        Exit codes: 0 done; 1 an expectation failed; 2 invalid arguments or study file; \
        3 nothing could be decided: no verdict is possible; 130 interrupted."
    )
}

/// What abx can do.
#[derive(Debug, Subcommand)]
pub enum Command {
    Compare(Box<compare::Compare>),
    Bisect(Box<bisect::Bisect>),
    Run(Box<run::Run>),
    Study(study::Catalog),
    Serve(Box<serve::Serve>),
    #[cfg(feature = "fleet")]
    Agent(agent::Agent),
    #[cfg(feature = "fleet")]
    Collect(Box<collect::CollectArgs>),
    #[cfg(feature = "nats")]
    Bus(bus::BusArgs),
    Doctor(doctor::Doctor),
    Explain(explain::Explain),
    Report(Box<report::Report>),
    #[cfg(feature = "audit")]
    Audit(audit::AuditArgs),
    #[cfg(feature = "classic")]
    Ab(ab::AbWords),
    #[cfg(feature = "classic")]
    Httperf(httperf::HttperfArgs),
    Timer(timer::TimerArgs),
    History(history::HistoryArgs),
    View(view::View),
    Cache(cache::CacheArgs),
    Completions(completions::Completions),
    Manual(manual::Manual),
    #[command(hide = true)]
    Words(completions::Words),
    /// Supervises one server under test; started by abx itself.
    #[command(hide = true)]
    Keeper,
}

/// Parses a command line, whose first word is the name of the program.
///
/// # Errors
/// Also for a request for help, as in clap.
pub fn try_parse<T: Into<OsString> + Clone>(
    words: impl IntoIterator<Item = T>,
) -> Result<Cli, Error> {
    parse_by(Cli::command(), words)
}

/// Parses a command line in which later flags replace earlier ones.
///
/// # Errors
/// As [`try_parse`].
pub fn try_parse_again(words: Vec<OsString>) -> Result<Cli, Error> {
    parse_by(Cli::command().args_override_self(true), words)
}

fn parse_by<T: Into<OsString> + Clone>(
    command: clap::Command,
    words: impl IntoIterator<Item = T>,
) -> Result<Cli, Error> {
    let mut command = grouped(command);
    let matches = command.try_get_matches_from_mut(words)?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// The command line without hidden commands, by which abx starts itself.
pub fn shown() -> clap::Command {
    let cli = Cli::command();
    let visible = cli
        .get_subcommands()
        .filter(|command| !command.is_hide_set());
    let mut shown = clap::Command::new("abx")
        .version(env!("CARGO_PKG_VERSION"))
        .subcommand_required(true)
        .subcommands(visible.cloned());
    if let Some(about) = cli.get_about() {
        shown = shown.about(about.clone());
    }
    if let Some(after) = cli.get_after_help() {
        shown = shown.after_help(after.clone());
    }
    if let Some(after) = cli.get_after_long_help() {
        shown = shown.after_long_help(after.clone());
    }
    shown
}
