//! The command line: what it accepts, and what each command does.

pub mod ab;
pub mod agent;
pub mod audit;
mod bus;
#[cfg(feature = "nats")]
pub mod bus_init;
pub mod catalog;
pub mod collect;
mod command_line;
pub mod compare;
pub mod completions;
mod curl;
pub mod doctor;
mod expect;
pub mod habits;
pub mod history;
pub mod httperf;
mod install;
mod load;
pub mod manual;
mod otlp;
mod output;
mod replay;
pub mod report;
mod requests;
pub mod run;
mod scenario;
pub mod serve;
mod shape;
mod signals;
pub mod timer;
mod tls;
mod units;
pub mod view;
mod watch;

use std::path::PathBuf;

use clap::Subcommand;

use crate::end::Failure;

/// Decides, with evidence, which of several web servers is faster, at which load, by how much,
/// and whether the difference is real.
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
        abx audit ab.txt\n  \
        abx view\n\n\
        Exit codes: 0 done; 1 an expectation failed; 2 invalid arguments or study file; \
        3 no claim is possible: nothing that was asked for is decided; 130 interrupted."
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
    /// Load one server: the everyday replacement of ab, wrk and oha.
    Run(Box<run::Run>),
    /// List, show, check, install and run the built-in studies.
    Study(catalog::Catalog),
    /// Run the reference server, with a choice of process models and injected faults.
    Serve(Box<serve::Serve>),
    /// Make a part of the load that another machine's `abx run` or `abx compare` offers.
    Agent(agent::Agent),
    /// Put together what agents have counted of a run whose controller is gone.
    Collect(Box<collect::CollectArgs>),
    /// Set up the bus between machines that make load together.
    #[cfg(feature = "nats")]
    Bus(bus_init::BusArgs),
    /// Show what this machine can measure: limits, noise, the generator's ceiling.
    Doctor(doctor::Doctor),
    /// Print the report of a saved record, in any format, without measuring.
    Report(Box<report::Report>),
    /// Audit reports of ab, httperf, wrk and others: what do they show, and what not?
    Audit(audit::AuditArgs),
    /// Load one server with ab's options and report, for scripts that call ab.
    Ab(ab::AbWords),
    /// Load a server by httperf's options, and print its report.
    Httperf(httperf::HttperfArgs),
    /// Run a command and show where its time goes, by the markers that it prints.
    Timer(timer::TimerArgs),
    /// List saved records.
    History(history::HistoryArgs),
    /// View records in a browser.
    View(view::View),
    /// Print shell completions.
    Completions(completions::Completions),
    /// Print or install the manual pages.
    Manual(manual::Manual),
    /// List the words that shells complete: ids of records, names of studies.
    #[command(hide = true)]
    Words(completions::Words),
    /// Supervises one server under test; started by abx itself.
    #[command(hide = true)]
    Keeper,
}

/// The program file of abx, which it starts again for keepers and built-in servers.
pub fn own_program() -> Result<PathBuf, Failure> {
    std::env::current_exe()
        .map_err(|error| Failure::usage(format!("cannot find abx's own program file: {error}")))
}
