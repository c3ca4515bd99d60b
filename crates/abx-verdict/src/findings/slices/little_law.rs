use crate::findings::prelude::*;
use crate::findings::slices::turns::{TURNS_MIN, ends_by_number, turns};

rule! {
    in Subject |subject| little(subject.view);
    LittleLaw [Note, Void]
        "rate times mean response time differs from the requested number in flight (Little's law); \
         if a fifth is missing, there is no verdict",
        "use longer slices (`--slice`), or fewer connections";
}

/// The deviations from Little's law that are noted and that void.
const LITTLE_NOTE: f64 = 0.03;
const LITTLE_VOID: f64 = 0.20;

fn little(subject_view: &SubjectView) -> Option<Finding> {
    let (load, subject, sums) = (subject_view.load, subject_view.subject, &subject_view.sums);
    if !load.settings.arrivals.is_saturating() || ends_by_number(load) {
        return None;
    }
    let requested = load.settings.exchange.in_flight(load.settings.connections) as f64;
    if turns(subject_view) < TURNS_MIN || sums.outcomes.completed() < sums.outcomes.sent() {
        return None;
    }
    // The response times of all requests that were sent within the window, over the window. This
    // excludes requests in flight at its start, and includes those in flight at its end.
    let pilot = load.pilot.as_ref()?;
    let window_ns = sums
        .slices
        .saturating_mul(pilot.slice_ns.checked_sub(pilot.discard_ns)?);
    let busy = share(sums.response_ns_sum, window_ns)?;
    let least = load
        .settings
        .exchange
        .in_flight_least(load.settings.connections) as f64;
    // Fewer than requested are another load. More are an effect of the slice's
    // edges: responses in flight at its end wait longer on a busy machine.
    let is_off = busy < (1.0 - LITTLE_NOTE) * least || busy > (1.0 + LITTLE_NOTE) * requested;
    is_off.then(|| {
        finding(format!(
            "{subject} had {busy:.1} {} in flight on average (rate times mean response time) \
             instead of the requested {requested}",
            load.settings.exchange.shape.units()
        ))
        .at_if(busy < (1.0 - LITTLE_VOID) * least, Level::Void)
    })
}
