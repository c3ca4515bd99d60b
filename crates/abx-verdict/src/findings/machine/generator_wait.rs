use crate::findings::machine::other_programs::busiest;
use crate::findings::machine::part_of_time::noted;
use crate::findings::prelude::*;

rule! {
    in Load |load| generator_wait(load.view);
    GeneratorWait [Note]
        "the generator was ready to run and had to wait for a CPU",
        "close other programs, or run on a dedicated machine";
}

/// The share of the time for which the generator was ready and did not run.
pub(crate) const WAIT_MAX: f64 = 0.05;

pub(in crate::findings) fn generator_wait(view: &OfferView) -> Option<Finding> {
    let (record, sums) = (view.study, view.sums());
    let threads = record.settings.threads.max(1) as u64;
    let part = share(
        sums.generator_wait_ns?,
        sums.wall_ns.saturating_mul(threads),
    );
    let what = "the generator was ready to run and had to wait for a CPU";
    noted(part, WAIT_MAX, [what, &busiest(record)]).map(finding)
}
