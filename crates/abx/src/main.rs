//! The binary: words in, words out. Everything else is in the other rooms.

mod cli;
mod end;
mod saved;
mod view;

use std::process::ExitCode;

use cli::{Command, habits};

fn main() -> ExitCode {
    match habits::parse().command {
        Command::Compare(compare) => end::finish(cli::compare::compare(&compare)),
        Command::Run(run) => end::finish(cli::run::run(&run)),
        Command::Study(study) => end::finish(cli::catalog::catalog(&study)),
        Command::Serve(serve) => end::finish(cli::serve::serve(&serve)),
        Command::Agent(agent) => end::finish(cli::agent::agent(&agent)),
        Command::Collect(collect) => end::finish(cli::collect::collect(&collect)),
        #[cfg(feature = "nats")]
        Command::Bus(bus) => end::finish(cli::bus_init::bus(&bus)),
        Command::Doctor(doctor) => end::finish(cli::doctor::doctor(&doctor)),
        Command::Report(report) => end::finish(cli::report::report(&report)),
        Command::History(history) => end::finish(cli::history::history(&history)),
        Command::View(view) => end::finish(cli::view::view(&view)),
        Command::Ab(words) => cli::ab::ab(&words),
        Command::Audit(audit) => end::finish(cli::audit::audit(&audit)),
        Command::Httperf(httperf) => end::finish(cli::httperf::httperf(&httperf)),
        Command::Timer(timer) => end::finish(cli::timer::timer(&timer)),
        Command::Completions(shell) => end::finish(cli::completions::completions(&shell)),
        Command::Manual(manual) => end::finish(cli::manual::manual(&manual)),
        Command::Words(words) => end::finish(cli::completions::words(&words)),
        Command::Keeper => abx_lab::keeper::keep(),
    }
}
