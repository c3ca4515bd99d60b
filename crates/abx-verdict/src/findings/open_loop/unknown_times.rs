//! Requests whose response time is unknown.

use crate::findings::open_loop::pace::ADD_CONNECTIONS;
use crate::findings::prelude::*;

#[derive(Debug, Clone, Copy)]
pub(crate) struct UnknownTimes {
    /// All such requests.
    pub(crate) requests: u64,
    /// The requests among them that were never sent.
    pub(crate) unsent: u64,
}

impl UnknownTimes {
    /// The unknown times of a subject in all blocks.
    pub(crate) fn of(view: &SubjectView) -> UnknownTimes {
        let unsent = view.offered().map_or(0, |offered| offered.unsent);
        UnknownTimes {
            requests: view.sums.outcomes.without_response().saturating_add(unsent),
            unsent,
        }
    }

    /// The fate of the requests, as a clause.
    pub(crate) fn text(self, who: &str) -> String {
        let waiting = self.requests.saturating_sub(self.unsent);
        match (self.unsent, waiting) {
            (0, waiting) => format!("{} to {who} had no response", counted(waiting, "request")),
            (unsent, 0) => format!("abx never sent {} to {who}", counted(unsent, "request")),
            (unsent, waiting) => format!(
                "abx never sent {} to {who}, and {} had no response",
                counted(unsent, "request"),
                waiting
            ),
        }
    }

    /// The finding with a remedy for most of the requests. More time to respond does not help
    /// requests that were never sent.
    pub(crate) fn remedied(self, finding: Finding) -> Finding {
        if 2 * self.unsent > self.requests {
            finding.with_remedy(ADD_CONNECTIONS)
        } else {
            finding
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use abx_evidence::FindingId;

    #[test]
    fn unknown_times_state_the_fate_of_their_requests_and_the_remedy_for_most() {
        // Method: unsent requests, requests without a response, and both, mostly unsent or not.
        let of = |requests, unsent| {
            let unknown = UnknownTimes { requests, unsent };
            let finding = unknown.remedied(new_finding(FindingId::TimesAtLeast, unknown.text("a")));
            (finding.message, finding.remedy.contains("--timeout"))
        };
        let message = |text: &str, is_timeout| (text.to_owned(), is_timeout);
        assert_eq!(of(1, 1), message("abx never sent 1 request to a", false));
        assert_eq!(
            of(14_400, 0),
            message("14400 requests to a had no response", true)
        );
        let more_unsent = "abx never sent 1000 requests to a, and 26 had no response";
        assert_eq!(of(1_026, 1_000), message(more_unsent, false));
        let fewer_unsent = "abx never sent 2 requests to a, and 1000000 had no response";
        assert_eq!(of(1_000_002, 2), message(fewer_unsent, true));
    }
}
