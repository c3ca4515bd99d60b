//! `abx run --scenario`: users who each make sessions of several requests in order.

use std::path::Path;
use std::time::Duration;

use abx_engine::Stopper;
use abx_evidence::scenario::{ScenarioEnd, ScenarioRecord};
use abx_lab::{
    PrepareError, ScenarioError, ScenarioRun, Scheme, Store, Target, WaitChoice, run_scenario,
    scenario_file,
};
use abx_sys::Nanos;

use crate::commands::compare;
use crate::commands::invocation;
use crate::flags::load::{GeneratorFlags, LoadFlags};
use crate::flags::output::{self, FormatFlags, OutputFlags, Outputs};
use crate::ui::end::{End, Failure, tell};
use crate::ui::signals;
use abx_report::{Exported, plural};

/// What the command line says of a scenario.
pub struct ScenarioWords<'a> {
    /// The file that says what a session is.
    pub path: &'a Path,
    pub target: Target,
    /// How many sessions there are; `None` for as many as there is time for.
    pub sessions: Option<u64>,
    pub time: Duration,
    /// Flags of loads, of which few apply.
    pub load: &'a LoadFlags,
    pub generator: &'a GeneratorFlags,
    pub output: &'a OutputFlags,
    /// Formats, of which only HTML applies.
    pub formats: &'a FormatFlags,
}

/// Has users make sessions, and prints what came of it.
pub fn run(words: ScenarioWords) -> Result<End, Failure> {
    if let Some(flag) = words.formats.first_but_html() {
        return Err(Failure::usage(format!(
            "a scenario has a report as text, --html and --json, so {flag} does not apply: leave it out"
        )));
    }
    let outputs = Outputs::new(words.output, words.formats, [])?;
    if words.target.scheme != Scheme::Http {
        return Err(Failure::usage(
            "a scenario is of HTTP requests: give a URL of http:// or https://",
        ));
    }
    let file = scenario_file::read(words.path).map_err(Failure::usage)?;
    let flags = words.load.of_scenario(words.target.is_encrypted)?;
    let end = match words.sessions {
        Some(sessions) => ScenarioEnd::AfterSessions(sessions),
        None => ScenarioEnd::AfterNs(Nanos::from(words.time).0),
    };
    let planned = ScenarioRun {
        tls: flags.tls,
        path: words.path.to_owned(),
        file,
        users: flags.users,
        end,
        timeout: flags.timeout,
        threads: words.generator.threads.map(usize::from),
        wait: words.generator.wait().unwrap_or(WaitChoice::Auto),
        local_addresses: words.generator.local_address.clone(),
        seed: words.generator.seed(),
        command: invocation::recorded(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        target: words.target,
    };
    if !words.output.quiet {
        planned
            .target
            .choice()
            .iter()
            .for_each(|choice| tell(choice));
        tell(&announcement(&planned));
    }
    let stopper = Stopper::default();
    signals::stop_on_signals(&stopper);
    let record = run_scenario(planned, &stopper).map_err(failure)?;
    let store = Store::for_new_record("scenario", record.seed);
    compare::keep(store, &record, words.output, || {
        print(&record, &outputs, words.output)
    })
}

/// Prints a scenario's record, and says how a command ends that did.
pub fn print(
    record: &ScenarioRecord,
    outputs: &Outputs,
    flags: &OutputFlags,
) -> Result<End, Failure> {
    let text = abx_report::scenario_text(record, &output::style(flags));
    outputs.print(&text, Exported::Scenario(record))?;
    Ok(match record.sessions.completed {
        _ if record.interrupted => End::Interrupted,
        0 => {
            tell("abx: no session was completed, so there is nothing to claim");
            End::NoClaim
        }
        _ => End::Done,
    })
}

/// What is about to be done.
fn announcement(run: &ScenarioRun) -> String {
    let how_long = match run.end {
        ScenarioEnd::AfterNs(span) => {
            let span = Duration::from_nanos(span);
            format!("for {}", humantime::format_duration(span))
        }
        ScenarioEnd::AfterSessions(count) => format!("for {}", plural(count, "session")),
    };
    let [users, steps] = [
        plural(run.users.into(), "user"),
        plural(run.file.steps.len() as u64, "step"),
    ];
    let url = &run.target.url;
    format!("Sessions of {steps} by {users} at {url} {how_long}")
}

fn failure(error: ScenarioError) -> Failure {
    match error {
        ScenarioError::Stopped => Failure::interrupted(),
        ScenarioError::Prepare(PrepareError::Engine(_)) => Failure::no_claim(error),
        ScenarioError::Prepare(_) | ScenarioError::Trial { .. } => Failure::usage(error),
    }
}
