use crate::findings::prelude::*;
use abx_evidence::record::SliceRecord;

rule! {
    in Pair |subject| stopped_responding(subject.view);
    StoppedResponding [Void]
        "the server left requests without a response, or gave no correct one, so abx stopped \
         loading it",
        "check whether the server is still running, and read its log; load it with fewer \
         connections (`-c`), or allow more time (`--timeout`) if it responds late";
}

fn stopped_responding(view: &SubjectView) -> Option<Finding> {
    let subject = view.subject;
    match view.load.failure_in_pilot(subject) {
        Some(how) => {
            let message = format!("{subject} {how}; it was not measured");
            Some(finding(message))
        }
        None => {
            let stopped = |slice: &&SliceRecord| slice.stopped_responding;
            let warm_ups = view.warm_ups().filter(stopped).count() as u64;
            let count = view.sums.stopped_responding + warm_ups;
            let sums = [&view.sums.outcomes, &view.sums.discarded];
            let slices = sums.map(|outcomes| outcomes.count(Outcome::Timeout));
            let without_response = sum(view.warm_ups().map(timeouts).chain(slices));
            left_without_response(
                subject,
                [count, view.sums.slices + warm_ups],
                [without_response, view.load.settings.connections.into()],
            )
        }
    }
}

/// Requests of a slice that had no response in time, including its discarded part.
fn timeouts(slice: &SliceRecord) -> u64 {
    let both = [&slice.outcomes, &slice.discarded];
    sum(both.map(|outcomes| outcomes.count(Outcome::Timeout)))
}

/// Reports that `who` left so many requests without a response in `count` of its `slices` that abx
/// stopped loading it: `without_response` requests in total, over `connections` connections.
fn left_without_response(
    who: &str,
    [count, slices]: [u64; 2],
    [without_response, connections]: [u64; 2],
) -> Option<Finding> {
    let when = match slices {
        1 => String::new(),
        _ => format!(" in {count} of {slices} slices"),
    };
    let message = match without_response {
        // The other connections had responses.
        some if (1..connections).contains(&some) => format!(
            "{who} left {} without a response over {connections} connections, so abx stopped \
             loading it",
            counted(some, "request")
        ),
        _ => format!("{who} stopped responding{when}"),
    };
    (count > 0).then(|| finding(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_responds_on_some_connections_has_not_stopped() {
        // Method: no such slice; then five, one and all of fifty requests without a response.
        let message = |slices, requests| {
            let finding = left_without_response("a", slices, requests);
            finding.map(|finding| finding.message)
        };
        assert_eq!(message([0, 2], [5, 50]), None);
        let some = message([1, 2], [5, 50]).unwrap();
        assert!(
            some.starts_with("a left 5 requests without a response"),
            "{some}"
        );
        let single = message([1, 2], [1, 50]).unwrap();
        assert!(single.starts_with("a left 1 request without"), "{single}");
        let text = message([1, 2], [50, 50]).unwrap();
        assert_eq!(text, "a stopped responding in 1 of 2 slices");
        let run = message([1, 1], [50, 50]).unwrap();
        assert_eq!(run, "a stopped responding");
    }
}
