//! `abx doctor`: how well this machine can measure.

use std::time::Duration;

use abx_lab::Store;
use abx_lab::doctor::{DoctorStep, Examination};
use clap::Args;

use crate::commands::history;
use crate::flags::load::seed_from_clock;
use crate::flags::output;
use crate::flags::output::OutputFlags;
use crate::flags::units;
use crate::ui::end::{End, Failure, notify};
use crate::ui::invocation::{self, own_program};
use crate::ui::signals;

/// Show how small a difference this machine can measure, and its limits.
///
/// Compares the built-in server with itself, loads it as hard as one generator thread can, and
/// reads the limits and settings of the machine. Needs no other software, and changes nothing.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    abx doctor\n  \
    abx doctor --quick\n  \
    abx doctor --noise-for 60s --json doctor.json\n\n\
    The exit code is 0 whatever it finds; 130 when interrupted.")]
#[command(mut_arg("json", |json| output::saves(json, "the results")))]
pub struct Doctor {
    /// How long to compare the built-in server with itself, after a pilot of a few seconds; at
    /// most 10m [default: 20s].
    #[arg(long, value_parser = noise_for, value_name = "TIME")]
    noise_for: Option<Duration>,
    /// A rough look: 5s of noise, and shorter ceiling runs.
    #[arg(long)]
    quick: bool,
    /// Seed for all randomness [default: from the clock].
    #[arg(long, value_parser = units::whole_number::<u64>(0.., 42))]
    seed: Option<u64>,
    #[command(flatten)]
    output: OutputFlags,
}

/// How long noise and each ceiling are measured by default.
const USUAL: [Duration; 2] = [Duration::from_secs(20), Duration::from_secs(2)];
const QUICK: [Duration; 2] = [Duration::from_secs(5), Duration::from_millis(500)];
/// A longer measurement is a study, which `abx compare --aa` runs.
const NOISE_MOST: Duration = Duration::from_secs(600);

fn noise_for(text: &str) -> Result<Duration, String> {
    let span = units::duration(text)?;
    if span <= NOISE_MOST {
        Ok(span)
    } else {
        Err(format!(
            "`{text}` is longer than 10m: for more, compare a server with itself using `abx \
             compare --aa`"
        ))
    }
}

/// Examines the machine, and prints the result.
pub fn doctor(doctor: &Doctor) -> Result<End, Failure> {
    let flags = &doctor.output;
    let [usual, ceiling_for] = if doctor.quick { QUICK } else { USUAL };
    let noise_for = doctor.noise_for.unwrap_or(usual);
    let seed = doctor.seed.unwrap_or_else(seed_from_clock);
    let mut store = Store::for_new_record("doctor-noise", seed);
    let interruption = signals::Interruption::by_signals();
    let record = abx_lab::doctor::doctor(Examination {
        program: own_program()?,
        keeper_arguments: &["keeper"],
        null_arguments: &["serve", "--port", "{port}", "--model", "null"],
        noise_for,
        ceiling_for,
        seed,
        version: env!("CARGO_PKG_VERSION"),
        command: invocation::recorded(),
        store: &mut store,
        watch: &mut |step| {
            if !flags.quiet {
                notify(&begins(step, noise_for));
            }
        },
        on_stopper: &mut |stopper| interruption.stops(&stopper),
    });
    let report = abx_report::doctor_text(&record, &output::style(flags));
    output::print(&report, &record, flags)?;
    let has_blocks = record.noise.as_ref().is_some_and(|noise| noise.blocks > 0);
    if has_blocks && !flags.quiet {
        let name = history::name_of(&store);
        notify(&format!(
            "The blocks that show the noise: abx report {name}"
        ));
    }
    Ok(if record.interrupted {
        End::Interrupted
    } else {
        End::Done
    })
}

/// The message of a step that takes a while.
fn begins(step: DoctorStep, noise_for: Duration) -> String {
    match step {
        DoctorStep::Noise => format!(
            "Comparing the built-in server with itself for {}, after a pilot of a few seconds",
            humantime::format_duration(noise_for)
        ),
        DoctorStep::Ceiling => "Loading it as hard as one generator thread can".to_owned(),
    }
}
