use crate::findings::prelude::*;

rule! {
    in Subject |subject| not_kept(subject.view.subject, subject.view.sums.closing, subject.outcomes().completed());
    ConnectionsNotKept [Note]
        "responses ended connections that the server was asked to keep, as `Connection: close` \
         does, and new ones were opened",
        "have the server keep connections (keep-alive, and its limit of requests for each), or \
         measure without (`--no-keepalive`)";
}

/// From this share of responses on it matters that they end their connections: one in a
/// hundred is what Apache HTTP Server does by default.
const CLOSING_MIN: f64 = 0.01;

fn not_kept(who: &str, closing: u64, completed: u64) -> Option<Finding> {
    let part = share(closing, completed).filter(|part| *part >= CLOSING_MIN)?;
    Some(finding(format!(
        "{who} ended the connection with {closing} of {completed} responses ({:.1} %, as \
             `Connection: close` and HTTP/2's GOAWAY do), although it was asked to keep it: each was opened again",
        100.0 * part
    )))
}
