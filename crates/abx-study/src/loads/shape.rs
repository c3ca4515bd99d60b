//! The defaults of a load's keys for its shape.

use std::time::Duration;

pub use abx_engine::MESSAGE_BYTES_MAX;
use abx_evidence::{ExpectedStatus, LoadShape};

/// The default payload of a message, in bytes: as long as the page of the built-in server.
pub const MESSAGE_BYTES: u32 = 87;
/// The shortest payload of a broadcast, in bytes: it carries its number.
pub const BROADCAST_BYTES_MIN: u32 = 16;
/// How long connections are held by default.
pub const HOLD: Duration = Duration::from_secs(1);
/// The status that opens a WebSocket.
pub const SWITCHED: ExpectedStatus = ExpectedStatus::exactly(101);

/// Whether messages of this length can be sent in loads of this shape.
#[must_use]
pub fn is_long_enough(shape: LoadShape, bytes: u32) -> bool {
    shape != LoadShape::Broadcast || bytes >= BROADCAST_BYTES_MIN
}
