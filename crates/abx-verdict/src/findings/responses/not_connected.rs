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
    let missing = sum(subject_view.readings().map(|side| side.not_connected));
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
    let each = subject.readings().filter_map(|side| side.opening.as_ref());
    each.cloned()
        .reduce(|sum, connection_opening| sum.plus(&connection_opening))
}

/// What the subject did not take.
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
