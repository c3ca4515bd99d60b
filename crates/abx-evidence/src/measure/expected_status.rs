//! Which statuses are correct.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The correct status, or a class of statuses. In records a number such as 200, or a text such
/// as `2xx`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "StatusWord", into = "StatusWord")]
pub struct ExpectedStatus {
    first: u16,
    /// How many statuses after the first one are correct too.
    others: u16,
}

/// A status, or a class of them, as it is written.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum StatusWord {
    One(u16),
    Class(String),
}

/// How plans write "every status". Users cannot request it, because then no status would fail.
const ANY: &str = "any";

/// Why a text is not a status.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a status: give one from 100 to 599, or a class such as 2xx")]
pub struct StatusError(String);

impl ExpectedStatus {
    /// This status alone.
    #[must_use]
    pub const fn exactly(status: u16) -> ExpectedStatus {
        ExpectedStatus {
            first: status,
            others: 0,
        }
    }

    /// Every status, for responses that are checked elsewhere.
    #[must_use]
    pub const fn any() -> ExpectedStatus {
        ExpectedStatus {
            first: 0,
            others: u16::MAX,
        }
    }

    /// Whether a status is correct.
    #[must_use]
    #[inline]
    pub fn accepts(self, status: u16) -> bool {
        status.wrapping_sub(self.first) <= self.others
    }
}

impl Default for ExpectedStatus {
    /// 200.
    fn default() -> ExpectedStatus {
        ExpectedStatus::exactly(200)
    }
}

impl From<u16> for ExpectedStatus {
    fn from(status: u16) -> ExpectedStatus {
        ExpectedStatus::exactly(status)
    }
}

impl FromStr for ExpectedStatus {
    type Err = StatusError;

    /// Reads `200` or `2xx`.
    fn from_str(text: &str) -> Result<ExpectedStatus, StatusError> {
        let class = text.strip_suffix("xx").or(text.strip_suffix("XX"));
        let (first, others) = match class {
            Some(class) => (
                class.parse::<u16>().map(|class| class.saturating_mul(100)),
                99,
            ),
            None => (text.parse(), 0),
        };
        match first {
            Ok(first @ 100..600) => Ok(ExpectedStatus { first, others }),
            _ => Err(StatusError(text.to_owned())),
        }
    }
}

impl fmt::Display for ExpectedStatus {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.others {
            0 => write!(formatter, "{}", self.first),
            u16::MAX => formatter.write_str(ANY),
            _ => write!(formatter, "{}xx", self.first / 100),
        }
    }
}

impl TryFrom<StatusWord> for ExpectedStatus {
    type Error = StatusError;

    fn try_from(word: StatusWord) -> Result<ExpectedStatus, StatusError> {
        match word {
            StatusWord::One(status) => Ok(status.into()),
            StatusWord::Class(text) if text == ANY => Ok(ExpectedStatus::any()),
            StatusWord::Class(text) => text.parse(),
        }
    }
}

impl From<ExpectedStatus> for StatusWord {
    fn from(expected: ExpectedStatus) -> StatusWord {
        match expected.others {
            0 => StatusWord::One(expected.first),
            _ => StatusWord::Class(expected.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_or_a_class_of_statuses_is_accepted() {
        // Method: both sides of each edge; then texts and JSON, written and read.
        let read = |text: &str| text.parse::<ExpectedStatus>();
        let single = read("204").unwrap();
        let class = read("2xx").unwrap();
        for (status, by_single, by_class) in [
            (199, false, false),
            (200, false, true),
            (204, true, true),
            (299, false, true),
            (300, false, false),
            (0, false, false),
        ] {
            assert_eq!(single.accepts(status), by_single, "{status}");
            assert_eq!(class.accepts(status), by_class, "{status}");
        }
        for (expected, json) in [(single, "204"), (class, "\"2xx\"")] {
            assert_eq!(serde_json::to_string(&expected).unwrap(), json);
            let back: ExpectedStatus = serde_json::from_str(json).unwrap();
            assert_eq!(back, expected);
        }
        assert_eq!(read("5XX").unwrap().to_string(), "5xx");
        for wrong in [
            "", "any", "xx", "20", "600", "6xx", "0xx", "20x", "2x", "655xx", "-2xx",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        let any = serde_json::to_string(&ExpectedStatus::any()).unwrap();
        let any = serde_json::from_str::<ExpectedStatus>(&any).unwrap();
        assert!(
            [0, 100, 599, u16::MAX]
                .iter()
                .all(|status| any.accepts(*status))
        );
    }
}
