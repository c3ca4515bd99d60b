//! What one generator thread reaches against a server that does next to nothing.

use abx_evidence::doctor::Ceiling;
use abx_evidence::record::SliceRecord;
use abx_sys::Nanos;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::{Ended, Examination, load, null, study};
use crate::measure::planned_load::RaisedLoad;
use crate::measure::running_subjects::{Bench, Halt};
use crate::run_study::LabError;
use crate::run_study::context::{Stage, StageError};
use crate::run_study::start_block::Raised;

/// Load that is not counted: `null` has nothing to warm up, connections have.
const WARM_UP_NS: u64 = 200_000_000;

/// Measures with and without keep-alive; what was measured stays in `found`.
pub(super) fn measure(
    examination: &mut Examination,
    found: &mut Vec<Ceiling>,
) -> Result<(), Ended> {
    let subject = null(&examination.program, examination.null_arguments, "null");
    let loads = [true, false].map(load);
    let study = study(examination, vec![subject], loads.into());
    let mut stage = Stage::set(
        &study,
        examination.program.clone(),
        examination.keeper_arguments,
    )
    .map_err(|error: StageError| Ended::Refused(error.to_string()))?;
    (examination.on_stopper)(stage.engine.stopper());
    let mut random = ChaCha8Rng::seed_from_u64(examination.seed);
    let halted = |halt: Halt| Ended::from(LabError::Halt(halt));
    let Raised {
        mut bench, loads, ..
    } = stage.raise(&mut random).map_err(halted)?;
    let mut ended = Ok(());
    for (load, raised) in study.loads.iter().zip(&loads) {
        let settings = load.settings(raised.bodies_compared);
        let ns = Nanos::from(examination.ceiling_for).0;
        match slice(&mut bench, raised, ns) {
            Ok((record, backend)) => found.push(Ceiling::of(&settings, &record, backend)),
            Err(halt) => {
                ended = Err(halted(halt));
                break;
            }
        }
    }
    let _ = bench.stop_all(None);
    ended
}

/// One slice under one load, and what moved its bytes.
fn slice(
    bench: &mut Bench,
    raised: &RaisedLoad,
    ns: u64,
) -> Result<(SliceRecord, &'static str), Halt> {
    let mut plans = raised.plans.iter();
    let plan = plans.next().expect("there is a plan for each subject");
    let pool = bench.open(plan)?.pool;
    bench.slice(0, pool, WARM_UP_NS)?;
    let measured = bench.slice(0, pool, ns)?;
    bench.engine.close(pool);
    Ok((measured.record, pool.backend().name()))
}
