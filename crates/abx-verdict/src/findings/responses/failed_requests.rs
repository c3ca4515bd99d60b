use crate::findings::prelude::*;
use abx_evidence::Statuses;

rule! {
    in Subject |subject| failed(subject);
    FailedRequests [Note, Void]
        "requests or messages failed; above one in a thousand there is no verdict",
        "read the server's log, or offer less load (`-c`, `-r`)";
}

/// Above this share of failed requests, no claim is made.
const FAILED_MAX: f64 = 0.001;
const OF_STEPS: &str = "see which step failed, and read the server's log";
/// The most unexpected statuses that are named.
const STATUSES_NAMED: usize = 4;

fn failed(subject: &SubjectContext) -> Option<Finding> {
    let view = subject.view;
    let shape = view.load.settings.exchange.shape;
    let statuses = view.wrong_statuses();
    let mut finding = failed_requests(
        view.subject,
        shape,
        &subject.outcomes(),
        &statuses,
        view.sums.hashed,
    )?;
    if view.sums.outcomes.failed() == 0 {
        finding.message.push_str(", before the counted time");
    }
    Some(finding)
}

/// Reports requests or messages to `who` that failed, unexpected statuses, and wrong bodies among
/// the `hashed` bodies that were verified.
fn failed_requests(
    who: &str,
    shape: LoadShape,
    outcomes: &Outcomes,
    statuses: &Statuses,
    hashed: u64,
) -> Option<Finding> {
    let failed = outcomes.failed();
    let wrong_bodies = outcomes.count(Outcome::WrongBody);
    let failed_share = share(failed, outcomes.sent())?;
    // Only some bodies are hashed, so the share of wrong bodies is that among the hashed.
    let wrong_share = share(wrong_bodies, hashed).unwrap_or_default();
    let mut message = format!(
        "{failed} of {} {} to {who} failed: {}",
        outcomes.sent(),
        shape.units(),
        names(outcomes, statuses)
    );
    if wrong_bodies > 0 && hashed > 0 {
        message.push_str(&format!(
            " ({wrong_bodies} of the {hashed} verified bodies were wrong)"
        ));
    }
    let finding = finding(message).at_if(failed_share.max(wrong_share) > FAILED_MAX, Level::Void);
    let remedy = match shape {
        LoadShape::Scenario => OF_STEPS.to_owned(),
        _ => remedy(outcomes, statuses),
    };
    (failed > 0).then(|| finding.with_remedy(remedy))
}

/// The remedy for the most frequent failure.
fn remedy(outcomes: &Outcomes, statuses: &Statuses) -> String {
    let failures = outcomes.iter().filter(|(outcome, _)| outcome.is_failure());
    let most = failures.max_by_key(|(_, count)| *count);
    let most = most.map_or(Outcome::Reset, |(outcome, _)| outcome);
    let remedy = match most {
        Outcome::WrongStatus => return of_status(statuses.most_frequent(1).first().copied()),
        Outcome::WrongLength | Outcome::WrongBody => {
            "if the bodies differ on purpose, pass `--expect-body any`; otherwise correct the server"
        }
        Outcome::Refused => {
            "check whether the server is still running, and read its log; or use fewer connections \
             (`-c`)"
        }
        Outcome::Unreachable => "check the address, and the network between abx and the server",
        Outcome::TlsFailed => "check the server's certificate and TLS settings, and read its log",
        Outcome::OtherProtocol => {
            "check the protocol of that port: http:// or https://, with `--http2` or without"
        }
        Outcome::Malformed | Outcome::HeadTooLarge => {
            "correct the server's responses: `curl -v` shows one"
        }
        Outcome::Timeout if outcomes.completed() == 0 => {
            "check whether the server accepts connections and responds, and read its log"
        }
        Outcome::Timeout => {
            "offer less load (`-c`, `-r`), or allow the server more workers and a longer backlog; \
             only if it responds late, allow more time (`--timeout`)"
        }
        _ => {
            "read the server's log to see why it closed connections, or offer less load (`-c`, \
             `-r`)"
        }
    };
    remedy.to_owned()
}

/// The remedy for an unexpected status.
fn of_status(status: Option<u16>) -> String {
    match status {
        Some(429) => {
            "raise the server's limit of requests per client, or lower the rate (`-r`)".to_owned()
        }
        Some(status @ 500..=599) => format!(
            "read the server's log for the cause of status {status}, or offer less load (`-c`, \
             `-r`)"
        ),
        Some(status @ 100..=499) => format!(
            "give a path that has the expected status (`--path`), or expect this one \
             (`--expect-status {status}`)"
        ),
        Some(status) => format!("correct the server: {status} is not an HTTP status (100 to 599)"),
        None => "give a path that has the expected status (`--path`), or read the server's log"
            .to_owned(),
    }
}

