//! Findings that limit the conclusions from injected faults.

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
    let mut findings = Vec::new();
    for view in FaultView::all(study) {
        for subject in &study.subjects {
            findings.extend(of_subject(&view, &subject.name));
        }
    }
    findings
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
    let tolls = view.tolls(subject);
    let blocks = counted(tolls.len() as u64, "block");
    let of = |count: usize| format!("in {count} of {blocks}");
    let count = |condition: fn(&FaultToll) -> bool| {
        let known = tolls.iter().flatten();
        known.filter(|toll| condition(toll)).count()
    };
    let missed = tolls.iter().filter(|toll| toll.is_none()).count();
    let beyond = count(|toll| toll.recovery == Recovery::NotWithin);
    let gone = count(|toll| !toll.is_back);
    let unfelt = count(|toll| !toll.is_felt());
    let before = count(|toll| toll.before > 0);
    let room_s = view.fault.within_ns.saturating_sub(view.fault.at_ns) as f64 / 1e9;
    let (not_back_id, not_back) = not_back(view, subject);
    let findings = [
        (
            missed,
            FindingId::FaultMissed,
            format!(
                "{} {fault} found no process of {subject} when it was due",
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
    findings
        .into_iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(_, id, message)| result(id, message))
        .collect()
}

/// The finding that processes did not come back, with a clause that names them.
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
