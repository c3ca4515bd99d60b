use crate::findings::prelude::*;

rule! {
    in Subject |subject| not_kept(subject.view.subject, subject.view.sums.closing, subject.outcomes().completed());
    ConnectionsNotKept [Note]
        "the server closed connections that should stay open, with `Connection: close` or without \
         notice, and abx opened new ones",
        "enable keep-alive on the server and raise its limit of requests per connection, or \
         measure without keep-alive (`--no-keepalive`)";
}

/// From this share of responses on, the end of their connections is reported. By default, Apache
/// HTTP Server ends a connection after 100 responses.
const CLOSING_MIN: f64 = 0.01;

fn not_kept(who: &str, closing: u64, completed: u64) -> Option<Finding> {
    let part = share(closing, completed).filter(|part| *part >= CLOSING_MIN)?;
    Some(finding(format!(
        "{who} ended the connection after {closing} of {} ({:.1} %), although it should stay \
         open: the server sends `Connection: close` or an HTTP/2 GOAWAY, or closes without \
         notice, and abx opened each again",
        counted(completed, "response"),
        100.0 * part
    )))
}
