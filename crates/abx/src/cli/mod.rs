//! The words of the command line, and what becomes of them.

mod against;
pub mod catalog;
pub mod compare;
pub mod doctor;
mod expect;
pub mod history;
mod load;
pub mod manual;
mod named_study;
mod otlp;
mod output;
pub mod report;
pub mod run;
pub mod serve;
mod shape;
mod signals;
mod study;
mod units;
pub mod view;
mod watch;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Subcommand;

/// Decides, with evidence, which of several web servers is faster, at which
/// load, by how much, and whether the difference is real.
#[derive(Debug, clap::Parser)]
#[command(
    version,
    after_help = "Examples:\n  \
        abx compare\n  \
        abx compare 'old=./server --port {port}' 'new=./server --port {port} --fast' --path /x\n  \
        abx compare http://127.0.0.1:8081/ http://127.0.0.1:8082/\n  \
        abx run http://127.0.0.1:8080/ -c 50 -d 10s\n  \
        abx study list\n  \
        abx doctor\n  \
        abx view\n\n\
        Exit codes: 0 done; 1 what was expected is not so; 2 what was asked cannot be done; \
        3 no claim is possible; 130 interrupted."
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

/// What abx can do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Compare servers: which is faster, by how much, and is it real?
    Compare(Box<compare::Compare>),
    /// Load one server once.
    Run(run::Run),
    /// The studies that abx carries: list, show, check and run them.
    Study(catalog::Catalog),
    /// Serve: a reference server in several process models, with faults on purpose.
    Serve(serve::Serve),
    /// What can this machine measure: limits, noise, the generator's ceiling.
    Doctor(doctor::Doctor),
    /// Judge a saved record again and print the same.
    Report(report::Report),
    /// List the records that are kept.
    History(history::History),
    /// Look at records in a browser.
    View(view::View),
    /// Print what a shell needs to complete these words.
    Completions(manual::Completions),
    /// Print or write the manual pages.
    Manual(manual::Manual),
    /// Keeps one server under test; started by abx itself.
    #[command(hide = true)]
    Keeper,
}

/// How a command ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Done.
    Done,
    /// What was expected is not so.
    Failed,
    /// What was asked cannot be done as asked.
    Usage,
    /// No claim is possible.
    NoClaim,
    /// The person stopped it.
    Interrupted,
}

impl End {
    fn code(self) -> u8 {
        match self {
            End::Done => 0,
            End::Failed => 1,
            End::Usage => 2,
            End::NoClaim => 3,
            End::Interrupted => 130,
        }
    }
}

/// A command that failed: its message, and how it ends.
#[derive(Debug)]
pub struct Failure {
    pub end: End,
    pub message: String,
}

impl Failure {
    /// What was asked cannot be done as asked.
    pub fn usage(message: impl ToString) -> Failure {
        Failure {
            end: End::Usage,
            message: message.to_string(),
        }
    }

    /// No claim is possible.
    pub fn no_claim(message: impl ToString) -> Failure {
        Failure {
            end: End::NoClaim,
            message: message.to_string(),
        }
    }
}

/// Says what went wrong, and turns the end into an exit code.
pub fn finish(result: Result<End, Failure>) -> ExitCode {
    let end = match result {
        Ok(end) => end,
        Err(failure) => {
            tell(&format!("abx: {}", failure.message));
            failure.end
        }
    };
    ExitCode::from(end.code())
}

/// Talks to the person: one line on standard error.
pub fn tell(line: &str) {
    // Nobody is left to tell when standard error is closed.
    let _ = writeln!(io::stderr(), "{line}");
}
