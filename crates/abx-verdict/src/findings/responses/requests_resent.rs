use crate::findings::prelude::*;

rule! {
    in Subject |subject| resent(
        subject.view.subject,
        &subject.outcomes(),
        subject.view.sums.connects
    );
    RequestsResent [Note]
        "the server closed reused connections with requests in flight, and abx sent at least one \
         request in a thousand again",
        "raise the server's keep-alive timeout and its limit of requests per connection, or \
         measure without keep-alive (`--no-keepalive`)";
}

/// From this share of requests on, requests that were sent again are reported.
const RESENT_MIN: f64 = 0.001;
/// A server whose connections end after at most this many responses on average keeps none alive.
const RESPONSES_FEW: f64 = 2.0;
const WITHOUT_KEEP_ALIVE: &str = "measure without keep-alive (`--no-keepalive`, or `keep_alive = \
                                  false` in a study file), or enable keep-alive on the server";

fn resent(who: &str, outcomes: &Outcomes, connects: u64) -> Option<Finding> {
    let again = outcomes.count(Outcome::IdleClose);
    let requests = outcomes.requests();
    share(again, requests).filter(|part| *part >= RESENT_MIN)?;
    let were = if again == 1 { "was" } else { "were" };
    let per_connection =
        share(outcomes.completed(), connects).filter(|responses| *responses <= RESPONSES_FEW);
    let on_average = per_connection.map_or_else(String::new, |responses| {
        format!("; each connection served {responses:.1} responses on average")
    });
    let finding = finding(format!(
        "{who} closed reused connections with requests in flight: {again} {were} sent again, for \
         {}{on_average}",
        counted(requests, "request")
    ));
    Some(match per_connection {
        Some(_) => finding.with_remedy(WITHOUT_KEEP_ALIVE),
        None => finding,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_without_keep_alive_gets_no_remedy_about_timeouts() {
        // Method: 1,000 responses and 100 requests sent again, with as many connections as
        // responses, half as many, fewer, and none that were opened under load.
        let mut outcomes = Outcomes::default();
        (0..1_000).for_each(|_| outcomes.add(Outcome::Ok));
        (0..100).for_each(|_| outcomes.add(Outcome::IdleClose));
        let cases = [
            (1_000, Some("1.0")),
            (500, Some("2.0")),
            (499, None),
            (0, None),
        ];
        for (connects, average) in cases {
            let finding = resent("a", &outcomes, connects).unwrap();
            let clause =
                average.map(|average| format!("; each connection served {average} responses"));
            let clause = clause.unwrap_or_default();
            assert!(finding.message.contains(&clause), "{finding:?}");
            let has_average = finding.message.contains("each connection");
            assert_eq!(has_average, average.is_some(), "{finding:?}");
            let is_longer = finding.remedy.contains("timeout");
            assert_eq!(is_longer, average.is_none(), "{finding:?}");
        }
    }
}
