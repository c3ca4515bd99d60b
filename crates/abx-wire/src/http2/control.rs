//! Frames that are not part of a response: settings, pings, room, and the ends of streams and of
//! the connection (RFC 9113, section 6).

use super::client::{Client, FrameStep};
use super::event::Event;
use super::fault::{Fault, StreamFault};
use super::frame::{self, FrameHeader, HEAD_BYTES};
use super::settings::WINDOW_MAX;

impl Client {
    pub(super) fn reset(
        &mut self,
        head: FrameHeader,
        payload: &[u8],
    ) -> Result<FrameStep<'static>, Fault> {
        let code: [u8; 4] = payload.try_into().map_err(|_| Fault::FrameSize)?;
        self.check_begun(head.stream)?;
        if !self.forget(head.stream) {
            return self.note_quiet().map(|()| FrameStep::Next);
        }
        Ok(FrameStep::Event(Event::StreamFailed {
            stream: head.stream,
            fault: StreamFault::Reset(u32::from_be_bytes(code)),
        }))
    }

    pub(super) fn settings(
        &mut self,
        head: FrameHeader,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<FrameStep<'static>, Fault> {
        self.note_quiet()?;
        check_connection(head)?;
        if head.has(frame::ACK) {
            return match payload {
                [] => Ok(FrameStep::Next),
                _ => Err(Fault::FrameSize),
            };
        }
        let before = self.peer.window;
        self.peer.take(payload, 0)?;
        let more = self.peer.window - before;
        for stream in self.streams.iter_mut() {
            // It may fall below zero (RFC 9113, section 6.9.2).
            stream.window += more;
            if stream.window > WINDOW_MAX {
                return Err(Fault::FlowControl);
            }
        }
        self.note_reply(HEAD_BYTES)?;
        frame::head(out, 0, frame::SETTINGS, frame::ACK, 0);
        self.send_bodies(out);
        if std::mem::replace(&mut self.is_open, true) {
            Ok(FrameStep::Next)
        } else {
            Ok(FrameStep::Event(Event::Open))
        }
    }

    pub(super) fn ping(
        &mut self,
        head: FrameHeader,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<FrameStep<'static>, Fault> {
        self.note_quiet()?;
        check_connection(head)?;
        if head.length != 8 {
            return Err(Fault::FrameSize);
        }
        if !head.has(frame::ACK) {
            self.note_reply(HEAD_BYTES + payload.len())?;
            frame::head(out, 8, frame::PING, frame::ACK, 0);
            out.extend_from_slice(payload);
        }
        Ok(FrameStep::Next)
    }

    pub(super) fn go_away(
        &mut self,
        head: FrameHeader,
        payload: &[u8],
    ) -> Result<FrameStep<'static>, Fault> {
        self.note_quiet()?;
        check_connection(head)?;
        let (last, rest) = payload.split_first_chunk().ok_or(Fault::FrameSize)?;
        let code = *rest.first_chunk().ok_or(Fault::FrameSize)?;
        let last = frame::number(*last);
        let last_stream = self.last_stream.map_or(last, |before| before.min(last));
        self.last_stream = Some(last_stream);
        Ok(FrameStep::Event(Event::GoAway {
            last_stream,
            code: u32::from_be_bytes(code),
        }))
    }

    pub(super) fn window_update(
        &mut self,
        head: FrameHeader,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<FrameStep<'static>, Fault> {
        if self.unsent == 0 {
            self.note_quiet()?;
        }
        let more: [u8; 4] = payload.try_into().map_err(|_| Fault::FrameSize)?;
        let more = i64::from(frame::number(more));
        if head.stream == 0 {
            self.window += more;
            if more == 0 || self.window > WINDOW_MAX {
                return Err(Fault::FlowControl);
            }
        } else {
            self.check_begun(head.stream)?;
            if let Some(stream) = self.streams.get_mut(head.stream) {
                stream.window += more;
                if more == 0 || stream.window > WINDOW_MAX {
                    let why = "a WINDOW_UPDATE has an increment of 0 or exceeds the window limit";
                    return Ok(FrameStep::Event(self.refuse(head.stream, why, out)));
                }
            }
        }
        self.send_bodies(out);
        Ok(FrameStep::Next)
    }
}

/// Refuses a frame on a stream whose kind is of the whole connection.
fn check_connection(head: FrameHeader) -> Result<(), Fault> {
    match head.stream {
        0 => Ok(()),
        _ => Err(Fault::Broken(
            "a connection-level frame has a stream identifier other than 0",
        )),
    }
}
