//! How connections were opened before a load.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::measure::outcome::{Outcome, Outcomes};
use crate::measure::sum::sum;

/// The opening of a load's connections.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConnectionOpening {
    /// Requested connections.
    pub asked: u64,
    /// Connections that were open when the opening had ended.
    pub standing: u64,
    /// The time from the first attempt to connect to the end of the last one.
    pub open_ns: u64,
    /// The outcomes of the others. Connections that are in no list were opened and closed again.
    pub failures: Outcomes,
}

impl ConnectionOpening {
    /// The sum of two openings, one after the other.
    #[must_use]
    pub fn plus(mut self, other: &ConnectionOpening) -> ConnectionOpening {
        self.asked = sum([self.asked, other.asked]);
        self.standing = sum([self.standing, other.standing]);
        self.open_ns = sum([self.open_ns, other.open_ns]);
        self.failures.merge(&other.failures);
        self
    }

    /// Connections for which this machine lacked ports, descriptors or memory, and those that were
    /// not tried after that. The subject has no part in these failures.
    #[must_use]
    pub fn lacked(&self) -> u64 {
        let outcomes = [Outcome::NoPort, Outcome::NoDescriptor, Outcome::NoMemory];
        match sum(outcomes.map(|outcome| self.failures.count(outcome))) {
            0 => 0,
            lacked => sum([lacked, self.failures.count(Outcome::Unopened)]),
        }
    }

    /// Connections that the subject did not accept, refused or closed again.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.failures.failed() + self.closed_again()
    }

    /// Connections that were open and were closed again before the end.
    #[must_use]
    pub fn closed_again(&self) -> u64 {
        let ended = self.standing + self.failures.sent();
        self.asked.saturating_sub(ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn untried_connections_count_against_the_machine_if_it_lacked_something() {
        // Method: 600 untried connections after timeouts, after a missing port, and after a stop;
        // 5 that are in no list were closed again.
        let opening = |outcome| {
            let mut failures = Outcomes::default();
            failures.add_times(outcome, 5);
            failures.add_times(Outcome::Unopened, 600);
            ConnectionOpening {
                asked: 1_000,
                standing: 390,
                open_ns: 0,
                failures,
            }
        };
        for (outcome, lacked, failed) in [
            (Outcome::Timeout, 0, 10),
            (Outcome::NoPort, 605, 5),
            (Outcome::Unfinished, 0, 5),
        ] {
            let opening = opening(outcome);
            assert_eq!((opening.lacked(), opening.failed()), (lacked, failed));
            assert_eq!(opening.closed_again(), 5);
        }
        let both = opening(Outcome::NoPort).plus(&opening(Outcome::Refused));
        assert_eq!((both.asked, both.failures.sent()), (2_000, 1_210));
    }
}
