//! What abx accepts: a command and its flags.

use clap::{CommandFactory, Subcommand};

#[cfg(feature = "audit")]
use crate::commands::audit;
#[cfg(feature = "classic")]
use crate::commands::classic::{ab, httperf};
#[cfg(feature = "nats")]
use crate::commands::fleet::bus;
#[cfg(feature = "fleet")]
use crate::commands::fleet::{agent, collect};
use crate::commands::{
    compare, completions, doctor, history, manual, report, run, serve, study, timer, view,
};

/// Decides, with evidence, which of several web servers is faster, at which load, by how much,
/// and whether the difference is real.
#[derive(Debug, clap::Parser)]
#[command(
    version,
    after_help = examples()
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
        3 no claim is possible: nothing that was asked for is decided; 130 interrupted."
    )
}

/// What abx can do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Compare servers: which is faster, by how much, and is it real?
    Compare(Box<compare::Compare>),
    /// Load one server: the everyday replacement of ab, wrk and oha.
    Run(Box<run::Run>),
    /// List, show, check, install and run the built-in studies.
    Study(study::Catalog),
    /// Run the reference server, with a choice of process models and injected faults.
    Serve(Box<serve::Serve>),
    /// Make a part of the load that another machine's `abx run` or `abx compare` offers.
    #[cfg(feature = "fleet")]
    Agent(agent::Agent),
    /// Put together what agents have counted of a run whose controller is gone.
    #[cfg(feature = "fleet")]
    Collect(Box<collect::CollectArgs>),
    /// Set up the bus between machines that make load together.
    #[cfg(feature = "nats")]
    Bus(bus::BusArgs),
    /// Show what this machine can measure: limits, noise, the generator's ceiling.
    Doctor(doctor::Doctor),
    /// Print the report of a saved record, in any format, without measuring.
    Report(Box<report::Report>),
    /// Audit reports of ab, httperf, wrk and others: what do they show, and what not?
    #[cfg(feature = "audit")]
    Audit(audit::AuditArgs),
    /// Load one server with ab's options and report, for scripts that call ab.
    #[cfg(feature = "classic")]
    Ab(ab::AbWords),
    /// Load a server by httperf's options, and print its report.
    #[cfg(feature = "classic")]
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

/// The command line as people are to see it: what abx starts itself by is left out.
pub fn shown() -> clap::Command {
    let whole = Cli::command();
    let visible = whole
        .get_subcommands()
        .filter(|command| !command.is_hide_set());
    let visible: Vec<clap::Command> = visible.cloned().collect();
    let mut shown = clap::Command::new("abx")
        .version(env!("CARGO_PKG_VERSION"))
        .subcommand_required(true)
        .subcommands(visible);
    if let Some(about) = whole.get_about() {
        shown = shown.about(about.clone());
    }
    if let Some(after) = whole.get_after_help() {
        shown = shown.after_help(after.clone());
    }
    shown
}
