//! Writes requests: each begins a stream, and its body follows as there is room for it.

use std::sync::Arc;

use super::client::Client;
use super::frame;
use super::request::EncodedRequest;
use super::streams::OpenStream;

/// The first block declares our table empty, whatever the server allows, so that
/// no further update is needed when it allows less (RFC 7541, section 4.2).
const NO_TABLE: &[u8] = &[0x20];

impl Client {
    /// Whether a request may be sent now.
    #[must_use]
    pub fn may_begin(&self) -> bool {
        self.streams.len() < self.peer.streams_max && !self.is_leaving()
    }

    /// Begins a stream with a request, which is appended to `out`, and returns its number;
    /// `None` if the server allows no further one now.
    pub fn begin(&mut self, request: &EncodedRequest, out: &mut Vec<u8>) -> Option<u32> {
        if !self.may_begin() {
            return None;
        }
        let number = self.next;
        self.next += 2;
        let update = if number == 1 { NO_TABLE } else { &[] };
        let has_body = !request.body.is_empty();
        frame::headers(out, number, update, &request.block, !has_body);
        self.streams.push(OpenStream {
            number,
            kind: request.kind,
            head: None,
            interim: 0,
            body_bytes: 0,
            taken: 0,
            window: self.peer.window,
            unsent: has_body.then(|| (Arc::clone(&request.body), 0)),
        });
        if has_body {
            self.unsent += 1;
            self.send_bodies(out);
        }
        Some(number)
    }

    /// Sends as much of the bodies of requests as there is room for, the oldest first.
    pub(super) fn send_bodies(&mut self, out: &mut Vec<u8>) {
        if self.unsent == 0 {
            return;
        }
        for stream in self.streams.iter_mut() {
            let OpenStream {
                number,
                window,
                unsent,
                ..
            } = stream;
            while let Some((body, sent)) = unsent {
                let room = usize::try_from(self.window.min(*window)).unwrap_or(0);
                let left = body.len() - *sent;
                let part = left.min(room).min(self.peer.frame_bytes_max);
                if part == 0 {
                    break;
                }
                let ends_stream = part == left;
                let flags = if ends_stream { frame::END_STREAM } else { 0 };
                frame::head(out, part, frame::DATA, flags, *number);
                out.extend_from_slice(&body[*sent..*sent + part]);
                *sent += part;
                // A frame is far shorter than these are long.
                self.window -= part as i64;
                *window -= part as i64;
                if ends_stream {
                    *unsent = None;
                    self.unsent -= 1;
                }
            }
        }
    }
}
