use crate::findings::prelude::*;
use abx_evidence::record::Interleave;

rule! {
    in Load |load| ran_as_trials(load.view.load);
    RanAsTrials [Note]
        "each subject was loaded for one long period instead of in slices",
        "expect wider intervals than with slices; more blocks narrow them";
}

fn ran_as_trials(load: &LoadRecord) -> Option<Finding> {
    let pilot = load.pilot.as_ref()?;
    let reason = pilot.interleave_reason.as_ref()?;
    let message = format!("each subject was loaded for one long period: {reason}");
    let is_of_trials = pilot.interleave == Interleave::Trials;
    is_of_trials.then(|| finding(message))
}
