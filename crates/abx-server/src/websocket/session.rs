//! WebSocket: echo and chat.
//!
//! `/echo` sends each message back as one frame. `/chat/ROOM` sends each message to all members of
//! the room, including its sender, so that a sender that waits for its own message is never faster
//! than the server. A plain GET for `/chat/ROOM` gets the number of members.

use std::sync::Arc;

use abx_wire::http1::{Http1ResponseHead, Method, RequestHead, response_head};
use abx_wire::websocket::{
    Close, CloseCode, Event, MessageKind, Offer, OfferFault, Server, SizeLimits, message_frame,
};

use crate::config::WebSocketSupport;
use crate::websocket::rooms::Rooms;

/// What a request asks for instead of the content.
#[derive(Debug)]
pub(crate) enum UpgradeRequest {
    /// A WebSocket, and the response that opens it.
    WebSocketSession(Box<WebSocketSession>, Vec<u8>),
    /// A WebSocket that is refused.
    Refused(OfferFault),
    /// The number of members of a room, and the head of the response.
    Count(Arc<str>, Http1ResponseHead<'static>),
}

/// One connection that uses WebSocket.
#[derive(Debug)]
pub(crate) struct WebSocketSession {
    server: Server,
    /// The room that the connection is in; `None` for an echo.
    room: Option<Arc<str>>,
    /// The message that is being received, or that waits for its response.
    message: Vec<u8>,
    kind: MessageKind,
}

/// The meaning of a client's bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SessionInput {
    /// An incomplete message.
    Part,
    /// A complete message: respond before receiving more.
    Message,
    /// The end of the session: the last bytes to send are written.
    End,
}

impl UpgradeRequest {
    /// What a request asks for; `None` for the content.
    pub(crate) fn of(head: &RequestHead<'_>, support: WebSocketSupport) -> Option<UpgradeRequest> {
        if support == WebSocketSupport::Off {
            return None;
        }
        let path = head.target.split('?').next().unwrap_or_default();
        let room = match path.strip_prefix("/chat/") {
            Some(room) if room.is_empty() || support == WebSocketSupport::Echo => return None,
            Some(room) => Some(room.into()),
            None if path == "/echo" => None,
            None => return None,
        };
        match (Offer::read(head), room) {
            (Err(fault), _) => Some(UpgradeRequest::Refused(fault)),
            (Ok(Some(offer)), room) => {
                let mut response = Vec::new();
                let server = Server::accept(&offer, SizeLimits::default(), &mut response);
                let session = Box::new(WebSocketSession {
                    server,
                    room,
                    message: Vec::new(),
                    kind: MessageKind::Binary,
                });
                Some(UpgradeRequest::WebSocketSession(session, response))
            }
            (Ok(None), Some(room)) if head.method == Method::Get => {
                let response = Http1ResponseHead {
                    status: 200,
                    content_length: 0,
                    content_type: "text/plain",
                    version: head.version,
                    keep_alive: head.keep_alive,
                };
                Some(UpgradeRequest::Count(room, response))
            }
            (Ok(None), _) => None,
        }
    }
}

/// Writes the response with the number of members of a room.
pub(crate) fn response_count(members: usize, mut head: Http1ResponseHead<'_>, out: &mut Vec<u8>) {
    let body = format!("{members}\n");
    head.content_length = body.len() as u64;
    response_head(&head, out);
    out.extend_from_slice(body.as_bytes());
}

impl WebSocketSession {
    /// The room that the connection is in.
    pub(crate) fn room(&self) -> Option<&Arc<str>> {
        self.room.as_ref()
    }

    /// Receives bytes up to the end of a message; pongs and closes are written to `out`.
    pub(crate) fn receive(&mut self, input: &mut &mut [u8], out: &mut Vec<u8>) -> SessionInput {
        while let Some(event) = self.server.receive(input, out) {
            match event {
                Event::Data { bytes, .. } => self.message.extend_from_slice(bytes),
                Event::Message(message) => {
                    self.kind = message.kind;
                    return SessionInput::Message;
                }
                Event::Open | Event::Ping(_) | Event::Pong(_) => {}
                Event::Close(_) | Event::Failed(_) => return SessionInput::End,
            }
        }
        SessionInput::Part
    }

    /// Writes the message for its recipients, and returns the place in `out` where the payload of
    /// an echo begins.
    pub(crate) fn response(&mut self, rooms: &mut Rooms, out: &mut Vec<u8>) -> Option<usize> {
        let payload_at = match &self.room {
            Some(room) => {
                message_frame(self.kind, &self.message, rooms.frames_for(room));
                None
            }
            None => {
                message_frame(self.kind, &self.message, out);
                Some(out.len() - self.message.len())
            }
        };
        self.message.clear();
        self.message.shrink_to(MESSAGE_KEPT_BYTES);
        payload_at
    }

    /// Ends the session with a client that reads too slowly.
    pub(crate) fn give_up(&mut self, out: &mut Vec<u8>) {
        let close = Close {
            code: Some(CloseCode::POLICY),
            reason: "messages are read too slowly",
        };
        // Not open: the client has already been sent a close.
        let _ = self.server.close(close, out);
    }
}

/// How many bytes may wait to be sent to a member of a room when another message arrives. A member
/// with more gets a close with code 1008 and leaves the room.
pub(crate) const LISTENER_BYTES_MAX: usize = 4 << 20;

/// The largest buffer for a message that an idle connection keeps.
const MESSAGE_KEPT_BYTES: usize = 64 * 1024;
