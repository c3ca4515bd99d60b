//! Findings about connections that were to be kept and that the server closed, and about
//! sessions that it did not resume, the same for a run and for a study.

use crate::measure::outcome::{Outcome, Outcomes};
use crate::measure::share::share;
use crate::record::finding::Finding;
use crate::record::finding_id::FindingId;

/// From this share of responses on it matters that they end their connections: one in a
/// hundred is what Apache HTTP Server does by default.
const CLOSING_MIN: f64 = 0.01;
/// From this share of requests on it matters that they are sent again.
const RESENT_MIN: f64 = 0.001;
/// Below this share of handshakes a load of resumed ones is a mixture. The first one of each
/// connection has nothing to resume.
const RESUMED_MIN: f64 = 0.98;

/// `closing` of all the whole responses of `who` ended their connections.
pub(crate) fn not_kept(who: &str, closing: u64, completed: u64) -> Option<Finding> {
    let part = share(closing, completed).filter(|part| *part >= CLOSING_MIN)?;
    Some(Finding::new(
        FindingId::ConnectionsNotKept,
        format!(
            "{who} ended the connection with {closing} of {completed} responses ({:.1} %, as \
             `Connection: close` and HTTP/2's GOAWAY do), although it was asked to keep it: each was opened anew",
            100.0 * part
        ),
    ))
}

/// Handshakes with `who` of which only this share was resumed.
pub(crate) fn not_resumed(who: &str, resumed: f64) -> Option<Finding> {
    let message = format!(
        "{:.1} % of the TLS handshakes with {who} resumed a session, as all were to do; the others \
         were full ones",
        100.0 * resumed
    );
    (resumed < RESUMED_MIN).then(|| Finding::new(FindingId::NotResumed, message))
}

/// Requests that `who` closed a reused connection under.
pub(crate) fn resent(who: &str, outcomes: &Outcomes) -> Option<Finding> {
    let again = outcomes.count(Outcome::IdleClose);
    let requests = outcomes.requests();
    share(again, requests).filter(|part| *part >= RESENT_MIN)?;
    Some(Finding::new(
        FindingId::RequestsResent,
        format!(
            "{who} closed reused connections when requests were under way on them: {again} were \
             sent again, for {requests} requests"
        ),
    ))
}
