//! Whether the subject of an open loop responded to the whole offered load.

use crate::findings::open_loop::pace::MISSED_MAX;
use crate::findings::prelude::*;
use abx_evidence::Offered;

rule! {
    BothKeptUp [Note]
        "both sides served the whole offered load, so throughput is that of the load and is not \
         compared",
        "compare response times and CPU per response instead, or raise the rate (`-r`)";
    HeldByRate [Bound]
        "the faster side served the whole offered load, and may be able to serve more",
        "raise the rate (`-r`), or find the highest throughput of each with a closed loop";
}

/// In an open loop: reports that both subjects responded to the whole offered load, so that their
/// throughput is that of the load and is not compared.
pub(crate) fn both_kept_up(view: &OfferView, [subject, baseline]: [&str; 2]) -> Option<Finding> {
    let load = view.load;
    let offered = view.subject(subject).and_then(kept_up)?;
    view.subject(baseline).and_then(kept_up)?;
    let rate = match load.settings.arrivals.rate_per_s {
        Some(rate) => format!("{rate}/s"),
        None => format!("all {} requests that were due", offered.planned),
    };
    let message = format!(
        "{subject} and {baseline} both kept up with {rate}: throughput does not distinguish them \
         here"
    );
    let finding = new_finding(FindingId::BothKeptUp, message);
    Some(finding.about(subject).under(&load.name))
}

/// In an open loop: reports that the faster of two subjects responded to the whole offered load,
/// and may be able to respond to more.
pub(crate) fn held_by_rate(
    view: &OfferView,
    [subject, baseline]: [&str; 2],
    ratio: Option<f64>,
) -> Option<Finding> {
    let faster = if ratio? >= 1.0 { subject } else { baseline };
    let offered = kept_up(view.subject(faster)?)?;
    let message = format!(
        "{faster} kept up with the offered load ({} requests): it may be able to serve more",
        offered.planned
    );
    let finding = new_finding(FindingId::HeldByRate, message);
    Some(finding.about(faster).under(&view.load.name))
}

/// The load that an open loop offered to a subject that kept up; `None` if it did not.
pub(crate) fn kept_up(view: &SubjectView) -> Option<Offered> {
    let offered = view.offered()?;
    has_kept_up(&offered, view.sums.outcomes.ok()).then_some(offered)
}

/// Whether a server responded to the offered load, except for at most [`MISSED_MAX`]. `ok` are
/// its verified responses. False if no request was due.
fn has_kept_up(offered: &Offered, ok: u64) -> bool {
    // Requests in flight at the end are not missed.
    let missed = offered
        .planned
        .saturating_sub(ok)
        .saturating_sub(offered.unfinished);
    share(missed, offered.planned).is_some_and(|missed| missed <= MISSED_MAX)
}
