//! The binary: words in, words out. Everything else is in the other rooms.

mod cli;
mod view;

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
        Command::View(view) => cli::finish(cli::view::view(&view)),
        Command::Completions(shell) => cli::finish(cli::manual::completions(&shell)),
        Command::Manual(manual) => cli::finish(cli::manual::manual(&manual)),
        Command::Keeper => abx_lab::keeper::keep(),
    }
}
