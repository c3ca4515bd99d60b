use crate::findings::prelude::*;
use crate::findings::slices::turns::ends_by_number;

rule! {
    in Subject |subject| silent(subject.view);
    ConnectionsWithoutResponse [Note, Void]
        "some connections had no response in a whole slice while others had many; above one in ten \
         there is no verdict",
        "raise the number of connections that the server handles at a time (workers, threads, \
         limits), or use fewer (`-c`)";
    SlicesTooShort [Note, Void]
        "some connections had no response in a slice, and the others had only a few; with more \
         than one in ten, there is no verdict",
        "use longer slices (`--slice`)";
}

/// Connections without a response in a slice, as a share.
const SILENT_NOTE: f64 = 0.01;
const SILENT_VOID: f64 = 0.10;
/// If each of the other connections had this many responses, the length of slices is not the
/// cause.
const LEFT_OUT_TURNS_MIN: f64 = 10.0;

fn silent(subject_view: &SubjectView) -> Option<Finding> {
    let (load, subject, sums) = (subject_view.load, subject_view.subject, &subject_view.sums);
    let connections = load.settings.connections;
    let are_left_out = load.settings.exchange.senders(connections) < connections;
    if !load.settings.arrivals.is_saturating() || are_left_out || ends_by_number(load) {
        return None;
    }
    let chances = u64::from(connections) * sums.slices;
    let part = share(sums.silent, chances).filter(|part| *part > SILENT_NOTE)?;
    let others = chances.saturating_sub(sums.silent);
    let per_other = share(sums.outcomes.completed(), others).unwrap_or_default();
    let left_out = match sums.slices {
        1 => format!("{} of {connections} connections", sums.silent),
        _ => format!("{:.1} % of its connections in a slice (mean)", 100.0 * part),
    };
    let finding = if per_other >= LEFT_OUT_TURNS_MIN {
        new_finding(
            FindingId::ConnectionsWithoutResponse,
            format!(
                "{subject} left {left_out} without a response, and sent {per_other:.0} responses \
                 on each of the others"
            ),
        )
    } else {
        new_finding(
            FindingId::SlicesTooShort,
            format!(
                "{subject} left {left_out} without a response, and sent only {per_other:.1} \
                 responses on each of the others"
            ),
        )
    };
    Some(finding.at_if(part > SILENT_VOID, Level::Void))
}
