use crate::findings::prelude::*;

rule! {
    in Subject |subject| not_resumed(subject);
    NotResumed [Note]
        "sessions of TLS were to be resumed, and connections made full handshakes",
        "have the server give out tickets, and remember sessions for as long as the load lasts; \
         look at its session cache and the lifetime of its tickets";
}

/// Below this share of handshakes a load of resumed ones is a mixture. The first one of each
/// connection has nothing to resume.
const RESUMED_MIN: f64 = 0.98;

fn not_resumed(subject: &SubjectContext) -> Option<Finding> {
    let tls = subject.view.load.settings.tls.as_ref();
    tls.filter(|tls| tls.resumption)?;
    let resumed = subject.summary.handshakes_resumed?;
    let who = subject.view.subject;
    let message = format!(
        "{:.1} % of the TLS handshakes with {who} resumed a session, as all were to do; the others \
         were full ones",
        100.0 * resumed
    );
    (resumed < RESUMED_MIN).then(|| finding(message))
}
