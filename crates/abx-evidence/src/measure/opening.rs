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
    /// Both together: one after the other.
    #[must_use]
    pub fn plus(mut self, other: &ConnectionOpening) -> ConnectionOpening {
        self.asked = sum([self.asked, other.asked]);
        self.standing = sum([self.standing, other.standing]);
        self.open_ns = sum([self.open_ns, other.open_ns]);
        self.failures.merge(&other.failures);
        self
    }

    /// Connections that this machine had nothing for, and those that were not tried any
    /// more after that: the subject has no part in it.
    #[must_use]
    pub fn lacked(&self) -> u64 {
        let outcomes = [Outcome::NoPort, Outcome::NoDescriptor, Outcome::NoMemory];
        match sum(outcomes.map(|outcome| self.failures.count(outcome))) {
            0 => 0,
            lacked => sum([lacked, self.failures.count(Outcome::Unopened)]),
        }
    }

    /// Connections that the subject did not take, refused or closed again.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.failures.failed() + self.closed_again()
    }

    /// Connections that stood and did not stand at the end.
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
    fn what_was_never_tried_is_the_machine_s_when_it_lacked_something() {
        // Method: the same 600 untried connections behind timeouts, behind a missing port,
        // and after a stop; 5 that are in no list were closed again.
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
        let figures = |connection_opening: ConnectionOpening| {
            (
                connection_opening.lacked(),
                connection_opening.failed(),
                connection_opening.closed_again(),
            )
        };
        assert_eq!(figures(opening(Outcome::Timeout)), (0, 10, 5));
        assert_eq!(figures(opening(Outcome::NoPort)), (605, 5, 5));
        assert_eq!(figures(opening(Outcome::Unfinished)), (0, 5, 5));
        let both = opening(Outcome::NoPort).plus(&opening(Outcome::Refused));
        assert_eq!((both.asked, both.failures.sent()), (2_000, 1_210));
    }
}