fn names(outcomes: &Outcomes, statuses: &Statuses) -> String {
    let statuses = statuses.most_frequent(STATUSES_NAMED);
    let statuses: Vec<String> = statuses.iter().map(u16::to_string).collect();
    let failures = outcomes.iter().filter(|(outcome, _)| outcome.is_failure());
    let names = failures.map(|(outcome, count)| match outcome {
        Outcome::WrongStatus if !statuses.is_empty() => {
            format!("{} {count} ({})", outcome.name(), statuses.join(", "))
        }
        _ => format!("{} {count}", outcome.name()),
    });
    names.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcomes(list: &[(Outcome, usize)]) -> Outcomes {
        let mut outcomes = Outcomes::default();
        for (outcome, count) in list {
            (0..*count).for_each(|_| outcomes.add(*outcome));
        }
        outcomes
    }

    fn level(list: &[(Outcome, usize)], hashed: u64) -> Option<Level> {
        of(&outcomes(list), &Statuses::default(), hashed).map(|finding| finding.level)
    }

    fn of(outcomes: &Outcomes, statuses: &Statuses, hashed: u64) -> Option<Finding> {
        failed_requests("a", LoadShape::Request, outcomes, statuses, hashed)
    }

    #[test]
    fn unexpected_statuses_are_named() {
        // Method: statuses of two kinds, and a record of an older version, which has none.
        let outcomes = outcomes(&[
            (Outcome::Ok, 7),
            (Outcome::WrongStatus, 3),
            (Outcome::Reset, 1),
        ]);
        let mut statuses = Statuses::default();
        [404, 503, 503]
            .into_iter()
            .for_each(|status| statuses.add(status));
        let message = |statuses: &Statuses| of(&outcomes, statuses, 0).unwrap().message;
        let named = "4 of 11 requests to a failed: wrong_status 3 (503, 404), reset 1";
        assert_eq!(message(&statuses), named);
        let bare = "4 of 11 requests to a failed: wrong_status 3, reset 1";
        assert_eq!(message(&Statuses::default()), bare);
    }

    #[test]
    fn each_failure_has_the_remedy_of_its_cause() {
        // Method: one frequent failure of each kind among others, with the words that its remedy
        // must have. Only bodies may vary, and only a valid status may be expected.
        let remedy_of = |list: &[(Outcome, usize)], status: Option<u16>| {
            let mut statuses = Statuses::default();
            status.into_iter().for_each(|status| statuses.add(status));
            of(&outcomes(list), &statuses, 0).unwrap().remedy
        };
        for outcome in Outcome::ALL
            .into_iter()
            .filter(|outcome| outcome.is_failure())
        {
            let remedy = remedy_of(
                &[(Outcome::Ok, 9), (Outcome::Malformed, 1), (outcome, 5)],
                None,
            );
            let is_of_body = matches!(outcome, Outcome::WrongLength | Outcome::WrongBody);
            assert_eq!(
                remedy.contains("--expect-body"),
                is_of_body,
                "{outcome:?}: {remedy}"
            );
            let is_timeout = outcome == Outcome::Timeout;
            assert_eq!(
                remedy.contains("--timeout"),
                is_timeout,
                "{outcome:?}: {remedy}"
            );
        }
        let refused = remedy_of(&[(Outcome::Ok, 9), (Outcome::Refused, 5)], None);
        assert!(refused.contains("still running"), "{refused}");
        let silent = remedy_of(&[(Outcome::Timeout, 5)], None);
        assert!(
            silent.contains("accepts connections") && !silent.contains("--timeout"),
            "{silent}"
        );
        for (status, part) in [
            (404, "--expect-status 404"),
            (503, "log"),
            (429, "limit"),
            (999, "correct the server"),
        ] {
            let remedy = remedy_of(&[(Outcome::WrongStatus, 5)], Some(status));
            assert!(remedy.contains(part), "{status}: {remedy}");
            assert_eq!(
                remedy.contains("--expect-status"),
                status == 404,
                "{remedy}"
            );
        }
    }

    #[test]
    fn failures_void_above_one_in_a_thousand() {
        // Method: none, just below, and above the limit.
        assert_eq!(level(&[(Outcome::Ok, 5000)], 50), None);
        let few = [(Outcome::Ok, 5000), (Outcome::Reset, 2)];
        assert_eq!(level(&few, 50), Some(Level::Note));
        let many = [(Outcome::Ok, 5000), (Outcome::Reset, 20)];
        assert_eq!(level(&many, 50), Some(Level::Void));
    }

    #[test]
    fn the_share_of_wrong_bodies_is_that_among_verified_bodies() {
        // Method: 1 wrong body of 50 verified ones is 2 %, although 5,001 requests were sent.
        let pairs = [(Outcome::Ok, 5000), (Outcome::WrongBody, 1)];
        assert_eq!(level(&pairs, 50), Some(Level::Void));
    }

    #[test]
    fn limits_of_the_generator_are_not_failures_of_the_subject() {
        // Method: only missing ports.
        let ports = outcomes(&[(Outcome::Ok, 10), (Outcome::NoPort, 3)]);
        assert_eq!(of(&ports, &Statuses::default(), 1), None);
    }
}
