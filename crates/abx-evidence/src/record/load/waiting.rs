//! How the generator waited for responses.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a worker thread waits for responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Wait {
    /// It looks for them again and again, for a bounded time. The server never pays
    /// for waking it.
    Awake,
    /// It sleeps until the kernel wakes it.
    #[default]
    Asleep,
}

/// How the worker threads waited, and why.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Waiting {
    /// How they waited.
    pub wait: Wait,
    /// The reason why they did not stay awake, unless that was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asleep_because: Option<String>,
}

impl Wait {
    /// Its name, as records and command lines write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Wait::Awake => "awake",
            Wait::Asleep => "asleep",
        }
    }
}
