//! The client's end of one connection: frames in, events out.
//!
//! [`Client::receive`] takes a frame's head, then its payload: piece by piece for DATA, complete
//! for all other frames. `control.rs` handles frames that are not part of a response;
//! `requests.rs` writes requests and their bodies.

use super::event::Event;
use super::fault::{
    CANCEL, Fault, PROTOCOL_ERROR, QUIET_FRAMES_MAX, StreamFault, UNREAD_REPLIES_BYTES_MAX,
};
use super::frame::{self, FrameHeader, HEAD_BYTES, PAYLOAD_BYTES_MAX};
use super::head::HeadReader;
use super::header_block::{HeaderBlock, HeaderBlocks, PADDING};
use super::settings::{self, PeerSettings, WINDOW};
use super::streams::Streams;
use crate::http1::{Done, INTERIM_MAX};

/// A client, from its preface on.
#[derive(Debug)]
pub struct Client {
    state: ReadState,
    /// The received part of a frame's head or payload.
    gathered: Vec<u8>,
    blocks: HeaderBlocks,
    /// A stream whose response has ended, which is reported next.
    ended: Option<u32>,
    heads: HeadReader,
    /// Whether the server's first settings have arrived.
    pub(super) is_open: bool,
    /// Bytes of bodies since room was last given back to the connection.
    taken: u32,
    /// Streams that we have reset, on which frames may still arrive.
    resets: u64,
    /// Frames since the last one that was part of a response.
    quiet: u32,
    /// Bytes of replies since everything was sent.
    replies: usize,
    /// The last stream that gets a response, once the server has announced it.
    pub(super) last_stream: Option<u32>,
    pub(super) streams: Streams,
    /// The number of the next stream.
    pub(super) next: u32,
    pub(super) peer: PeerSettings,
    /// How many bytes of bodies the server has room for.
    pub(super) window: i64,
    /// Streams whose request is not completely sent.
    pub(super) unsent: usize,
}

/// The position of the next byte in the frames.
#[derive(Debug, Clone, Copy)]
enum ReadState {
    Head,
    Payload(FrameHeader),
    /// At the byte of DATA that holds the length of its padding.
    PadLength(FrameHeader),
    Data(DataRest),
    /// After a fault: nothing is read.
    Ended,
}

/// The rest of a frame with a part of a body.
#[derive(Debug, Clone, Copy)]
struct DataRest {
    stream: u32,
    body: usize,
    padding: usize,
    ends_stream: bool,
}

pub(super) enum FrameStep<'a> {
    More,
    Next,
    Event(Event<'a>),
}

impl Client {
    /// Begins a connection: `out` gets the preface and our settings. Requests may follow at once,
    /// or after [`Event::Open`].
    pub fn open(out: &mut Vec<u8>) -> Client {
        settings::open(out);
        Client {
            state: ReadState::Head,
            gathered: Vec::new(),
            blocks: HeaderBlocks::default(),
            ended: None,
            heads: HeadReader::default(),
            is_open: false,
            taken: 0,
            resets: 0,
            quiet: 0,
            replies: 0,
            last_stream: None,
            streams: Streams::default(),
            next: 1,
            peer: PeerSettings::default(),
            window: i64::from(settings::FIRST_WINDOW),
            unsent: 0,
        }
    }

    /// Makes [`Client::head_text`] keep all fields of heads, rather than `server-timing` only.
    pub fn keep_heads(&mut self) {
        self.heads.keep_all();
    }

    /// The last head that was received, as HTTP/1.1 writes it.
    #[must_use]
    pub fn head_text(&self) -> &[u8] {
        self.heads.text()
    }

    /// Whether the server's settings have arrived.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Whether the response on a stream has begun and is not complete.
    #[must_use]
    pub fn has_begun(&self, stream: u32) -> bool {
        let stream = self.streams.get(stream);
        stream.is_some_and(|stream| stream.head.is_some() || stream.interim > 0)
    }

    /// Whether the connection has no stream numbers left, or the server takes no more streams.
    #[must_use]
    pub fn is_leaving(&self) -> bool {
        self.last_stream.is_some() || self.next > frame::number([0xff; 4])
    }

    /// Whether [`Client::is_leaving`], and no response is still to come.
    #[must_use]
    pub fn is_over(&self) -> bool {
        let last = self.last_stream.unwrap_or(u32::MAX);
        self.is_leaving() && self.streams.iter().all(|stream| stream.number > last)
    }

