use crate::findings::prelude::*;
use abx_evidence::ConnectionOpening;

rule! {
    in Connections |subject| not_opened(subject.view);
    NotConnected [Note]
        "the server did not accept connections that were opened before the load; those that were \
         never tried after that count against no server",
        "raise the server's connection limit, open connections more slowly (`--open-rate`), or use \
         fewer";
}

fn not_opened(subject_view: &SubjectView) -> Option<Finding> {
    let readings = subject_view.readings();
    let missing = sum(readings.map(|readings| readings.not_connected));
    let subject = subject_view.subject;
    let message = match opening(subject_view) {
        // A record without details.
        None => {
            let connections = counted(missing, "connection");
            (missing > 0).then(|| format!("{connections} to {subject} could not be opened"))
        }
        Some(opening) => refused(subject, &opening),
    }?;
    let message = format!("{message} before the load");
    Some(finding(message))
}

pub(super) fn opening(subject: &SubjectView) -> Option<ConnectionOpening> {
    let readings = subject.readings();
    readings
        .filter_map(|readings| readings.opening.clone())
        .reduce(|sum, opening| sum.plus(&opening))
}

/// The connections that the subject did not accept, as a clause.
fn refused(subject: &str, opening: &ConnectionOpening) -> Option<String> {
    let failed = opening.failed();
    let failures = opening
        .failures
        .iter()
        .filter(|(outcome, _)| outcome.is_failure());
    let mut how: Vec<String> = failures
        .map(|(outcome, count)| format!("{} {count}", outcome.name()))
        .collect();
    match opening.closed_again() {
        0 => {}
        closed => how.push(format!("closed at once {closed}")),
    }
    let untried = opening.failures.count(Outcome::Unopened);
    if untried > 0 && opening.lacked() == 0 {
        how.push(format!(
            "{untried} more not tried, because none had succeeded for one timeout"
        ));
    }
    (failed > 0).then(|| {
        format!(
            "{failed} of {} to {subject} could not be opened ({})",
            counted(opening.asked, "connection"),
            how.join(", ")
        )
    })
}
