use crate::findings::machine::other_programs::busiest;
use crate::findings::machine::part_of_time::{noted, of_all, processors};
use crate::findings::prelude::*;
use crate::view::sums::Sums;

rule! {
    in Load |load| foreign_cpu(load.view);
    ForeignCpu [Note, Bound]
        "other programs used the CPUs reserved for this measurement; above a tenth of the time, \
         the ratio is a bound",
        "close other programs, or run on a dedicated machine";
}

/// CPU time that is neither abx's nor the subjects', as a share of all.
pub(crate) const FOREIGN_MAX: f64 = 0.03;
/// From this share on, a subject may have been slower than it can be.
const FOREIGN_BOUND: f64 = 0.10;

/// The kernel counts CPU time in ticks of 10 ms. A difference of two readings of one
/// CPU is off by 10 ms / √6 (the standard deviation of a difference of two roundings).
/// Work of other programs below three of these errors is not reported.
const TICK_ERROR_NS: f64 = 4.1e6;
const TICK_ERRORS: f64 = 3.0;

pub(in crate::findings) fn foreign_cpu(view: &OfferView) -> Option<Finding> {
    let part = of_all(view, foreign_ns(view.study, &view.sums())?);
    let what = "other programs used the CPUs reserved for this measurement";
    let programs = busiest(view.study);
    let message = noted(part, FOREIGN_MAX, [what, &programs])?;
    Some(finding(message).at_if(part > Some(FOREIGN_BOUND), Level::Bound))
}

/// The time for which other programs used a study's CPUs during these slices; 0 if it is within
/// the error of ticks.
pub(super) fn foreign_ns(study: &Measured, sums: &Sums) -> Option<u64> {
    let servers = [
        sums.server_cpu_ns,
        sums.others_cpu_ns,
        sums.all_services_cpu_ns(),
    ];
    let generator = [sums.generator_cpu_ns, sums.waiting_awake_ns].map(Some);
    let known = sum_known(servers.into_iter().chain(generator))?;
    let foreign = sums.busy_ns?.saturating_sub(known);
    let readings = processors(study) as f64 * sums.slices as f64;
    let is_certain = foreign as f64 > TICK_ERRORS * TICK_ERROR_NS * readings.sqrt();
    Some(if is_certain { foreign } else { 0 })
}