    /// Announces that the client leaves.
    pub fn close(&mut self, out: &mut Vec<u8>) {
        if !matches!(self.state, ReadState::Ended) {
            frame::go_away(out, 0, 0);
        }
    }

    /// Takes bytes from the front of `input` and returns the next event; `None` if it is empty and
    /// there are no more events. Bytes that the server must receive at once are appended to `out`,
    /// which is empty if all of it was sent.
    pub fn receive<'b>(&mut self, input: &mut &'b [u8], out: &mut Vec<u8>) -> Option<Event<'b>> {
        if out.is_empty() {
            self.replies = 0;
        }
        loop {
            if let Some(stream) = self.ended.take() {
                return Some(self.end_stream(stream, out));
            }
            match self.step(input, out) {
                Ok(FrameStep::More) => return None,
                Ok(FrameStep::Next) => {}
                Ok(FrameStep::Event(event)) => return Some(event),
                Err(fault) => {
                    self.state = ReadState::Ended;
                    frame::go_away(out, 0, fault.code());
                    return Some(Event::Failed(fault));
                }
            }
        }
    }

    fn step<'b>(
        &mut self,
        input: &mut &'b [u8],
        out: &mut Vec<u8>,
    ) -> Result<FrameStep<'b>, Fault> {
        match self.state {
            ReadState::Head => self.head(input, out),
            ReadState::Payload(head) => self.payload(head, input, out),
            ReadState::PadLength(head) => {
                let Some((padding, rest)) = input.split_first() else {
                    return Ok(FrameStep::More);
                };
                *input = rest;
                let padding = usize::from(*padding);
                let body = (head.length - 1).checked_sub(padding);
                let body = body.ok_or(PADDING)?;
                self.begin_body(head, body, padding, out)
            }
            ReadState::Data(data) => Ok(self.data(data, input)),
            ReadState::Ended => {
                *input = &[];
                Ok(FrameStep::More)
            }
        }
    }

    /// Reads the head of the next frame.
    fn head(&mut self, input: &mut &[u8], out: &mut Vec<u8>) -> Result<FrameStep<'static>, Fault> {
        if !self.is_open && self.gathered.is_empty() {
            // A frame of settings is short, so its first byte is zero.
            match input.first() {
                Some(b'H') => return Err(Fault::Http1),
                Some(0x15 | 0x16) => return Err(Fault::Tls),
                _ => {}
            }
        }
        let head = match input.split_first_chunk() {
            Some((head, rest)) if self.gathered.is_empty() => {
                *input = rest;
                FrameHeader::read(head)
            }
            _ => {
                gather(&mut self.gathered, input, HEAD_BYTES);
                let Some(head) = self.gathered.first_chunk() else {
                    return Ok(FrameStep::More);
                };
                let head = FrameHeader::read(head);
                self.gathered.clear();
                head
            }
        };
        self.begin_frame(head, out)
    }

    fn begin_frame(
        &mut self,
        head: FrameHeader,
        out: &mut Vec<u8>,
    ) -> Result<FrameStep<'static>, Fault> {
        if head.length > PAYLOAD_BYTES_MAX {
            return Err(Fault::FrameSize);
        }
        let is_first = head.kind == frame::SETTINGS && !head.has(frame::ACK);
        if !self.is_open && !is_first {
            return Err(Fault::Broken(
                "the server did not begin with a SETTINGS frame",
            ));
        }
        self.blocks.check_next(head)?;
        if head.kind != frame::DATA {
            self.state = ReadState::Payload(head);
            return Ok(FrameStep::Next);
        }
        self.take_room(head, out)?;
        if !head.has(frame::PADDED) {
            return self.begin_body(head, head.length, 0, out);
        }
        if head.length == 0 {
            return Err(Fault::FrameSize);
        }
        self.state = ReadState::PadLength(head);
        Ok(FrameStep::Next)
    }

    /// Counts the room that a frame takes, and gives room back.
    fn take_room(&mut self, head: FrameHeader, out: &mut Vec<u8>) -> Result<(), Fault> {
        self.check_known(head.stream)?;
        let length = u32::try_from(head.length).expect("a frame has 16 KiB at most");
        self.taken += length;
        if self.taken > WINDOW / 2 {
            frame::window_update(out, 0, std::mem::take(&mut self.taken));
        }
        if let Some(stream) = self.streams.get_mut(head.stream) {
            stream.taken += length;
            if stream.taken > WINDOW / 2 && !head.has(frame::END_STREAM) {
                frame::window_update(out, head.stream, std::mem::take(&mut stream.taken));
            }
        }
        Ok(())
    }

    /// Checks that a part of a response may arrive on this stream.
    fn check_known(&self, number: u32) -> Result<(), Fault> {
        if self.streams.get(number).is_some() {
            return Ok(());
        }
        self.check_begun(number)?;
        match self.resets {
            0 => Err(Fault::Broken("a response continues after its end")),
            _ => Ok(()),
        }
    }

    pub(super) fn check_begun(&self, number: u32) -> Result<(), Fault> {
        if number % 2 == 1 && number < self.next {
            Ok(())
        } else {
            Err(Fault::Broken(
                "a frame is on a stream that was never opened",
            ))
        }
    }

    /// Handles the head of a frame with a part of a body.
    fn begin_body(
        &mut self,
        head: FrameHeader,
        body: usize,
        padding: usize,
        out: &mut Vec<u8>,
    ) -> Result<FrameStep<'static>, Fault> {
        let ends_stream = head.has(frame::END_STREAM);
        self.state = ReadState::Data(DataRest {
            stream: head.stream,
            body,
            padding,
            ends_stream,
        });
        if body == 0 && !ends_stream {
            self.note_quiet()?;
        } else {
            self.quiet = 0;
        }
        let Some(stream) = self.streams.get(head.stream) else {
            return Ok(FrameStep::Next);
        };
        match stream.allows(stream.body_bytes + body as u64) {
            Ok(()) => Ok(FrameStep::Next),
            Err(why) => Ok(FrameStep::Event(self.refuse(head.stream, why, out))),
        }
    }

    fn data<'b>(&mut self, mut data: DataRest, input: &mut &'b [u8]) -> FrameStep<'b> {
        let is_body = data.body > 0;
        let left = if is_body {
            &mut data.body
        } else {
            &mut data.padding
        };
        if *left == 0 {
            self.state = ReadState::Head;
            let is_ended = data.ends_stream && self.streams.get(data.stream).is_some();
            self.ended = is_ended.then_some(data.stream);
            return FrameStep::Next;
        }
        let (part, rest) = input.split_at(input.len().min(*left));
        if part.is_empty() {
            return FrameStep::More;
        }
        *input = rest;
        *left -= part.len();
        self.state = ReadState::Data(data);
        match self.streams.get_mut(data.stream) {
            Some(stream) if is_body => {
                stream.body_bytes += part.len() as u64;
                FrameStep::Event(Event::Body {
                    stream: data.stream,
                    bytes: part,
                })
            }
            _ => FrameStep::Next,
        }
    }

    /// Reads the payload of a frame that is not part of a body, once it is complete.
    fn payload(
        &mut self,
        head: FrameHeader,
        input: &mut &[u8],
        out: &mut Vec<u8>,
    ) -> Result<FrameStep<'static>, Fault> {
        if self.gathered.is_empty()
            && let Some((payload, rest)) = input.split_at_checked(head.length)
        {
            *input = rest;
            self.state = ReadState::Head;
            return self.frame(head, payload, out);
        }
        gather(&mut self.gathered, input, head.length);
        if self.gathered.len() < head.length {
            return Ok(FrameStep::More);
        }
        self.state = ReadState::Head;
        let mut payload = std::mem::take(&mut self.gathered);
        let step = self.frame(head, &payload, out);
        payload.clear();
        self.gathered = payload;
        step
    }

    fn frame(
        &mut self,
        head: FrameHeader,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<FrameStep<'static>, Fault> {
        match head.kind {
            frame::HEADERS => {
                self.check_known(head.stream)?;
                let block = self.blocks.begin(head, payload)?;
                self.end_block(block, out)
            }
            frame::CONTINUATION => {
                self.note_quiet()?;
                let block = self.blocks.extend(head, payload)?;
                self.end_block(block, out)
            }
            frame::RST_STREAM => self.reset(head, payload),
            frame::SETTINGS => self.settings(head, payload, out),
            frame::PING => self.ping(head, payload, out),
            frame::GOAWAY => self.go_away(head, payload),
            frame::WINDOW_UPDATE => self.window_update(head, payload, out),
            frame::PUSH_PROMISE => Err(Fault::Broken("a PUSH_PROMISE came, which abx forbids")),
            frame::PRIORITY if head.length != 5 => Err(Fault::FrameSize),
            // Unknown frames are ignored (RFC 9113, section 4.1).
            _ => self.note_quiet().map(|()| FrameStep::Next),
        }
    }

    /// Reads a header block, if it is complete: a head or a trailer.
    fn end_block(
        &mut self,
        block: Option<HeaderBlock>,
        out: &mut Vec<u8>,
    ) -> Result<FrameStep<'static>, Fault> {
        let Some(HeaderBlock {
            stream: number,
            ends_stream,
            bytes: block,
        }) = block
        else {
            return Ok(FrameStep::Next);
        };
        let Some(stream) = self.streams.get_mut(number) else {
            // It is decoded nevertheless, because it may change the table.
            self.note_quiet()?;
            return self.heads.trailer(&block).map(|_| FrameStep::Next);
        };
        if stream.head.is_some() {
            let trailer = self.heads.trailer(&block)?;
            let why = match (trailer, ends_stream) {
                (Err(why), _) => why,
                (Ok(()), false) => "a second head came that does not end the response",
                (Ok(()), true) => {
                    self.ended = Some(number);
                    return Ok(FrameStep::Next);
                }
            };
            return Ok(FrameStep::Event(self.refuse(number, why, out)));
        }
        let why = match self.heads.head(&block)? {
            Err(why) => why,
            Ok(head) if head.status >= 200 => {
                self.quiet = 0;
                stream.head = Some(head);
                self.ended = ends_stream.then_some(number);
                return Ok(FrameStep::Event(Event::Head {
                    stream: number,
                    status: head.status,
                    content_length: head.content_length,
                }));
            }
            Ok(head) if ends_stream || head.status == 101 => {
                "an interim response (1xx) ends the stream"
            }
            Ok(_) if stream.interim == INTERIM_MAX => "more than 32 interim responses (1xx) came",
            Ok(_) => {
                stream.interim += 1;
                self.note_quiet()?;
                return Ok(FrameStep::Next);
            }
        };
        Ok(FrameStep::Event(self.refuse(number, why, out)))
    }

    /// A stream's response has ended.
    fn end_stream(&mut self, number: u32, out: &mut Vec<u8>) -> Event<'static> {
        self.quiet = 0;
        let stream = self.streams.get(number);
        let stream = stream.expect("what has ended was there a moment ago");
        if let Err(why) = stream.may_end() {
            return self.refuse(number, why, out);
        }
        let done = Done {
            status: stream.head.map_or(0, |head| head.status),
            body_bytes: stream.body_bytes,
            reusable: true,
        };
        if stream.unsent.is_some() {
            // The rest of the request would be useless (RFC 9113, section 8.1).
            frame::reset(out, number, CANCEL);
            self.resets += 1;
        }
        self.forget(number);
        Event::Done {
            stream: number,
            done,
        }
    }

    /// Gives up a stream whose response breaks a rule.
    pub(super) fn refuse(
        &mut self,
        number: u32,
        why: &'static str,
        out: &mut Vec<u8>,
    ) -> Event<'static> {
        frame::reset(out, number, PROTOCOL_ERROR);
        self.resets += 1;
        self.forget(number);
        Event::StreamFailed {
            stream: number,
            fault: StreamFault::Malformed(why),
        }
    }

    /// Returns whether there was such a stream.
    pub(super) fn forget(&mut self, number: u32) -> bool {
        let stream = self.streams.remove(number);
        let is_unsent = stream
            .as_ref()
            .is_some_and(|stream| stream.unsent.is_some());
        self.unsent -= usize::from(is_unsent);
        stream.is_some()
    }

    /// Counts bytes of a reply that is to be sent.
    pub(super) fn note_reply(&mut self, bytes: usize) -> Result<(), Fault> {
        self.replies += bytes;
        if self.replies > UNREAD_REPLIES_BYTES_MAX {
            Err(Fault::UnreadReplies)
        } else {
            Ok(())
        }
    }

    pub(super) fn note_quiet(&mut self) -> Result<(), Fault> {
        self.quiet += 1;
        if self.quiet > QUIET_FRAMES_MAX {
            Err(Fault::Flood)
        } else {
            Ok(())
        }
    }
}

/// Fills `gathered` up to `bytes` bytes from the front of `input`.
fn gather(gathered: &mut Vec<u8>, input: &mut &[u8], bytes: usize) {
    let missing = bytes - gathered.len();
    let (part, rest) = input.split_at(input.len().min(missing));
    gathered.extend_from_slice(part);
    *input = rest;
}
