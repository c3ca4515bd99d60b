//! The settings of both sides (RFC 9113, section 6.5).

use super::fault::Fault;
use super::frame::{self, PAYLOAD_BYTES_MAX};

/// The room of each of our streams and of the connection, enough that no peer waits for us. Half of
/// it is given back when half of it was taken.
pub(super) const WINDOW: u32 = (1 << 30) - 1;
/// The size of a window before any setting or update.
pub(super) const FIRST_WINDOW: u32 = 65_535;
/// The largest window.
pub(super) const WINDOW_MAX: i64 = (1 << 31) - 1;

const ENABLE_PUSH: u16 = 0x2;
const MAX_CONCURRENT_STREAMS: u16 = 0x3;
const INITIAL_WINDOW_SIZE: u16 = 0x4;
const MAX_FRAME_SIZE: u16 = 0x5;
const MAX_HEADER_LIST_SIZE: u16 = 0x6;

/// The peer's settings. The size of its table is ignored: we use none.
#[derive(Debug, Clone, Copy)]
pub(super) struct PeerSettings {
    pub(super) streams_max: usize,
    pub(super) window: i64,
    pub(super) frame_bytes_max: usize,
}

impl Default for PeerSettings {
    fn default() -> PeerSettings {
        PeerSettings {
            streams_max: usize::MAX,
            window: i64::from(FIRST_WINDOW),
            frame_bytes_max: PAYLOAD_BYTES_MAX,
        }
    }
}

impl PeerSettings {
    /// Applies a frame of settings, in its order; only clients may allow pushes, by 1.
    ///
    /// # Errors
    /// A malformed setting, or a value that is not allowed.
    pub(super) fn take(&mut self, payload: &[u8], push_max: u32) -> Result<(), Fault> {
        let (settings, []) = payload.as_chunks::<6>() else {
            return Err(Fault::FrameSize);
        };
        for [n0, n1, v0, v1, v2, v3] in settings {
            let value = u32::from_be_bytes([*v0, *v1, *v2, *v3]);
            let size = usize::try_from(value).unwrap_or(usize::MAX);
            match u16::from_be_bytes([*n0, *n1]) {
                ENABLE_PUSH if value > push_max => {
                    return Err(Fault::Broken(match push_max {
                        0 => "a server sent SETTINGS_ENABLE_PUSH 1",
                        _ => "SETTINGS_ENABLE_PUSH is neither 0 nor 1",
                    }));
                }
                MAX_CONCURRENT_STREAMS => self.streams_max = size,
                INITIAL_WINDOW_SIZE if i64::from(value) > WINDOW_MAX => {
                    return Err(Fault::FlowControl);
                }
                INITIAL_WINDOW_SIZE => self.window = i64::from(value),
                MAX_FRAME_SIZE if !(PAYLOAD_BYTES_MAX..1 << 24).contains(&size) => {
                    return Err(Fault::Broken("SETTINGS_MAX_FRAME_SIZE is out of range"));
                }
                MAX_FRAME_SIZE => self.frame_bytes_max = size,
                // Unknown settings are ignored (section 6.5.2).
                _ => {}
            }
        }
        Ok(())
    }
}

/// The preface with which a client begins a connection.
pub const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Writes the start of a client's connection: the preface, our settings, and its room.
pub(super) fn open(out: &mut Vec<u8>) {
    out.extend_from_slice(PREFACE);
    write(out, &[(ENABLE_PUSH, 0), (INITIAL_WINDOW_SIZE, WINDOW)]);
}

/// Writes the start of a server's connection, with its limits for streams at once and for the bytes
/// of heads.
pub(super) fn open_server(out: &mut Vec<u8>, streams_max: u32, head_bytes_max: u32) {
    let ours = [
        (MAX_CONCURRENT_STREAMS, streams_max),
        (INITIAL_WINDOW_SIZE, WINDOW),
        (MAX_HEADER_LIST_SIZE, head_bytes_max),
    ];
    write(out, &ours);
}

fn write(out: &mut Vec<u8>, ours: &[(u16, u32)]) {
    frame::head(out, 6 * ours.len(), frame::SETTINGS, 0, 0);
    for (name, value) in ours {
        out.extend_from_slice(&name.to_be_bytes());
        out.extend_from_slice(&value.to_be_bytes());
    }
    frame::window_update(out, 0, WINDOW - FIRST_WINDOW);
}
