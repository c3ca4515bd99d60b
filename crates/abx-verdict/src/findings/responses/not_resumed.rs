use crate::findings::prelude::*;

rule! {
    in Subject |subject| not_resumed(subject);
    NotResumed [Note]
        "connections made full TLS handshakes, although the load resumes sessions",
        "make the server issue session tickets that last as long as the load: check its session \
         cache and ticket lifetime";
}

/// Below this share of resumed handshakes, a load is a mixture of both kinds. The first handshake
/// of each connection has no session to resume.
const RESUMED_MIN: f64 = 0.98;

fn not_resumed(subject: &SubjectContext) -> Option<Finding> {
    let tls = subject.view.load.settings.tls.as_ref();
    tls.filter(|tls| tls.resumption)?;
    let resumed = subject.summary.handshakes_resumed?;
    let who = subject.view.subject;
    let message = if resumed > 0.0 {
        format!(
            "only {:.1} % of the TLS handshakes with {who} resumed a session; the others were \
             full handshakes",
            100.0 * resumed
        )
    } else {
        format!("no TLS handshake with {who} resumed a session")
    };
    (resumed < RESUMED_MIN).then(|| finding(message))
}
