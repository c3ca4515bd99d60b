//! How far findings limit a result.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How far a finding limits what may be claimed.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Worth knowing; the claim stands.
    Note,
    /// The claim stands as a bound only: of a ratio or a throughput as "at
    /// least"; for times the message says to which side.
    Bound,
    /// No claim stands.
    Void,
}
