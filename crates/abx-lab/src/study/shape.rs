//! Which of a load's keys mean something for its shape, and what they say when they
//! are left out.

use std::time::Duration;

use abx_evidence::{ExpectedStatus, LoadShape};

/// The payload of a message when nothing else is said, in bytes: as long as the
/// page of the built-in server.
pub const MESSAGE_BYTES: u32 = 87;
/// The longest payload that can be asked for, in bytes.
pub const MESSAGE_BYTES_MAX: u32 = 16 << 20;
/// The shortest payload of a broadcast, in bytes: it carries its number.
pub const BROADCAST_BYTES_MIN: u32 = 16;
/// How long connections are held when nothing else is said.
pub const HOLD: Duration = Duration::from_secs(1);
/// The status that opens a WebSocket.
pub const SWITCHED: ExpectedStatus = ExpectedStatus::exactly(101);

/// Whether messages of this length can be sent in loads of this shape.
#[must_use]
pub fn is_long_enough(shape: LoadShape, bytes: u32) -> bool {
    shape != LoadShape::Broadcast || bytes >= BROADCAST_BYTES_MIN
}

/// Whether a key of a load says something of loads of this shape: as a study file
/// names it, and `connection_stages`, which only a run has. Where a key says nothing, it is refused rather than passed over.
#[must_use]
pub fn suits(shape: LoadShape, key: &str) -> bool {
    if shape == LoadShape::Scenario {
        let is_tls = key == "tls" || key.starts_with("tls.");
        return is_tls || ["name", "scenario", "connections", "timeout"].contains(&key);
    }
    let is_sent = shape != LoadShape::Connections;
    let is_answered = matches!(shape, LoadShape::Request | LoadShape::Echo);
    match key {
        "think"
        | "calls"
        | "cold_cache"
        | "protocol"
        | "keep_alive"
        | "expect"
        | "expect.status"
        | "expect.body"
        | "requests.method"
        | "requests.body"
        | "requests.count"
        | "requests.urls"
        | "requests.file"
        | "requests.form"
        | "requests.weight"
        | "requests.replay"
        | "requests.speed"
        | "requests.replay_methods"
        | "streams" => shape == LoadShape::Request,
        "scenario" => false,
        "message" => is_sent && shape != LoadShape::Request,
        "hold" => !is_sent,
        "rate" | "slo" | "arrivals" | "pipeline" => is_sent,
        "verify_every" | "connection_stages" => is_answered,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_for_the_shapes_that_they_say_something_of() {
        // Method: for each key the shapes that take it, in their order.
        let all = [
            LoadShape::Request,
            LoadShape::Echo,
            LoadShape::Broadcast,
            LoadShape::Connections,
            LoadShape::Scenario,
        ];
        let takers = |key| all.map(|shape| u8::from(suits(shape, key)));
        assert_eq!(takers("keep_alive"), [1, 0, 0, 0, 0]);
        assert_eq!(takers("message"), [0, 1, 1, 0, 0]);
        assert_eq!(takers("hold"), [0, 0, 0, 1, 0]);
        assert_eq!(takers("rate"), [1, 1, 1, 0, 0]);
        assert_eq!(takers("pipeline"), [1, 1, 1, 0, 0]);
        assert_eq!(takers("streams"), [1, 0, 0, 0, 0]);
        assert_eq!(takers("verify_every"), [1, 1, 0, 0, 0]);
        assert_eq!(takers("connections"), [1, 1, 1, 1, 1]);
        assert_eq!(takers("scenario"), [0, 0, 0, 0, 1]);
    }
}
