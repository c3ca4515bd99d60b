//! A study of one server against itself.

use std::time::Duration;

use abx_engine::Stopper;
use abx_evidence::doctor::Noise;
use abx_evidence::stats::Margin;

use super::{Ended, Examination, load, null, study};
use crate::conduct::{Conducted, Surroundings, conduct};
use crate::study::Study;

/// A slice: a fifth of the usual one, so that enough blocks fit.
const SLICE: Duration = Duration::from_millis(20);
/// What the pilot takes, which the time for blocks does not hold.
const PILOT: Duration = Duration::from_secs(4);
/// So small that no block is precise enough to end the study before its time.
const MARGIN: f64 = 1e-6;

/// Measures, and answers what came of it beside what ended it too early.
pub(super) fn measure(
    examination: &mut Examination,
    stopper: &mut Option<Stopper>,
) -> Result<(Noise, Option<Ended>), Ended> {
    let subjects = ["null", "null-again"]
        .map(|name| null(&examination.program, examination.null_arguments, name));
    let study = Study {
        slice: Some(SLICE),
        budget: Some(examination.noise_for + PILOT),
        margin: Margin::new(MARGIN).expect("it is above 0"),
        ..study(examination, subjects.into(), vec![load(true)])
    };
    let on_stopper = &mut *examination.on_stopper;
    let around = Surroundings {
        program: examination.program.clone(),
        keeper_arguments: examination.keeper_arguments,
        store: examination.store,
        watch: &mut |_| {},
        on_stopper: &mut |handle| {
            *stopper = Some(handle.clone());
            on_stopper(handle);
        },
        version: examination.version,
    };
    let Conducted { record, error } = conduct(&study, around)?;
    Ok((Noise::of(&record), error.map(Ended::from)))
}
