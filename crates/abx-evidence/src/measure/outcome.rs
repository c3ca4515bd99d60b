//! Outcomes of requests: a closed list, counted and never thrown.

use std::borrow::Cow;

use crate::measure::sum::sum;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Declares the outcomes: each by its variant, its name in records and reports, and its meaning.
macro_rules! outcomes {
    ($($(#[doc = $meaning:literal])+ $outcome:ident = $name:literal,)+) => {
        /// The outcome of one attempt to get a response to a request.
        ///
        /// A refused connection or a wrong body is a measurement, not an error of abx.
        /// Every attempt has exactly one outcome.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Outcome {
            $($(#[doc = $meaning])+ $outcome,)+
        }

        impl Outcome {
            /// Every outcome, in the order of the counters.
            pub const ALL: [Outcome; [$($name),+].len()] = [$(Outcome::$outcome),+];

            /// The name in records and reports.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Outcome::$outcome => $name,)+
                }
            }

            /// What the schema of records says about it.
            fn meaning(self) -> &'static str {
                match self {
                    $(Outcome::$outcome => concat!($($meaning),+).trim_start(),)+
                }
            }
        }
    };
}

outcomes! {
    /// A complete response that passed every check. Only these count as throughput.
    Ok = "ok",
    /// A complete response with an unexpected status.
    WrongStatus = "wrong_status",
    /// A complete response whose body is shorter or longer than expected.
    WrongLength = "wrong_length",
    /// A complete response of the expected length with an unexpected body.
    WrongBody = "wrong_body",
    /// Bytes that violate the protocol.
    Malformed = "malformed",
    /// A head with more fields or bytes than abx reads.
    HeadTooLarge = "head_too_large",
    /// Bytes of TLS or HTTP/2 where HTTP/1 was expected, or of HTTP/1 where HTTP/2 was.
    OtherProtocol = "other_protocol",
    /// The peer refused the connection.
    Refused = "refused",
    /// The connection could not be opened for another reason, such as no route.
    Unreachable = "unreachable",
    /// TLS failed. In the handshake: a certificate that is not trusted, no version or cipher in
    /// common, or no TLS. After it: a record that cannot be decrypted, or an alert.
    TlsFailed = "tls_failed",
    /// The peer reset the connection.
    Reset = "reset",
    /// The server reset the request's HTTP/2 stream; its connection stayed open.
    StreamReset = "stream_reset",
    /// No complete response within the timeout.
    Timeout = "timeout",
    /// The connection was closed in the middle of a response, or before the first response on a
    /// new connection.
    EarlyClose = "early_close",
    /// The connection was closed without a byte of the response after the peer had received the
    /// whole request: its kernel had acknowledged all of it before the close.
    EmptyResponse = "empty_response",
    /// Bytes arrived on a connection without a request in flight. No request has this outcome; it
    /// is counted separately.
    Unsolicited = "unsolicited",
    /// A reused connection was closed before the response's first byte, and the peer is not known
    /// to have received the request. The request was then sent again, with its own outcome.
    IdleClose = "idle_close",
    /// Like `idle_close`, for the first request after the load was suspended for a second or more,
    /// on any connection, and whatever the peer's kernel had received: a server may close idle
    /// connections, and abx had let them be idle.
    RestClose = "rest_close",
    /// No local port was free for a new connection.
    NoPort = "no_port",
    /// No file descriptor was free for a new connection.
    NoDescriptor = "no_descriptor",
    /// The kernel had no memory for a new connection, or could not watch another one.
    NoMemory = "no_memory",
    /// A connection that was never tried, because opening connections had been given up. No
    /// request has this outcome.
    Unopened = "unopened",
    /// Given up by abx while it was in flight: at an interruption, or at the end.
    Unfinished = "unfinished",
}

impl Outcome {
    /// Whether a complete response was received, correct or not.
    #[must_use]
    pub fn is_completed(self) -> bool {
        matches!(
            self,
            Outcome::Ok | Outcome::WrongStatus | Outcome::WrongLength | Outcome::WrongBody
        )
    }

    /// Whether it counts against the subject. `IdleClose` and `RestClose` do not, because the
    /// request was sent again; nor do interruptions and limits on the side of abx.
    #[must_use]
    pub fn is_failure(self) -> bool {
        !matches!(
            self,
            Outcome::Ok
                | Outcome::IdleClose
                | Outcome::RestClose
                | Outcome::Unfinished
                | Outcome::NoPort
                | Outcome::NoDescriptor
                | Outcome::NoMemory
                | Outcome::Unopened
        )
    }

    /// Whether it is the final outcome of a request: not that of an attempt that is followed by
    /// another one, nor of something that is not a request.
    #[must_use]
    pub fn is_of_request(self) -> bool {
        !matches!(
            self,
            Outcome::IdleClose | Outcome::RestClose | Outcome::Unsolicited | Outcome::Unopened
        )
    }

    /// Whether it had no response when it was given up, so that its time is only known as "at
    /// least".
    #[must_use]
    pub fn is_without_response(self) -> bool {
        matches!(self, Outcome::Timeout | Outcome::Unfinished)
    }

    pub(crate) fn from_name(name: &str) -> Option<Outcome> {
        Outcome::ALL
            .into_iter()
            .find(|outcome| outcome.name() == name)
    }
}

/// How often each outcome occurred. In JSON, an object without the outcomes that did not occur.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcomes([u64; Outcome::ALL.len()]);

impl Outcomes {
    /// Counts one attempt.
    pub fn add(&mut self, outcome: Outcome) {
        self.0[outcome as usize] += 1;
    }

