//! Findings about the opening of connections before a load: what the subject did not
//! take, and what this machine could not offer.

use crate::measure::opening::ConnectionOpening;
use crate::measure::outcome::Outcome;
use crate::measure::sum::sum;
use crate::record::finding::Finding;
use crate::record::finding_id::FindingId;
use crate::view::SubjectView;

/// One subject's connections that were not there when the load began.
pub(super) fn not_opened(subject_view: &SubjectView) -> Option<Finding> {
    let missing = sum(subject_view.readings().map(|side| side.not_connected));
    let subject = subject_view.subject;
    let message = match opening(subject_view) {
        // A record that says no more.
        None => {
            (missing > 0).then(|| format!("{missing} connections to {subject} could not be opened"))
        }
        Some(opening) => refused(subject, &opening),
    }?;
    let message = format!("{message} before the load");
    Some(Finding::new(FindingId::NotConnected, message).about(subject))
}

/// What this machine lacked for one subject's connections.
pub(super) fn lacked(subject: &SubjectView) -> Option<Finding> {
    let opening = opening(subject)?;
    let kinds = [Outcome::NoPort, Outcome::NoDescriptor, Outcome::NoMemory];
    let kind = kinds
        .into_iter()
        .find(|kind| opening.failures.count(*kind) > 0)?;
    let (what, remedy) = match kind {
        Outcome::NoPort => (
            match subject.study.machine.local_ports {
                Some((first, last)) => format!(
                    "local ports (`net.ipv4.ip_local_port_range` has {} for each local address)",
                    u32::from(last).saturating_sub(first.into()) + 1
                ),
                None => "local ports".to_owned(),
            },
            "widen `net.ipv4.ip_local_port_range`, connect from more addresses \
             (`--local-address`), or use fewer connections",
        ),
        Outcome::NoDescriptor => (
            match subject.study.machine.descriptors_max {
                Some(most) => {
                    format!("file descriptors (`ulimit -n` is {most} for each worker thread)")
                }
                None => "file descriptors".to_owned(),
            },
            "raise `ulimit -n`, add worker threads (`-t`), or use fewer connections",
        ),
        _ => (
            "kernel memory for sockets".to_owned(),
            "raise `net.ipv4.tcp_mem` and `fs.epoll.max_user_watches`, or use fewer connections",
        ),
    };
    let ConnectionOpening {
        asked, standing, ..
    } = opening;
    let untried = match opening.failures.count(Outcome::Unopened) {
        0 => String::new(),
        untried => format!("; {untried} were not tried any more"),
    };
    let message = format!(
        "opened {standing} of {asked} connections to {}: this machine ran out of {what}{untried}",
        subject.subject
    );
    let finding = Finding::new(FindingId::GeneratorExhausted, message);
    Some(finding.with_remedy(remedy).about(subject.subject))
}

fn opening(subject: &SubjectView) -> Option<ConnectionOpening> {
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
            "{failed} of {} connections to {subject} could not be opened ({})",
            opening.asked,
            how.join(", ")
        )
    })
}
