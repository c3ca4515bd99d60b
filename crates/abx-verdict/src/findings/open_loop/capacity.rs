use crate::findings::prelude::*;

rule! {
    BeyondTheGrid [Bound, Void]
        "a capacity lies above or below all rates that were tried",
        "allow more time (`--budget`) so that blocks try more rates, or change the objective \
         (`--slo`)";
    ShortForCapacity [Note]
        "a rate was offered too briefly for the server's queue to reach its full length",
        "lengthen slices and blocks (`--slice`, `--rounds`): otherwise the capacity holds only for \
         such a short load";
}

/// Reports that each block offered each rate of a load for a short time, compared with the limit
/// of the objective.
pub(crate) fn short_for_capacity(load: &str, offered_s: f64, limit_s: f64) -> Finding {
    let message = format!(
        "each block offered each rate for {offered_s:.1} s, {:.0} times the limit of the \
         objective: near full load a queue grows for longer, and under longer load a capacity may \
         be lower",
        offered_s / limit_s
    );
    new_finding(FindingId::ShortForCapacity, message).under(load)
}
