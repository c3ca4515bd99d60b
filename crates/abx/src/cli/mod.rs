//! The words of the command line, and what becomes of them.

pub mod catalog;
pub mod compare;
pub mod doctor;
mod expect;
pub mod history;
mod load;
pub mod manual;
mod otlp;
mod output;
pub mod report;
pub mod run;
pub mod serve;
mod shape;
mod signals;
mod units;
pub mod view;
mod watch;

use std::path::PathBuf;

use clap::Subcommand;

use crate::end::Failure;

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

/// The program file of abx, which it starts again for keepers and built-in servers.
pub fn own_program() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|error| {
        Failure::usage(format!(
            "cannot find the program file of abx itself ({error}): is /proc mounted?"
        ))
    })
}
