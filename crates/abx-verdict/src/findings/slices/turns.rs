//! How many response times a slice holds, and which slices end by themselves.

use crate::findings::prelude::*;

/// Little's law, and a count beside the connections' own time, need slices of this many
/// response times.
pub(super) const TURNS_MIN: f64 = 10.0;

/// How many response times a slice holds: responses for each that may be in flight.
pub(super) fn turns(subject: &SubjectView) -> f64 {
    let settings = &subject.load.settings;
    let in_flight = settings.exchange.in_flight(settings.connections) as f64;
    subject.sums.outcomes.completed() as f64 / (in_flight * subject.sums.slices.max(1) as f64)
}

/// Whether its end comes when connections have nothing more to send, each at its own time.
pub(super) fn ends_by_number(load: &LoadRecord) -> bool {
    let pilot = load.pilot.as_ref();
    pilot.is_some_and(|pilot| pilot.slice_requests.is_some())
}
