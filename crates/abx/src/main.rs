//! The `abx` program: it parses the command line and runs the command.

mod command_line;
mod commands;
mod flags;
mod ui;

use std::process::ExitCode;

use command_line::cli::{Command, shown};
#[cfg(feature = "classic")]
use commands::classic::{ab, httperf};
#[cfg(feature = "nats")]
use commands::fleet::bus;
#[cfg(feature = "fleet")]
use commands::fleet::{agent, collect};
use ui::end;

fn main() -> ExitCode {
    // Only this crate is compiled with the flag of the static program.
    #[cfg(all(target_env = "gnu", target_feature = "crt-static"))]
    abx_sys::names::use_own_services();
    match command_line::parse().command {
        Command::Compare(compare) => end::finish(commands::compare::compare(&compare)),
        Command::Bisect(bisect) => end::finish(commands::bisect::bisect(&bisect)),
        Command::Run(run) => end::finish(commands::run::run(&run)),
        Command::Study(study) => end::finish(commands::study::catalog(&study)),
        Command::Serve(serve) => end::finish(commands::serve::serve(&serve)),
        #[cfg(feature = "fleet")]
        Command::Agent(agent) => end::finish(agent::agent(&agent)),
        #[cfg(feature = "fleet")]
        Command::Collect(collect) => end::finish(collect::collect(&collect)),
        #[cfg(feature = "nats")]
        Command::Bus(bus) => end::finish(bus::bus(&bus)),
        Command::Explain(explain) => end::finish(commands::explain::explain(&explain)),
        Command::Doctor(doctor) => end::finish(commands::doctor::doctor(&doctor)),
        Command::Report(report) => end::finish(commands::report::report(&report)),
        Command::History(history) => end::finish(commands::history::history(&history)),
        Command::View(view) => end::finish(commands::view::view(&view)),
        #[cfg(feature = "classic")]
        Command::Ab(words) => ab::ab(&words),
        #[cfg(feature = "audit")]
        Command::Audit(audit) => end::finish(commands::audit::audit(&audit)),
        #[cfg(feature = "classic")]
        Command::Httperf(httperf) => end::finish(httperf::httperf(&httperf)),
        Command::Cache(cache) => end::finish(commands::cache::cache(&cache)),
        Command::Timer(timer) => end::finish(commands::timer::timer(&timer)),
        Command::Completions(shell) => {
            end::finish(commands::completions::completions(&shell, &shown()))
        }
        Command::Manual(manual) => end::finish(commands::manual::manual(&manual, &shown())),
        Command::Words(words) => end::finish(commands::completions::words(&words)),
        Command::Keeper => abx_lab::keeper::keep(),
    }
}
