//! How far findings limit a result.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much a finding limits a result.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Worth knowing. The result stands.
    Note,
    /// The result is only a bound. A ratio or a throughput is "at least"; for times
    /// the message names the side.
    Bound,
    /// There is no result.
    Void,
}
