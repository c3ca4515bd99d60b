//! The length of slices in response times, and slices that end after a number of requests.

use crate::findings::prelude::*;

/// Little's law, and the comparison of both ways to count a throughput, need slices of at least
/// this many response times.
pub(super) const TURNS_MIN: f64 = 10.0;

/// The length of a slice in response times: responses per request in flight.
pub(super) fn turns(subject: &SubjectView) -> f64 {
    let settings = &subject.load.settings;
    let in_flight = settings.exchange.in_flight(settings.connections) as f64;
    subject.sums.outcomes.completed() as f64 / (in_flight * subject.sums.slices.max(1) as f64)
}

/// Whether slices end after a number of requests, so that each connection ends at its own time.
pub(super) fn ends_by_number(load: &LoadRecord) -> bool {
    let pilot = load.pilot.as_ref();
    pilot.is_some_and(|pilot| pilot.slice_requests.is_some())
}
