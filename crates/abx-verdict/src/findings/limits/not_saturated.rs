use crate::findings::limits::disturbances;
use crate::findings::prelude::*;

rule! {
    in Load |load| not_saturated(load);
    NotSaturated [Note]
        "neither the subject nor the generator was at its limit: throughput is connections \
         divided by response time",
        "raise `-c` to find its highest throughput";
}

fn not_saturated<'a>(load: &'a OfferContext) -> impl Iterator<Item = Finding> + 'a {
    let limit = load.limit;
    // Else a subject that wanted to run and could not would be taken for idle.
    let is_told = load.is_saturating() && !disturbances::any(load.view);
    let subjects = limit.subjects.iter().filter(move |_| is_told);
    subjects.filter_map(move |(subject, busy)| {
        let server_side = busy.server_side()?;
        let is_idle = !busy.is_subject_bound() && !busy.is_generator_bound();
        let with = if limit.services.is_empty() {
            ""
        } else {
            ", with its services,"
        };
        is_idle.then(|| {
            finding(format!(
                "neither {subject}{with} ({:.0} % busy) nor the generator ({:.0} %) was at \
                     its limit: throughput is connections divided by response time here",
                100.0 * server_side,
                100.0 * busy.generator.unwrap_or_default()
            ))
            .about(subject)
        })
    })
}
