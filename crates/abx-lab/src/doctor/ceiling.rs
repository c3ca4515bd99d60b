//! The throughput of one generator thread against a server that does next to nothing.

use abx_evidence::record::SliceRecord;
use abx_sys::Nanos;
use abx_verdict::doctor::GeneratorCeiling;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::examination::{EndedEarly, Examination, load, null, study};
use crate::measure::planned_load::SubjectPlans;
use crate::measure::running_subjects::{Abort, RunningSubjects};
use crate::run_study::block::start_block::StartedBlock;
use crate::run_study::context::{PrepareError, StudyContext};
use crate::run_study::study_runner::StudyError;

/// Discarded load before the slice: connections warm up, even if `null` does not.
const WARM_UP_NS: u64 = 200_000_000;

/// Measures with and without keep-alive. `ceilings` receives each result, and keeps it after an
/// error.
pub(super) fn measure(
    examination: &mut Examination,
    ceilings: &mut Vec<GeneratorCeiling>,
) -> Result<(), EndedEarly> {
    let subject = null(&examination.program, examination.null_arguments, "null");
    let loads = [true, false].map(load);
    let study = study(examination, vec![subject], loads.into());
    let mut context = StudyContext::prepare(
        &study,
        examination.program.clone(),
        examination.keeper_arguments,
    )
    .map_err(|error: PrepareError| EndedEarly::Refused(error.to_string()))?;
    (examination.on_stopper)(context.generator.stopper());
    let mut random = ChaCha8Rng::seed_from_u64(examination.seed);
    let halted = |abort: Abort| EndedEarly::from(StudyError::Abort(abort));
    let StartedBlock {
        mut running, loads, ..
    } = context.start_block(&mut random).map_err(halted)?;
    let mut ended = Ok(());
    for (load, started) in study.loads.iter().zip(&loads) {
        let settings = load.settings(started.bodies_compared);
        let ns = Nanos::from(examination.ceiling_for).0;
        match slice(&mut running, started, ns) {
            Ok(record) => ceilings.push(GeneratorCeiling::of(&settings, &record)),
            Err(abort) => {
                ended = Err(halted(abort));
                break;
            }
        }
    }
    let _ = running.stop_all(None);
    ended
}

fn slice(
    running: &mut RunningSubjects,
    started: &SubjectPlans,
    ns: u64,
) -> Result<SliceRecord, Abort> {
    let plan = started.plans.first();
    let plan = plan.expect("there is a plan for each subject");
    let pool = running.open(plan)?.pool;
    let warmed_up = running.slice(0, pool, WARM_UP_NS);
    let measured = warmed_up.and_then(|_| running.slice(0, pool, ns));
    running.close(pool);
    Ok(measured?.record)
}
