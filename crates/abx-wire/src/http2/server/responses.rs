//! Writes responses: a head, and the body as far as the client has room for it.

use super::super::fault::INTERNAL_ERROR;
use super::super::frame::{self, PAYLOAD_BYTES_MAX};
use super::connection::Server;
use super::head_writer::ResponseHead;
use super::streams::StreamEnd;
/// `:status: 100`.
const CONTINUE: &[u8] = &[0x08, 0x03, b'1', b'0', b'0'];

impl Server {
    /// Writes the head of the response on a stream; `ends` if no body follows. A stream that has
    /// ended gets nothing.
    pub fn respond(&mut self, stream: u32, head: &ResponseHead, ends: bool, out: &mut Vec<u8>) {
        if self.streams.get(stream).is_none() {
            return;
        }
        self.writer.write(stream, head, ends, out);
        if ends {
            self.finish(stream);
        }
    }

    /// Writes an interim response 100 for a client that holds its body back.
    pub fn invite(&mut self, stream: u32, out: &mut Vec<u8>) {
        if self.streams.get(stream).is_some() {
            let update = self.writer.update();
            frame::headers(out, stream, update, CONTINUE, false);
        }
    }

    /// How many bytes of a body may be sent on a stream now; none on one that has ended.
    #[must_use]
    pub fn room(&self, stream: u32) -> usize {
        let window = self.streams.get(stream).map_or(0, |stream| stream.window);
        usize::try_from(self.window.min(window)).unwrap_or(0)
    }

    /// How many bytes of bodies may be sent now on all streams together.
    #[must_use]
    pub fn room_of_all(&self) -> usize {
        usize::try_from(self.window).unwrap_or(0)
    }

    /// Writes the next bytes of a body, no more than there is [room](Server::room) for; `ends`
    /// if they are the last, which may be none.
    ///
    /// # Panics
    /// If there are more bytes than room.
    pub fn send(&mut self, number: u32, mut bytes: &[u8], ends: bool, out: &mut Vec<u8>) {
        let Some(stream) = self.streams.get_mut(number) else {
            return;
        };
        let length = i64::try_from(bytes.len()).unwrap_or(i64::MAX);
        let fits = length <= stream.window.min(self.window) || bytes.is_empty();
        assert!(fits, "more is sent than there is room for");
        stream.window -= length;
        self.window -= length;
        self.quiet = 0;
        loop {
            let (part, rest) = bytes.split_at(bytes.len().min(PAYLOAD_BYTES_MAX));
            let is_last = ends && rest.is_empty();
            let flags = if is_last { frame::END_STREAM } else { 0 };
            frame::head(out, part.len(), frame::DATA, flags, number);
            out.extend_from_slice(part);
            bytes = rest;
            if bytes.is_empty() {
                break;
            }
        }
        if ends {
            self.finish(number);
        }
    }

    /// Gives up a stream whose response cannot be completed.
    pub fn give_up(&mut self, number: u32, out: &mut Vec<u8>) {
        if self.streams.end(number, StreamEnd::Refused) {
            frame::reset(out, number, INTERNAL_ERROR);
        }
    }

    /// Accepts no further streams, and notifies the client, once.
    pub fn leave(&mut self, out: &mut Vec<u8>) {
        if self.last_taken.is_none() {
            self.last_taken = Some(self.last);
            frame::go_away(out, self.last, 0);
        }
    }

    fn finish(&mut self, number: u32) {
        self.quiet = 0;
        self.unacknowledged = self.unacknowledged.saturating_sub(1);
        self.streams.end(number, StreamEnd::Responded);
    }
}
