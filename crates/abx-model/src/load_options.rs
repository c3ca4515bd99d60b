//! The options that every load has, whatever its connections carry.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What every load has, whatever its connections carry: the same in a study, in the plan of
/// an engine and in a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoadOptions {
    /// Connections.
    pub connections: u32,
    /// Whether a connection serves more than one request.
    pub keep_alive: bool,
    /// The timeout of a request, in seconds.
    #[serde(rename = "timeout_s", with = "seconds")]
    #[schemars(with = "f64")]
    pub timeout: Duration,
    /// Connections opened per second before the load; `None` for as fast as the subject
    /// accepts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_rate: Option<u32>,
    /// One response in this many had its body hashed; 0 is none.
    pub verify_every: u32,
}

impl Default for LoadOptions {
    fn default() -> LoadOptions {
        LoadOptions {
            connections: 1,
            keep_alive: true,
            timeout: Duration::from_secs(10),
            open_rate: None,
            verify_every: 100,
        }
    }
}

impl LoadOptions {
    /// These options with the body of one response in `every` hashed; 0 is none.
    #[must_use]
    pub fn hashing_one_in(mut self, every: u32) -> LoadOptions {
        self.verify_every = every;
        self
    }

    /// One response in this many has its body hashed; 0 is none.
    #[must_use]
    pub fn hashed_one_in(&self) -> u64 {
        self.verify_every.into()
    }

    /// The timeout in ns, at most `u64::MAX`.
    #[must_use]
    #[inline]
    pub fn timeout_ns(&self) -> u64 {
        u64::try_from(self.timeout.as_nanos()).unwrap_or(u64::MAX)
    }
}

/// Makes the load options in a type's field `options` accessible as if they were the type's own
/// fields.
#[macro_export]
macro_rules! has_options {
    ($name:ty) => {
        impl std::ops::Deref for $name {
            type Target = $crate::LoadOptions;

            fn deref(&self) -> &$crate::LoadOptions {
                &self.options
            }
        }

        impl std::ops::DerefMut for $name {
            fn deref_mut(&mut self) -> &mut $crate::LoadOptions {
                &mut self.options
            }
        }
    };
}

/// A time as a number of seconds.
mod seconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f64(time.as_secs_f64())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        Duration::try_from_secs_f64(f64::deserialize(from)?).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_times_in_seconds_to_the_nanosecond() {
        // Method: times with few and many digits, written and read; a time below zero is refused.
        for ns in [1, 100_000_000, 10_000_000_000, 86_399_999_999_999] {
            let options = LoadOptions {
                timeout: Duration::from_nanos(ns),
                ..LoadOptions::default()
            };
            let text = serde_json::to_string(&options).expect("it is plain data");
            assert_eq!(
                serde_json::from_str::<LoadOptions>(&text).ok(),
                Some(options)
            );
            assert_eq!(options.timeout_ns(), ns);
        }
        let text = serde_json::to_string(&LoadOptions::default()).expect("it is plain data");
        let below_zero = text.replace("10.0", "-1.0");
        assert_ne!(below_zero, text);
        assert!(serde_json::from_str::<LoadOptions>(&below_zero).is_err());
    }
}
