use crate::findings::machine::part_of_time::{noted, of_all};
use crate::findings::prelude::*;

rule! {
    in Load |load| steal(load.view);
    Steal [Note]
        "the hypervisor gave the CPUs reserved for this measurement to others",
        "run at a quieter time, or on a dedicated machine";
}

/// CPU time that the hypervisor took, as a share of all.
pub(crate) const STEAL_MAX: f64 = 0.01;
/// One tick of steal may be rounding.
const STEAL_MIN_NS: u64 = 20_000_000;

pub(in crate::findings) fn steal(view: &OfferView) -> Option<Finding> {
    let steal_ns = view.sums().steal_ns.filter(|ns| *ns >= STEAL_MIN_NS)?;
    let what = "the hypervisor gave the CPUs reserved for this measurement to others";
    noted(of_all(view, steal_ns), STEAL_MAX, [what, ""]).map(finding)
}
