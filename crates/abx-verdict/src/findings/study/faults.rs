//! Findings that limit what is concluded from faults that were done on purpose.

use crate::findings::prelude::*;
use crate::view::faults::{FaultToll, FaultView, Recovery};
use abx_evidence::record::{FaultAction, LeftOut, Measured, Whom};

rule! {
    in Study |study| of_faults(study.record);
    FaultLeftOut [Note]
        "a fault cannot be injected into a subject",
        "name its `worker` processes or its `reload` signal, or omit the fault";
    FaultFailed [Void]
        "a subject did not start for a fault, or responded wrongly before it",
        "read the subject's output, and start it by hand several times";
    FaultMissed [Note]
        "no matching process was running when a fault was due",
        "check whether the subject's workers end by themselves";
    NotRecovered [Note]
        "a subject had not recovered from a fault by the end of its slice",
        "lengthen `within`, or accept that the service does not recover by itself";
    NotBroughtBack [Note]
        "fewer processes of a subject ran after a fault than before",
        "check which program restarts lost processes, and how late";
    SupervisorGone [Note]
        "the supervisor of a subject was killed and did not come back",
        "let a service manager restart the server, or accept that it stays down";
    FaultUnfelt [Note, Bound, Void]
        "a fault cost no request, so the recovery took at most the time between two requests: a \
         bound for the faster subject, no verdict for the slower one",
        "raise the rate, or accept that the fault has no effect";
    DisturbedBeforeFault [Note]
        "requests were lost or delayed before a fault",
        "lower the rate, raise `delayed_after`, or set `at` to a later time";
}

fn of_faults(study: &Measured) -> Vec<Finding> {
    let each = FaultView::all(study).flat_map(|view| {
        let subjects = study.subjects.iter();
        let everything = subjects.flat_map(|subject| of_subject(&view, &subject.name));
        everything.collect::<Vec<_>>()
    });
    each.collect()
}

fn of_subject<'a>(view: &FaultView<'a>, subject: &'a str) -> Vec<Finding> {
    let fault = &view.fault.name;
    let result = |id, message: String| new_finding(id, message).about(subject).under(fault);
    if let Some(LeftOut { why, failed, .. }) = view.left_out(subject) {
        let message = format!("{subject} is left out of {fault}: it {why}");
        let id = if *failed {
            FindingId::FaultFailed
        } else {
            FindingId::FaultLeftOut
        };
        return vec![result(id, message)];
    }
    let fault_tolls = view.tolls(subject);
    let blocks = counted(fault_tolls.len() as u64, "block");
    let of = |count: usize| format!("in {count} of {blocks}");
    let count = |is_so: fn(&FaultToll) -> bool| {
        fault_tolls
            .iter()
            .flatten()
            .filter(|fault_toll| is_so(fault_toll))
            .count()
    };
    let missed = fault_tolls.iter().filter(|toll| toll.is_none()).count();
    let beyond = count(|toll| toll.recovery == Recovery::NotWithin);
    let gone = count(|toll| !toll.is_back);
    let unfelt = count(|toll| !toll.is_felt());
    let before = count(|toll| toll.before > 0);
    let room_s = view.fault.within_ns.saturating_sub(view.fault.at_ns) as f64 / 1e9;
    let (not_back_id, not_back) = not_back(view, subject);
    let each = [
        (
            missed,
            FindingId::FaultMissed,
            format!(
                "{} {fault} found no process of {subject} at its moment",
                of(missed)
            ),
        ),
        (
            beyond,
            FindingId::NotRecovered,
            format!(
                "{} {subject} had not recovered {room_s} s after {fault}, so its recovery is not \
                 compared",
                of(beyond)
            ),
        ),
        (gone, not_back_id, format!("{} {not_back}", of(gone))),
        (
            unfelt,
            FindingId::FaultUnfelt,
            format!(
                "{} {fault} cost {subject} no request: its recovery took at most the time between \
                 two requests",
                of(unfelt)
            ),
        ),
        (
            before,
            FindingId::DisturbedBeforeFault,
            format!(
                "{} {subject} had lost or delayed requests before {fault}",
                of(before)
            ),
        ),
    ];
    let each = each.into_iter().filter(|(count, ..)| *count > 0);
    each.map(|(_, id, message)| result(id, message)).collect()
}

/// What did not come back, in words, and of which kind that is.
fn not_back(view: &FaultView, subject: &str) -> (FindingId, String) {
    let fault = &view.fault.name;
    match view.fault.action {
        FaultAction::Signal {
            whom: Whom::Supervisor,
            ..
        } => (
            FindingId::SupervisorGone,
            format!("the supervisor of {subject} did not come back after {fault}"),
        ),
        _ => (
            FindingId::NotBroughtBack,
            format!("fewer processes of {subject} ran after {fault} than before"),
        ),
    }
}
