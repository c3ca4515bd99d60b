use crate::findings::limits::disturbances;
use crate::findings::prelude::*;

rule! {
    in Load |load| not_saturated(load);
    NotSaturated [Note]
        "neither the subject nor the generator was at its limit: throughput is connections \
         divided by response time",
        "raise `-c` to find its highest throughput";
}

/// With at most this many requests in flight, each side idles in turn, however fast it is.
const FEW_IN_FLIGHT: u64 = 2;
const OF_FEW: &str =
    "rely on response times and CPU per response; for the highest throughput, raise `-c`";

fn not_saturated<'a>(load: &'a OfferContext) -> impl Iterator<Item = Finding> + 'a {
    let limit = load.limit;
    // After a disturbance, a subject that had to wait for a CPU would look idle.
    let is_reported = load.is_saturating() && !disturbances::any(load.view);
    let subjects = limit.subjects.iter().filter(move |_| is_reported);
    let settings = &load.view.load.settings;
    let in_flight = settings.exchange.in_flight(settings.connections);
    let is_of_few = in_flight <= FEW_IN_FLIGHT;
    let why = if is_of_few {
        let few = counted(in_flight, settings.exchange.shape.unit());
        format!("with at most {few} in flight, the load measures response times")
    } else {
        "throughput is connections divided by response time here".to_owned()
    };
    subjects.filter_map(move |(subject, busy)| {
        let server_side = busy.server_side()?;
        let is_idle = !busy.is_subject_bound() && !busy.is_generator_bound();
        let with = if limit.services.is_empty() {
            ""
        } else {
            ", with its services,"
        };
        is_idle.then(|| {
            let finding = finding(format!(
                "neither {subject}{with} ({:.0} % busy) nor the generator ({:.0} %) was at \
                     its limit: {why}",
                100.0 * server_side,
                100.0 * busy.generator.unwrap_or_default()
            ));
            let finding = finding.about(subject);
            if is_of_few {
                finding.with_remedy(OF_FEW)
            } else {
                finding
            }
        })
    })
}
