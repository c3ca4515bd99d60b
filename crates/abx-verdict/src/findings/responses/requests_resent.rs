use crate::findings::prelude::*;

rule! {
    in Subject |subject| resent(subject.view.subject, &subject.outcomes());
    RequestsResent [Note]
        "the server closed reused connections while requests were under way on them, and one in \
         a thousand or more was sent again",
        "raise the server's keep-alive timeout and its limit of requests for each connection";
}

/// From this share of requests on it matters that they are sent again.
const RESENT_MIN: f64 = 0.001;

fn resent(who: &str, outcomes: &Outcomes) -> Option<Finding> {
    let again = outcomes.count(Outcome::IdleClose);
    let requests = outcomes.requests();
    share(again, requests).filter(|part| *part >= RESENT_MIN)?;
    Some(finding(format!(
        "{who} closed reused connections when requests were under way on them: {again} were \
             sent again, for {requests} requests"
    )))
}
