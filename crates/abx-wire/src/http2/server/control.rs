//! Frames that are not part of a request: settings, pings, room, priorities, the ends of streams
//! and of the connection (RFC 9113, section 6).

use super::super::fault::{FLOW_CONTROL_ERROR, Fault, PROTOCOL_ERROR};
use super::super::frame::{self, FrameHeader};
use super::super::settings::WINDOW_MAX;
use super::connection::{Server, ServerStep};
use super::streams::StreamEnd;

impl Server {
    pub(super) fn control(
        &mut self,
        head: FrameHeader,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<ServerStep, Fault> {
        self.note_quiet()?;
        match head.kind {
            frame::SETTINGS | frame::PING | frame::GOAWAY if head.stream != 0 => {
                let why = "a connection-level frame has a stream identifier other than 0";
                Err(Fault::Broken(why))
            }
            frame::RST_STREAM | frame::PRIORITY if head.stream == 0 => {
                let why = "a stream-level frame names no stream";
                Err(Fault::Broken(why))
            }
            frame::SETTINGS => self.settings(head, payload, out),
            frame::WINDOW_UPDATE => self.window_update(head, payload, out),
            frame::RST_STREAM => self.reset(head, payload),
            frame::PING if head.length != 8 => Err(Fault::FrameSize),
            frame::PING => {
                if !head.has(frame::ACK) {
                    frame::head(out, 8, frame::PING, frame::ACK, 0);
                    out.extend_from_slice(payload);
                }
                Ok(ServerStep::Next)
            }
            frame::GOAWAY if head.length < 8 => Err(Fault::FrameSize),
            frame::PRIORITY if head.length != 5 => Err(Fault::FrameSize),
            frame::PUSH_PROMISE => Err(Fault::Broken("a client sent PUSH_PROMISE")),
            // A client that goes away ends the connection when it has all that it wants.
            // Priorities and unknown frames are ignored (section 4.1).
            _ => Ok(ServerStep::Next),
        }
    }

    fn settings(
        &mut self,
        head: FrameHeader,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<ServerStep, Fault> {
        if head.has(frame::ACK) {
            return match payload {
                [] => Ok(ServerStep::Next),
                _ => Err(Fault::FrameSize),
            };
        }
        let before = self.peer.window;
        self.peer.take(payload, 1)?;
        let more = self.peer.window - before;
        for stream in self.streams.iter_mut() {
            // It may fall below zero (section 6.9.2).
            stream.window += more;
            if stream.window > WINDOW_MAX {
                return Err(Fault::FlowControl);
            }
        }
        self.is_open = true;
        frame::head(out, 0, frame::SETTINGS, frame::ACK, 0);
        Ok(ServerStep::Next)
    }

    fn reset(&mut self, head: FrameHeader, payload: &[u8]) -> Result<ServerStep, Fault> {
        if payload.len() != 4 {
            return Err(Fault::FrameSize);
        }
        self.check_begun(head.stream)?;
        if !self.streams.end(head.stream, StreamEnd::Given) {
            return Ok(ServerStep::Next);
        }
        self.note_unacknowledged()?;
        Ok(ServerStep::Gone(head.stream))
    }

    fn window_update(
        &mut self,
        head: FrameHeader,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<ServerStep, Fault> {
        let more: [u8; 4] = payload.try_into().map_err(|_| Fault::FrameSize)?;
        let more = i64::from(frame::number(more));
        if head.stream == 0 {
            self.window += more;
            return match (more, self.window > WINDOW_MAX) {
                (0, _) => Err(Fault::Broken("a WINDOW_UPDATE has an increment of 0")),
                (_, true) => Err(Fault::FlowControl),
                (_, false) => Ok(ServerStep::Next),
            };
        }
        self.check_begun(head.stream)?;
        let Some(stream) = self.streams.get_mut(head.stream) else {
            return Ok(ServerStep::Next);
        };
        stream.window += more;
        match (more, stream.window > WINDOW_MAX) {
            (0, _) => self.refuse(head.stream, PROTOCOL_ERROR, out),
            (_, true) => self.refuse(head.stream, FLOW_CONTROL_ERROR, out),
            (_, false) => Ok(ServerStep::Next),
        }
    }
}
