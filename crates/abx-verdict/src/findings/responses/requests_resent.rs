use crate::findings::prelude::*;

rule! {
    in Subject |subject| resent(subject.view.subject, &subject.outcomes());
    RequestsResent [Note]
        "the server closed reused connections with requests in flight, and abx sent at least one \
         request in a thousand again",
        "raise the server's keep-alive timeout and its limit of requests per connection";
}

/// From this share of requests on it matters that they are sent again.
const RESENT_MIN: f64 = 0.001;

fn resent(who: &str, outcomes: &Outcomes) -> Option<Finding> {
    let again = outcomes.count(Outcome::IdleClose);
    let requests = outcomes.requests();
    share(again, requests).filter(|part| *part >= RESENT_MIN)?;
    let were = if again == 1 { "was" } else { "were" };
    Some(finding(format!(
        "{who} closed reused connections with requests in flight: {again} {were} sent again, for \
         {}",
        counted(requests, "request")
    )))
}
