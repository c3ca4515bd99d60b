use crate::findings::machine::part_of_time::noted;
use crate::findings::prelude::*;
use abx_evidence::record::Interleave;

rule! {
    in Load |load| background_work(load.view);
    BackgroundWork [Note]
        "subjects worked while they should have been idle",
        "use `--interleave trials`, so that background work affects only its own subject";
}

/// CPU time of subjects that should idle, as a share of one CPU.
const BACKGROUND_MAX: f64 = 0.01;

pub(in crate::findings) fn background_work(view: &OfferView) -> Option<Finding> {
    let sums = view.sums();
    let part = share(sums.others_cpu_ns?, sums.window_ns);
    let what = "subjects that should have been idle used one CPU for";
    let finding = noted(part, BACKGROUND_MAX, [what, ""]).map(finding)?;
    let pilot = view.load.pilot.as_ref();
    Some(match pilot.map(|pilot| pilot.interleave) {
        Some(Interleave::Trials) => {
            finding.with_remedy("give the subjects more CPUs, or compare fewer at once".to_owned())
        }
        _ => finding,
    })
}
