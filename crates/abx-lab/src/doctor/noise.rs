//! A study of one server against itself.

use std::time::Duration;

use abx_stats::Margin;
use abx_verdict::doctor::Noise;

use super::examination::{EndedEarly, Examination, load, null, study};
use crate::run_study::study_runner::{StudyEnvironment, StudyOutcome, run_study};
use abx_study::Study;

/// A fifth of the usual slice, so that enough blocks fit.
const SLICE: Duration = Duration::from_millis(20);
const SLICE_QUICK: Duration = Duration::from_millis(10);
/// A shorter examination is quick. It has one block per second: the pilot alone could use up so
/// short a budget.
const QUICK: Duration = Duration::from_secs(10);
/// The time of the pilot, which is not part of the time for blocks.
const PILOT: Duration = Duration::from_secs(4);
/// So small that no block is precise enough to end the study before its time.
const MARGIN: f64 = 1e-6;

/// Measures, and returns the result along with the reason if it ended too early.
pub(super) fn measure(
    examination: &mut Examination,
) -> Result<(Noise, Option<EndedEarly>), EndedEarly> {
    let subjects = ["null", "null-again"]
        .map(|name| null(&examination.program, examination.null_arguments, name));
    let seconds = u32::try_from(examination.noise_for.as_secs()).unwrap_or(u32::MAX);
    let (slice, blocks) = if examination.noise_for < QUICK {
        (SLICE_QUICK, Some(seconds.max(1)))
    } else {
        (SLICE, None)
    };
    let study = Study {
        slice: Some(slice),
        blocks,
        budget: Some(examination.noise_for + PILOT),
        margin: Margin::new(MARGIN).expect("it is above 0"),
        ..study(examination, subjects.into(), vec![load(true)])
    };
    let environment = StudyEnvironment {
        program: examination.program.clone(),
        keeper_arguments: examination.keeper_arguments,
        store: examination.store,
        watch: &mut |_| {},
        on_stopper: examination.on_stopper,
        version: examination.version,
        limits: &[],
        until: None,
        generator: None,
        resumed: None,
    };
    let StudyOutcome { record, error } = run_study(&study, environment)?;
    Ok((Noise::of(&record.measured), error.map(EndedEarly::from)))
}