    /// Counts several attempts.
    pub(crate) fn add_times(&mut self, outcome: Outcome, times: u64) {
        self.0[outcome as usize] += times;
    }

    /// How often `outcome` occurred.
    #[must_use]
    pub fn count(&self, outcome: Outcome) -> u64 {
        self.0[outcome as usize]
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Outcomes) {
        for (count, more) in self.0.iter_mut().zip(other.0) {
            *count = count.saturating_add(more);
        }
    }

    /// The outcomes since the counts were `before`.
    #[must_use]
    pub fn since(&self, before: &Outcomes) -> Outcomes {
        let mut since = self.clone();
        for (count, before) in since.0.iter_mut().zip(before.0) {
            *count = count.saturating_sub(before);
        }
        since
    }

    /// The outcomes that occurred, with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (Outcome, u64)> + '_ {
        Outcome::ALL
            .into_iter()
            .map(|outcome| (outcome, self.count(outcome)))
            .filter(|(_, count)| *count > 0)
    }

    /// All attempts.
    #[must_use]
    pub fn sent(&self) -> u64 {
        sum(self.0)
    }

    /// Requests: attempts, without those that were followed by another one, and without outcomes
    /// that are not of requests.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.sum(Outcome::is_of_request)
    }

    /// Complete responses, correct or not.
    #[must_use]
    pub fn completed(&self) -> u64 {
        self.sum(Outcome::is_completed)
    }

    /// Verified responses.
    #[must_use]
    pub fn ok(&self) -> u64 {
        self.count(Outcome::Ok)
    }

    /// Attempts that count against the subject.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.sum(Outcome::is_failure)
    }

    /// Attempts that had no response when they were given up.
    #[must_use]
    pub fn without_response(&self) -> u64 {
        self.sum(Outcome::is_without_response)
    }

    fn sum(&self, wanted: impl Fn(Outcome) -> bool) -> u64 {
        let outcomes = self.iter().filter(|(outcome, _)| wanted(*outcome));
        sum(outcomes.map(|(_, count)| count))
    }
}

impl Serialize for Outcomes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (outcome, count) in self.iter() {
            map.serialize_entry(outcome.name(), &count)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Outcomes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Outcomes, D::Error> {
        struct Map;
        impl<'de> Visitor<'de> for Map {
            type Value = Outcomes;

            fn expecting(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
                formatter.write_str("an object of outcome names and counts")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Outcomes, A::Error> {
                let mut outcomes = Outcomes::default();
                while let Some((name, count)) = map.next_entry::<String, u64>()? {
                    // A later version may know more outcomes: none may be dropped silently.
                    let outcome = Outcome::from_name(&name).ok_or_else(|| {
                        serde::de::Error::custom(format!("unknown outcome `{name}`"))
                    })?;
                    outcomes.0[outcome as usize] += count;
                }
                Ok(outcomes)
            }
        }
        deserializer.deserialize_map(Map)
    }
}

impl JsonSchema for Outcomes {
    fn schema_name() -> Cow<'static, str> {
        "Outcomes".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let counts = Outcome::ALL.map(|outcome| {
            let mut count = generator.subschema_for::<u64>();
            count.insert("description".to_owned(), outcome.meaning().into());
            (outcome.name().to_owned(), count.to_value())
        });
        json_schema!({
            "description": "How often each outcome occurred. Others are omitted.",
            "type": "object",
            "properties": counts.into_iter().collect::<serde_json::Map<_, _>>(),
            "additionalProperties": false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_follow_the_order_of_the_list() {
        // Method: each outcome's number is its index in the list, and its name is read back.
        for (index, outcome) in Outcome::ALL.into_iter().enumerate() {
            assert_eq!(outcome as usize, index);
            assert_eq!(Outcome::from_name(outcome.name()), Some(outcome));
        }
    }

    #[test]
    fn a_wrong_response_is_completed_but_never_ok() {
        // Method: every outcome once, and the sum of each class.
        let mut outcomes = Outcomes::default();
        Outcome::ALL
            .into_iter()
            .for_each(|outcome| outcomes.add(outcome));
        assert_eq!((outcomes.sent(), outcomes.requests()), (23, 19));
        assert_eq!(outcomes.completed(), 4);
        assert_eq!(outcomes.ok(), 1);
        assert_eq!(outcomes.failed(), 15);
        assert_eq!(outcomes.without_response(), 2);
    }

    #[test]
    fn counts_since_earlier_ones_are_their_differences() {
        // Method: two more of an outcome that had occurred, and one of another.
        let mut before = Outcomes::default();
        before.add_times(Outcome::Ok, 3);
        let mut now = before.clone();
        now.add_times(Outcome::Ok, 2);
        now.add(Outcome::Reset);
        let since = now.since(&before);
        let counts: Vec<_> = since.iter().collect();
        assert_eq!(counts, [(Outcome::Ok, 2), (Outcome::Reset, 1)]);
    }

    #[test]
    fn json_has_only_outcomes_that_occurred_and_reads_back() {
        // Method: written and read, and an unknown name.
        let mut outcomes = Outcomes::default();
        outcomes.add(Outcome::Ok);
        outcomes.add(Outcome::IdleClose);
        let text = serde_json::to_string(&outcomes).unwrap();
        assert_eq!(text, r#"{"ok":1,"idle_close":1}"#);
        assert_eq!(serde_json::from_str::<Outcomes>(&text).unwrap(), outcomes);
        assert!(serde_json::from_str::<Outcomes>(r#"{"fine":1}"#).is_err());
    }
}
