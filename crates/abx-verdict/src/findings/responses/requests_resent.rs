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

/// From this share of requests on it matters that they are sent again.
const RESENT_MIN: f64 = 0.001;
/// A server whose connections end after so few responses on average keeps none alive.
const RESPONSES_FEW: f64 = 2.0;
const WITHOUT_KEEP_ALIVE: &str = "measure without keep-alive (`--no-keepalive`, or `keep_alive = \
                                  false` in a study file), or enable keep-alive on the server";

fn resent(who: &str, outcomes: &Outcomes, connects: u64) -> Option<Finding> {
    let again = outcomes.count(Outcome::IdleClose);
    let requests = outcomes.requests();
    share(again, requests).filter(|part| *part >= RESENT_MIN)?;
    let were = if again == 1 { "was" } else { "were" };
    let each = share(outcomes.completed(), connects).filter(|each| *each <= RESPONSES_FEW);
    let on_average = each.map_or_else(String::new, |each| {
        format!("; each connection served {each:.1} responses on average")
    });
    let finding = finding(format!(
        "{who} closed reused connections with requests in flight: {again} {were} sent again, for \
         {}{on_average}",
        counted(requests, "request")
    ));
    Some(match each {
        Some(_) => finding.with_remedy(WITHOUT_KEEP_ALIVE),
        None => finding,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_keeps_no_connection_is_not_asked_to_keep_it_for_longer() {
        // Method: 1,000 responses and 100 requests sent again, over as many connections as
        // responses, over half as many, over fewer, and over those from before the load.
        let mut outcomes = Outcomes::default();
        (0..1_000).for_each(|_| outcomes.add(Outcome::Ok));
        (0..100).for_each(|_| outcomes.add(Outcome::IdleClose));
        let cases = [
            (1_000, Some("1.0")),
            (500, Some("2.0")),
            (499, None),
            (0, None),
        ];
        for (connects, each) in cases {
            let finding = resent("a", &outcomes, connects).unwrap();
            let message = each.map(|each| format!("; each connection served {each} responses"));
            let message = message.unwrap_or_default();
            assert!(finding.message.contains(&message), "{finding:?}");
            let is_silent = !finding.message.contains("each connection");
            assert_eq!(is_silent, each.is_none(), "{finding:?}");
            let is_longer = finding.remedy.contains("timeout");
            assert_eq!(is_longer, each.is_none(), "{finding:?}");
        }
    }
}
