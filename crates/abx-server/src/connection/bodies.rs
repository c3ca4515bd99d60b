//! The bodies of responses on the streams of one connection, sent in turns as far as flow control
//! allows.

use std::collections::VecDeque;
use std::io;

use abx_sys::FilePart;
use abx_wire::http2::{ResponseHead, Server};

use crate::content::{PlannedResponse, ResponseBody, ServedContent, read_part};

/// The bodies that are not completely sent.
#[derive(Debug, Default)]
pub(crate) struct Bodies(VecDeque<StreamBody>);

/// The rest of a body.
#[derive(Debug)]
struct StreamBody {
    stream: u32,
    source: BodySource,
    /// Bytes that are still to be sent.
    left: u64,
    /// Whether the stream is reset after these bytes.
    is_cut: bool,
}

#[derive(Debug)]
enum BodySource {
    Fixed(&'static [u8]),
    Rendered(String),
    Page { is_changed: bool, end: usize },
    File(FilePart),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BodyTurn {
    Over,
    Sent,
    /// Flow control allows no more.
    Blocked,
}

impl Bodies {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Writes the head of a response, and the first frame of its body if possible.
    pub(crate) fn begin(
        &mut self,
        stream: u32,
        response: PlannedResponse,
        server: &mut Server,
        site: &ServedContent,
        out: &mut Vec<u8>,
    ) {
        let head = ResponseHead {
            status: response.status,
            content_length: response.content_length,
            content_type: response.content_type,
        };
        let body = StreamBody::of(stream, response);
        let body = body.filter(|body| body.left > 0 || body.is_cut);
        server.respond(stream, &head, body.is_none(), out);
        let Some(mut body) = body else {
            return;
        };
        let is_full = out.len() >= OUT_BYTES_ENOUGH;
        if is_full || body.turn(server, site, out) != BodyTurn::Over {
            self.0.push_back(body);
        }
    }

    /// Writes frames of all bodies in turns, until there is no room or enough to send at once.
    pub(crate) fn send(&mut self, server: &mut Server, site: &ServedContent, out: &mut Vec<u8>) {
        let mut blocked = 0;
        while blocked < self.0.len() && out.len() < OUT_BYTES_ENOUGH && server.room_of_all() > 0 {
            let Some(mut body) = self.0.pop_front() else {
                return;
            };
            match body.turn(server, site, out) {
                BodyTurn::Over => {
                    blocked = 0;
                    continue;
                }
                BodyTurn::Sent => blocked = 0,
                BodyTurn::Blocked => blocked += 1,
            }
            self.0.push_back(body);
        }
    }

    /// Drops the body of a stream.
    pub(crate) fn forget(&mut self, stream: u32) {
        self.0.retain(|body| body.stream != stream);
    }
}

impl StreamBody {
    /// The body of a response, if it has one.
    fn of(stream: u32, response: PlannedResponse) -> Option<StreamBody> {
        let (left, source) = match response.body {
            ResponseBody::None => return None,
            ResponseBody::Fixed(bytes) => (bytes.len() as u64, BodySource::Fixed(bytes)),
            ResponseBody::Rendered(page) => (page.len() as u64, BodySource::Rendered(page)),
            ResponseBody::Page { is_changed, bytes } => {
                let end = bytes;
                (bytes as u64, BodySource::Page { is_changed, end })
            }
            ResponseBody::File(file) => (file.bytes, BodySource::File(file.part())),
        };
        Some(StreamBody {
            stream,
            source,
            left,
            is_cut: response.is_cut && left < response.content_length,
        })
    }

    fn turn(&mut self, server: &mut Server, site: &ServedContent, out: &mut Vec<u8>) -> BodyTurn {
        let room = server.room(self.stream).min(FRAME_BYTES);
        let length = usize::try_from(self.left).map_or(room, |left| left.min(room));
        if length == 0 && self.left > 0 {
            return BodyTurn::Blocked;
        }
        let is_last = length as u64 == self.left;
        let ends = is_last && !self.is_cut;
        if length > 0 && self.send(length, ends, server, site, out).is_err() {
            // The file has become shorter than the head announced.
            server.give_up(self.stream, out);
            return BodyTurn::Over;
        }
        if is_last && self.is_cut {
            server.give_up(self.stream, out);
        }
        self.left -= length as u64;
        if is_last {
            BodyTurn::Over
        } else {
            BodyTurn::Sent
        }
    }

    fn send(
        &mut self,
        length: usize,
        ends: bool,
        server: &mut Server,
        site: &ServedContent,
        out: &mut Vec<u8>,
    ) -> io::Result<()> {
        let all_bytes = match &mut self.source {
            BodySource::Fixed(bytes) => bytes,
            BodySource::Rendered(page) => page.as_bytes(),
            BodySource::Page { is_changed, end } => &site.page_bytes(*is_changed)[..*end],
            BodySource::File(part) => {
                let mut room = [0; FRAME_BYTES];
                read_part(part, &mut room[..length])?;
                server.send(self.stream, &room[..length], ends, out);
                return Ok(());
            }
        };
        let left = usize::try_from(self.left).expect("it is in memory");
        let bytes = &all_bytes[all_bytes.len() - left..][..length];
        server.send(self.stream, bytes, ends, out);
        Ok(())
    }
}

/// The longest frame that every client accepts.
const FRAME_BYTES: usize = 16 * 1024;

/// With this many bytes to send, further bodies wait.
pub(super) const OUT_BYTES_ENOUGH: usize = 64 * 1024;
