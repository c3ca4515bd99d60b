//! The server's end of one connection: frames in, requests out.
//!
//! [`Server::receive`] reads the client's preface, then a frame's head and its payload: that of
//! DATA is skipped as it arrives, all others are read complete. `control.rs` handles frames that
//! are not part of a request; `responses.rs` writes responses and their bodies.

use super::super::fault::{Fault, PROTOCOL_ERROR, QUIET_FRAMES_MAX, REFUSED_STREAM, STREAM_CLOSED};
use super::super::frame::{self, FrameHeader};
use super::super::header_block::{HeaderBlock, HeaderBlocks, PADDING};
use super::super::settings::{self, PREFACE, PeerSettings, WINDOW};
use super::event::RequestEvent;
use super::head_writer::HeadWriter;
use super::reader::{FramePart, FrameReader};
use super::request_head::RequestReader;
use super::streams::{ServedStream, ServedStreams, StreamEnd};
use crate::http1::HEAD_BYTES_MAX;

/// How many streams a client may have open at once.
pub const STREAMS_MAX: usize = 1_000;
/// The most streams that may be begun and reset, or refused, beyond those that got a response.
pub const UNACKNOWLEDGED_MAX: u32 = 1_000;

/// A server, from the client's preface on.
#[derive(Debug)]
pub struct Server {
    reader: FrameReader,
    /// How much of the preface has arrived.
    matched: usize,
    /// Whether the client's first settings have arrived.
    pub(super) is_open: bool,
    has_failed: bool,
    blocks: HeaderBlocks,
    /// A frame of DATA whose length of padding is awaited.
    padded: Option<FrameHeader>,
    /// The stream that the DATA under way belongs to, and whether it ends there.
    data: Option<(u32, bool)>,
    /// A stream whose request has ended, which is reported next.
    ended: Option<u32>,
    heads: RequestReader,
    pub(super) writer: HeadWriter,
    pub(super) streams: ServedStreams,
    /// The highest number of a stream that the client has begun.
    pub(super) last: u32,
    /// The last stream that gets a response, once this was announced to the client.
    pub(super) last_taken: Option<u32>,
    pub(super) peer: PeerSettings,
    /// How many bytes of bodies the client has room for.
    pub(super) window: i64,
    /// Bytes of bodies since room was last given back to the connection.
    taken: u32,
    /// Frames since the last one that was part of a request or response.
    pub(super) quiet: u32,
    /// Streams that got no response, beyond those that did.
    pub(super) unacknowledged: u32,
}

pub(super) enum ServerStep {
    More,
    Next,
    Head(u32),
    Gone(u32),
}

impl Server {
    /// Begins a connection: `out` gets our settings.
    pub fn open(out: &mut Vec<u8>) -> Server {
        let number = |limit: usize| u32::try_from(limit).expect("limits are small");
        settings::open_server(out, number(STREAMS_MAX), number(HEAD_BYTES_MAX));
        Server {
            reader: FrameReader::default(),
            matched: 0,
            is_open: false,
            has_failed: false,
            blocks: HeaderBlocks::default(),
            padded: None,
            data: None,
            ended: None,
            heads: RequestReader::default(),
            writer: HeadWriter::default(),
            streams: ServedStreams::default(),
            last: 0,
            last_taken: None,
            peer: PeerSettings::default(),
            window: i64::from(settings::FIRST_WINDOW),
            taken: 0,
            quiet: 0,
            unacknowledged: 0,
        }
    }

