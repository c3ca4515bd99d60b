//! The binary: words in, words out. Everything else is in the other rooms.

mod cli;

use std::process::ExitCode;

use clap::Parser;

use cli::{Cli, Command};

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Compare(compare) => cli::finish(cli::compare::compare(&compare)),
        Command::Run(run) => cli::finish(cli::run::run(&run)),
        Command::Study(study) => cli::finish(cli::catalog::catalog(&study)),
        Command::Serve(serve) => cli::finish(cli::serve::serve(&serve)),
        Command::Doctor(doctor) => cli::finish(cli::doctor::doctor(&doctor)),
        Command::Report(report) => cli::finish(cli::report::report(&report)),
        Command::History(history) => cli::finish(cli::history::history(&history)),
        Command::Keeper => abx_lab::keeper::keep(),
    }
}