    /// Whether no further stream is accepted, and all streams got their response.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.last_taken.is_some() && self.streams.is_empty()
    }

    /// Takes bytes from the front of `input` and returns the next event; `None` if it is empty and
    /// there are no more events. Bytes that the client must receive at once are appended to `out`.
    pub fn receive(&mut self, input: &mut &[u8], out: &mut Vec<u8>) -> Option<RequestEvent<'_>> {
        loop {
            if let Some(stream) = self.ended.take() {
                return Some(RequestEvent::Done { stream });
            }
            match self.step(input, out) {
                Ok(ServerStep::More) => return None,
                Ok(ServerStep::Next) => {}
                Ok(ServerStep::Gone(stream)) => return Some(RequestEvent::Gone { stream }),
                Ok(ServerStep::Head(stream)) => {
                    let head = self.heads.last();
                    return Some(RequestEvent::Head { stream, head });
                }
                Err(fault) => {
                    self.has_failed = true;
                    let last = self.last_taken.unwrap_or(self.last);
                    frame::go_away(out, last, fault.code());
                    return Some(RequestEvent::Failed(fault));
                }
            }
        }
    }

    fn step(&mut self, input: &mut &[u8], out: &mut Vec<u8>) -> Result<ServerStep, Fault> {
        if self.has_failed {
            *input = &[];
            return Ok(ServerStep::More);
        }
        if self.matched < PREFACE.len() {
            return self.preface(input);
        }
        match self.reader.next(input)? {
            FramePart::More => Ok(ServerStep::More),
            FramePart::Head(head) => self.begin_frame(head, out),
            FramePart::Payload(head, payload) => self.payload(head, payload, out),
            FramePart::Gathered(head) => {
                let payload = self.reader.take_gathered();
                let step = self.payload(head, &payload, out);
                self.reader.give_back(payload);
                step
            }
            FramePart::Skipped => self.end_data(out),
        }
    }

    fn preface(&mut self, input: &mut &[u8]) -> Result<ServerStep, Fault> {
        let awaited = &PREFACE[self.matched..];
        let (part, rest) = input.split_at(input.len().min(awaited.len()));
        if !awaited.starts_with(part) {
            return Err(Fault::Broken(
                "it does not begin with the preface of HTTP/2",
            ));
        }
        *input = rest;
        self.matched += part.len();
        if self.matched < PREFACE.len() {
            Ok(ServerStep::More)
        } else {
            Ok(ServerStep::Next)
        }
    }

    fn begin_frame(&mut self, head: FrameHeader, out: &mut Vec<u8>) -> Result<ServerStep, Fault> {
        let is_first = head.kind == frame::SETTINGS && !head.has(frame::ACK);
        if !self.is_open && !is_first {
            return Err(Fault::Broken(
                "the client did not begin with a SETTINGS frame",
            ));
        }
        self.blocks.check_next(head)?;
        if head.kind != frame::DATA {
            self.reader.want(head);
            return Ok(ServerStep::Next);
        }
        self.check_begun(head.stream)?;
        self.take_room(head, out);
        if !head.has(frame::PADDED) {
            return self.begin_data(head, head.length, head.length, out);
        }
        if head.length == 0 {
            return Err(Fault::FrameSize);
        }
        self.padded = Some(head);
        self.reader.want(FrameHeader { length: 1, ..head });
        Ok(ServerStep::Next)
    }

    /// Checks that the client has begun this stream.
    pub(super) fn check_begun(&self, number: u32) -> Result<(), Fault> {
        if number % 2 == 1 && number <= self.last {
            Ok(())
        } else {
            Err(Fault::Broken(
                "a frame is on a stream that was never opened",
            ))
        }
    }

    /// Counts the room that a frame takes, and gives room back. Half of the room is always left, so
    /// that no client can send more than there is room for.
    fn take_room(&mut self, head: FrameHeader, out: &mut Vec<u8>) {
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
    }

    /// Skips a payload, of which `body` bytes belong to a body.
    fn begin_data(
        &mut self,
        head: FrameHeader,
        left: usize,
        body: usize,
        out: &mut Vec<u8>,
    ) -> Result<ServerStep, Fault> {
        self.reader.skip(left);
        let ends_stream = head.has(frame::END_STREAM);
        self.data = Some((head.stream, ends_stream));
        if body == 0 && !ends_stream {
            self.note_quiet()?;
        }
        let Some(stream) = self.streams.get_mut(head.stream) else {
            self.note_quiet()?;
            if self.streams.how_ended(head.stream) != Some(StreamEnd::Refused) {
                frame::reset(out, head.stream, STREAM_CLOSED);
                self.streams.note(head.stream, StreamEnd::Refused);
            }
            return Ok(ServerStep::Next);
        };
        if stream.is_whole {
            return self.refuse(head.stream, STREAM_CLOSED, out);
        }
        stream.body_bytes += body as u64;
        let is_too_long = stream
            .announced
            .is_some_and(|length| stream.body_bytes > length);
        if is_too_long {
            self.refuse(head.stream, PROTOCOL_ERROR, out)
        } else {
            Ok(ServerStep::Next)
        }
    }

    /// Ends the payload of a DATA frame.
    fn end_data(&mut self, out: &mut Vec<u8>) -> Result<ServerStep, Fault> {
        match self.data.take() {
            Some((stream, true)) => self.end_request(stream, out),
            _ => Ok(ServerStep::Next),
        }
    }

    /// Ends the request on a stream, if that is still open.
    fn end_request(&mut self, number: u32, out: &mut Vec<u8>) -> Result<ServerStep, Fault> {
        let Some(stream) = self.streams.get_mut(number) else {
            return Ok(ServerStep::Next);
        };
        let is_as_announced = stream
            .announced
            .is_none_or(|length| stream.body_bytes == length);
        if !is_as_announced {
            return self.refuse(number, PROTOCOL_ERROR, out);
        }
        stream.is_whole = true;
        self.quiet = 0;
        self.ended = Some(number);
        Ok(ServerStep::Next)
    }

    fn payload(
        &mut self,
        head: FrameHeader,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<ServerStep, Fault> {
        match head.kind {
            frame::DATA => self.pad(payload, out),
            frame::HEADERS => {
                if head.stream.is_multiple_of(2) {
                    return Err(Fault::Broken("a client's stream has an even number"));
                }
                let block = self.blocks.begin(head, payload)?;
                self.end_block(block, out)
            }
            frame::CONTINUATION => {
                self.note_quiet()?;
                let block = self.blocks.extend(head, payload)?;
                self.end_block(block, out)
            }
            _ => self.control(head, payload, out),
        }
    }

    /// Reads the length of the padding of DATA.
    fn pad(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<ServerStep, Fault> {
        let head = self.padded.take();
        let head = head.expect("of DATA, only the length of padding is wanted");
        let padding = payload.first().copied().map_or(0, usize::from);
        let left = head.length - 1;
        let body = left.checked_sub(padding).ok_or(PADDING)?;
        self.begin_data(head, left, body, out)
    }

    /// Reads a header block, if it is complete: the head of a request, or a trailer.
    fn end_block(
        &mut self,
        block: Option<HeaderBlock>,
        out: &mut Vec<u8>,
    ) -> Result<ServerStep, Fault> {
        let Some(block) = block else {
            return Ok(ServerStep::Next);
        };
        let number = block.stream;
        if number > self.last {
            self.last = number;
            return self.begin_request(&block, out);
        }
        let Some(stream) = self.streams.get(number) else {
            return self.late_block(number, &block.bytes);
        };
        let is_whole = stream.is_whole;
        let trailer = self.heads.trailer(&block.bytes)?;
        match (is_whole, trailer) {
            (true, _) => self.refuse(number, STREAM_CLOSED, out),
            (false, Ok(())) if block.ends_stream => self.end_request(number, out),
            (false, _) => self.refuse(number, PROTOCOL_ERROR, out),
        }
    }

    /// Reads a header block on a stream that is no longer open.
    fn late_block(&mut self, number: u32, block: &[u8]) -> Result<ServerStep, Fault> {
        match self.streams.how_ended(number) {
            // It was under way when we gave the stream up; it is decoded nevertheless.
            Some(StreamEnd::Refused) => {
                self.note_quiet()?;
                self.heads.trailer(block)?.ok();
                Ok(ServerStep::Next)
            }
            Some(_) => Err(Fault::StreamClosed),
            None => Err(Fault::Broken(
                "a stream's number is lower than an earlier one's",
            )),
        }
    }

    fn begin_request(
        &mut self,
        block: &HeaderBlock,
        out: &mut Vec<u8>,
    ) -> Result<ServerStep, Fault> {
        let (number, ends_stream) = (block.stream, block.ends_stream);
        let is_late = self.last_taken.is_some();
        if is_late || self.streams.len() == STREAMS_MAX {
            self.heads.trailer(&block.bytes)?.ok();
            if !is_late {
                return self.turn_away(number, REFUSED_STREAM, out);
            }
            // The client was notified, and knows that this stream is ignored.
            self.streams.note(number, StreamEnd::Refused);
            return self.note_quiet().map(|()| ServerStep::Next);
        }
        let announced = match self.heads.read(&block.bytes)? {
            Ok(announced) if !ends_stream || announced.is_none_or(|length| length == 0) => {
                announced
            }
            _ => return self.turn_away(number, PROTOCOL_ERROR, out),
        };
        self.quiet = 0;
        self.streams.begin(ServedStream {
            number,
            is_whole: ends_stream,
            announced,
            body_bytes: 0,
            taken: 0,
            window: self.peer.window,
        });
        self.ended = ends_stream.then_some(number);
        Ok(ServerStep::Head(number))
    }

    /// Refuses a stream after its head, before the caller sees it.
    fn turn_away(
        &mut self,
        number: u32,
        code: u32,
        out: &mut Vec<u8>,
    ) -> Result<ServerStep, Fault> {
        frame::reset(out, number, code);
        self.streams.note(number, StreamEnd::Refused);
        self.note_unacknowledged().map(|()| ServerStep::Next)
    }

    /// Gives up an open stream on which a rule is broken.
    pub(super) fn refuse(
        &mut self,
        number: u32,
        code: u32,
        out: &mut Vec<u8>,
    ) -> Result<ServerStep, Fault> {
        frame::reset(out, number, code);
        self.streams.end(number, StreamEnd::Refused);
        self.note_unacknowledged()?;
        Ok(ServerStep::Gone(number))
    }

    pub(super) fn note_quiet(&mut self) -> Result<(), Fault> {
        self.quiet += 1;
        if self.quiet > QUIET_FRAMES_MAX {
            Err(Fault::Flood)
        } else {
            Ok(())
        }
    }

    pub(super) fn note_unacknowledged(&mut self) -> Result<(), Fault> {
        self.unacknowledged += 1;
        if self.unacknowledged > UNACKNOWLEDGED_MAX {
            Err(Fault::Abandoned)
        } else {
            Ok(())
        }
    }
}
