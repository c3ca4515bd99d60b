//! What a connection reads, owes and sends, step by step.

use std::io;
use std::sync::Arc;

use abx_sys::{Nanos, Socket, SocketEvent};
use abx_wire::http1::{Server, ServerEvent};
use rustix::net::{Shutdown, send, shutdown};

use super::bodies::OUT_BYTES_ENOUGH;
use super::context::{Batch, Context};
use super::http2_session::Http2Session;
use super::protocol_choice::{FirstBytes, ProtocolChoice};
use super::state::{ConnectionPhase, ConnectionWait, RingTransfer, TurnStep};
use crate::content::{CONTINUE, Plan, Tail, response_malformed};
use crate::faults::{Frames, InjectedFault};
use crate::listener::AcceptedConnection;
use crate::tls::{self, TlsStream};
use crate::websocket::session::{
    LISTENER_BYTES_MAX, SessionInput, UpgradeRequest, WebSocketSession, response_count,
};

/// A client's socket, and the state of the session with it.
pub(crate) struct Connection {
    pub(crate) socket: Arc<Socket>,
    tls: Option<Box<TlsStream>>,
    choice: ProtocolChoice,
    requests: Server,
    /// The state of HTTP/2, if the connection uses it.
    pub(super) http2: Option<Box<Http2Session>>,
    /// The request in progress, once its head is read.
    plan: Option<Plan>,
    /// What the request asks for instead of the content.
    wish: Option<UpgradeRequest>,
    /// The WebSocket that the connection has become.
    session: Option<Box<WebSocketSession>>,
    /// Bytes that were read and belong to later requests.
    pub(super) unread: Vec<u8>,
    /// Bytes to send, of which the first `sent` are sent; then the tail.
    pub(crate) out: Vec<u8>,
    pub(super) sent: usize,
    /// Where in `out` a send must end, if not at the end.
    pause_at: Option<usize>,
    pub(super) tail: Tail,
    /// The state of a file that a ring sends.
    pub(crate) ring_transfer: RingTransfer,
    /// When the response to a request or message is due, if it is delayed.
    pub(crate) due: Option<Nanos>,
    phase: ConnectionPhase,
    /// Calls on the socket block until they have a result.
    pub(super) is_blocking: bool,
    /// The socket may have bytes.
    pub(super) is_readable: bool,
    /// The socket may have reached its end, which no later event reports.
    has_ended: bool,
    /// The socket takes no more until an event reports room.
    pub(crate) is_full: bool,
    pub(crate) is_in_again: bool,
}

impl Connection {
    pub(crate) fn new(accepted: AcceptedConnection) -> Connection {
        Connection {
            socket: Arc::new(accepted.socket),
            tls: accepted.tls,
            choice: ProtocolChoice::Undecided(0),
            requests: Server::new(),
            http2: None,
            plan: None,
            wish: None,
            session: None,
            unread: Vec::new(),
            out: Vec::new(),
            sent: 0,
            pause_at: None,
            tail: Tail::None,
            ring_transfer: RingTransfer::None,
            due: None,
            phase: ConnectionPhase::Open,
            is_blocking: false,
            is_readable: false,
            has_ended: false,
            is_full: false,
            is_in_again: false,
        }
    }

    /// A connection whose socket blocks, so that it always tries to read.
    pub(crate) fn blocking(accepted: AcceptedConnection) -> Connection {
        Connection {
            is_blocking: true,
            is_readable: true,
            ..Connection::new(accepted)
        }
    }

    /// What to wait for, after a step that requires a wait.
    pub(crate) fn awaited(&self) -> ConnectionWait {
        match self.due {
            Some(at) => ConnectionWait::Time(at),
            None if self.is_full => ConnectionWait::Room,
            None => ConnectionWait::Bytes,
        }
    }

    /// Continues after a wait for bytes or for room.
    pub(crate) fn wake(&mut self) {
        self.is_readable |= !self.is_full;
        self.is_full = false;
    }

    /// Whether every request got its response, and more may come.
    pub(crate) fn is_between_requests(&self) -> bool {
        self.phase == ConnectionPhase::Open
            && self.out.is_empty()
            && self.tail.is_none()
            && self.due.is_none()
            && !self.has_pending_records()
            && self
                .http2
                .as_ref()
                .is_none_or(|session| session.is_at_rest())
    }

    /// Whether there may be unprocessed bytes.
    pub(crate) fn has_more(&self) -> bool {
        !self.unread.is_empty() || self.is_readable
    }

    pub(crate) fn note(&mut self, event: SocketEvent) {
        self.is_readable |= event.readable();
        self.has_ended |= event.ended();
        self.is_full &= !event.writable();
    }

    pub(crate) fn step(&mut self, number: usize, context: &mut Context) -> TurnStep {
        if let Some(step) = self.step_of_ring_transfer(number, context) {
            return step;
        }
        if self.has_pending_records() || !self.out.is_empty() || !self.tail.is_none() {
            if self.is_full {
                return TurnStep::Wait;
            }
            return match self.send(context) {
                Ok(()) => TurnStep::Continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.is_full = true;
                    TurnStep::Wait
                }
                Err(_) => TurnStep::Close,
            };
        }
        if let Some(step) = self.step_of_streams(number, context) {
            return step;
        }
        if self.due.is_some() {
            return TurnStep::Wait;
        }
        if self.phase == ConnectionPhase::Closing {
            return self.end();
        }
        self.take_more(number, context)
    }

    /// Processes bytes that were read before, otherwise reads or waits.
    pub(super) fn take_more(&mut self, number: usize, context: &mut Context) -> TurnStep {
        match (self.unread.is_empty(), self.is_readable) {
            (false, _) => self.take_unread(number, context),
            (true, true) => self.read(number, context),
            (true, false) => TurnStep::Wait,
        }
    }

    fn take_unread(&mut self, number: usize, context: &mut Context) -> TurnStep {
        let mut bytes = std::mem::take(&mut self.unread);
        let used = self.take(&mut bytes, number, context);
        bytes.drain(..used);
        bytes.shrink_to(UNREAD_KEPT_BYTES);
        self.unread = bytes;
        TurnStep::Continue
    }

    /// Sends one piece of what is owed.
    fn send(&mut self, context: &Context) -> io::Result<()> {
        if let Some(tls) = &mut self.tls
            && tls.has_pending_records()
        {
            return tls.flush(&self.socket);
        }
        if self.sent == 0 {
            self.tail.fill(&mut self.out)?;
        }
        if self.out.is_empty() {
            return context
                .site
                .send_piece(&self.socket, self.tls.as_deref_mut(), &mut self.tail);
        }
        let flags = self.tail.flags();
        let end = self.pause_at.unwrap_or(self.out.len());
        let end = context.costs.write_end(self.sent, end);
        let bytes = &self.out[self.sent..end];
        self.sent += match &mut self.tls {
            None => send(&*self.socket, bytes, flags)?,
            Some(tls) => tls.send(&self.socket, bytes)?,
        };
        if self.pause_at == Some(self.sent) {
            self.pause_at = None;
        }
        if self.sent == self.out.len() {
            self.out.clear();
            self.out.shrink_to(OUT_KEPT_BYTES);
            self.sent = 0;
        }
        Ok(())
    }

    fn read(&mut self, number: usize, context: &mut Context) -> TurnStep {
        let mut buffer = std::mem::take(&mut context.buffer);
        let step = match tls::receive(&self.socket, self.tls.as_deref_mut(), &mut buffer) {
            Ok((0, _)) => TurnStep::Close,
            Ok((received, may_have_more)) => {
                // After a short read, an event reports the next bytes, but not the end.
                self.is_readable = may_have_more || self.has_ended || self.is_blocking;
                if self.phase == ConnectionPhase::Open {
                    let used = self.take(&mut buffer[..received], number, context);
                    self.unread.extend_from_slice(&buffer[used..received]);
                }
                TurnStep::Continue
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.is_readable = false;
                TurnStep::Wait
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => TurnStep::Continue,
            Err(_) => TurnStep::Close,
        };
        context.buffer = buffer;
        step
    }

    fn has_pending_records(&self) -> bool {
        self.tls
            .as_ref()
            .is_some_and(|tls| tls.has_pending_records())
    }

    /// Processes `bytes` as far as possible, and returns the number of bytes used.
    fn take(&mut self, bytes: &mut [u8], number: usize, context: &mut Context) -> usize {
        if let Some(first) = self.choice.look(bytes, self.tls.as_deref()) {
            return self.take_first(first, bytes, number, context);
        }
        match (&self.session, &self.http2) {
            (Some(_), _) => self.take_messages(bytes, number, context),
            (None, Some(_)) => self.take_frames(bytes, number, context),
            (None, None) => self.take_requests(bytes, number, context),
        }
    }

    /// Processes the bytes that show which protocol is used, and all later ones.
    fn take_first(
        &mut self,
        first: FirstBytes,
        bytes: &[u8],
        number: usize,
        context: &mut Context,
    ) -> usize {
        match first {
            FirstBytes::TooFew => bytes.len(),
            FirstBytes::Http1 { before: [] } => self.take_requests(bytes, number, context),
            FirstBytes::Http1 { before } => {
                let all_bytes = [before, bytes].concat();
                let used = self.take_requests(&all_bytes, number, context);
                used.saturating_sub(before.len())
            }
            FirstBytes::Http2 { before } => {
                let session = Http2Session::begin(before.len(), &mut self.out);
                self.http2 = Some(Box::new(session));
                self.take_frames(bytes, number, context)
            }
        }
    }

    /// Responds to requests in `bytes` as far as possible, and returns the number of bytes used.
    fn take_requests(&mut self, bytes: &[u8], number: usize, context: &mut Context) -> usize {
        let mut input = bytes;
        while let Some(event) = self.requests.receive(&mut input) {
            match event {
                ServerEvent::Head(mut head) => {
                    head.keep_alive = head.keep_alive && !context.is_last_request();
                    self.plan = Some(context.site.plan(&head));
                    self.wish = UpgradeRequest::of(&head, context.websocket);
                    if head.expects_continue {
                        self.out.extend_from_slice(CONTINUE);
                    }
                }
                ServerEvent::Done => {
                    self.take_whole(number, context);
                    let has_enough = self.due.is_some()
                        || self.session.is_some()
                        || context.batch == Batch::One
                        || self.phase != ConnectionPhase::Open
                        || self.out.len() >= OUT_BYTES_ENOUGH
                        || !self.tail.is_none();
                    if has_enough {
                        break;
                    }
                }
                ServerEvent::Failed(_) => {
                    response_malformed(&mut self.out);
                    self.phase = ConnectionPhase::Closing;
                    // More may still arrive: close gracefully in any case.
                    self.is_readable = true;
                    break;
                }
            }
        }
        bytes.len() - input.len()
    }

    /// Responds to messages in `bytes` as far as possible, and returns the number of bytes used.
    fn take_messages(&mut self, bytes: &mut [u8], number: usize, context: &mut Context) -> usize {
        let total = bytes.len();
        let mut input = bytes;
        while let Some(session) = &mut self.session {
            match session.receive(&mut input, &mut self.out) {
                SessionInput::Part => break,
                SessionInput::Message => {
                    self.take_whole(number, context);
                    let has_enough = self.due.is_some()
                        || self.pause_at.is_some()
                        || self.out.len() >= OUT_BYTES_ENOUGH
                        || context.rooms.undelivered_bytes() >= OUT_BYTES_ENOUGH;
                    if has_enough {
                        break;
                    }
                }
                SessionInput::End => self.leave(number, context),
            }
        }
        total - input.len()
    }

    /// Responds to a complete request or message, or delays its response.
    fn take_whole(&mut self, number: usize, context: &mut Context) {
        context.pay_costs();
        match context.injector.delay() {
            None => self.response(number, context),
            Some(delay) => {
                let at = Nanos::now().plus(delay.into());
                self.due = Some(at);
                context.due.push_back((at, number));
            }
        }
    }

    /// Sends a response that is now due.
    pub(crate) fn response_due(&mut self, number: usize, context: &mut Context) {
        if self.http2.is_some() {
            return self.response_due_streams(context);
        }
        self.due = None;
        self.response(number, context);
    }

    fn response(&mut self, number: usize, context: &mut Context) {
        if let Some(session) = &mut self.session {
            let payload_at = session.response(&mut context.rooms, &mut self.out);
            context.responded += 1;
            self.pause_at = payload_at.filter(|_| context.injector.frames() == Frames::Apart);
            return;
        }
        context.responded += 1;
        let plan = self.plan.take().expect("a request has a head");
        let injected = context.injector.draw();
        // A handshake with an injected fault gets the faulty response of the content.
        if let Some(wish) = self.wish.take()
            && injected == InjectedFault::None
        {
            return self.grant(wish, number, context);
        }
        let response = context.site.write_response(plan, injected, &mut self.out);
        self.tail = response.tail;
        if response.close {
            self.phase = ConnectionPhase::Closing;
        }
    }

    fn grant(&mut self, wish: UpgradeRequest, number: usize, context: &mut Context) {
        match wish {
            UpgradeRequest::WebSocketSession(session, response) => {
                self.out.extend_from_slice(&response);
                if let Some(room) = session.room() {
                    context.rooms.join(room, number);
                }
                self.session = Some(session);
            }
            UpgradeRequest::Refused(fault) => {
                fault.response(&mut self.out);
                self.phase = ConnectionPhase::Closing;
                self.is_readable = true;
            }
            UpgradeRequest::Count(room, head) => {
                response_count(context.rooms.count(&room), head, &mut self.out);
                if !head.keep_alive {
                    self.phase = ConnectionPhase::Closing;
                }
            }
        }
    }

    /// Ends the WebSocket, if there is one: nothing more is received or sent.
    pub(crate) fn leave(&mut self, number: usize, context: &mut Context) {
        let Some(session) = self.session.take() else {
            return;
        };
        if let Some(room) = session.room() {
            context.rooms.leave(room, number);
        }
        self.hang_up();
    }

    /// Queues messages of the room, and returns whether the connection stays in it.
    pub(crate) fn queue_frames(&mut self, frames: &[u8]) -> bool {
        let session = self.session.as_mut();
        let session = session.expect("members of a room have a WebSocket");
        if self.out.len() - self.sent > LISTENER_BYTES_MAX {
            session.give_up(&mut self.out);
            self.session = None;
            self.hang_up();
            return false;
        }
        // Sent bytes must not accumulate while there is always something left to send.
        if self.sent > self.out.len() / 2 {
            self.out.drain(..self.sent);
            self.sent = 0;
        }
        self.out.extend_from_slice(frames);
        true
    }

    /// Ends the connection gracefully after all is sent, because the client may still be sending.
    pub(super) fn hang_up(&mut self) {
        self.phase = ConnectionPhase::Closing;
        self.http2 = None;
        self.due = None;
        self.is_readable = true;
    }

    /// Ends the connection after all is sent, gracefully if the client may still be sending.
    fn end(&mut self) -> TurnStep {
        if let Some(tls) = &mut self.tls
            && tls.send_close_notify()
        {
            return TurnStep::Continue;
        }
        if self.unread.is_empty() && !self.is_readable {
            return TurnStep::Close;
        }
        self.phase = ConnectionPhase::DrainingClose;
        self.unread = Vec::new();
        match shutdown(&*self.socket, Shutdown::Write) {
            Ok(()) => TurnStep::Continue,
            Err(_) => TurnStep::Close,
        }
    }
}

/// The largest buffer for bytes to send that an idle connection keeps.
const OUT_KEPT_BYTES: usize = 256 * 1024;

/// The largest buffer for unread bytes that an idle connection keeps.
const UNREAD_KEPT_BYTES: usize = 4096;

#[cfg(test)]
mod tests {
    use abx_sys::ListenOptions;

    use super::*;
    use crate::config::WebSocketSupport;

    /// A member of a room, whose socket is never used.
    fn member() -> Connection {
        let address = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
        let socket = Socket::listen(
            address.into(),
            ListenOptions {
                backlog: 1,
                shares_port: false,
            },
        )
        .unwrap();
        let mut input: &[u8] = b"GET /chat/red HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\n\
            Upgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
            Sec-WebSocket-Version: 13\r\n\r\n";
        let mut requests = Server::new();
        let Some(ServerEvent::Head(head)) = requests.receive(&mut input) else {
            panic!("no head");
        };
        let Some(UpgradeRequest::WebSocketSession(session, _)) =
            UpgradeRequest::of(&head, WebSocketSupport::EchoAndChat)
        else {
            panic!("no handshake");
        };
        let mut connection = Connection::new(AcceptedConnection { socket, tls: None });
        connection.session = Some(session);
        connection
    }

    #[test]
    fn sent_bytes_do_not_accumulate_while_messages_arrive() {
        // Method: a member that is always two thirds of a message behind: for each 300 bytes, all
        // but the last 200 are sent.
        let mut member = member();
        for _ in 0..10_000 {
            let waiting = member.out.len() - member.sent;
            assert!(member.queue_frames(&[7; 300]));
            assert_eq!(member.out.len() - member.sent, waiting + 300);
            member.sent = member.out.len() - 200;
        }
        assert!(member.out.len() < 2_000, "{}", member.out.len());
    }

    #[test]
    fn a_member_is_given_up_when_more_than_the_limit_waits() {
        // Method: exactly the limit waits, then more. The close is the last frame.
        let mut member = member();
        assert!(member.queue_frames(&vec![7; LISTENER_BYTES_MAX]));
        assert!(member.queue_frames(b"\x82\0"));
        let waiting = member.out.len();
        assert!(!member.queue_frames(b"\x82\0"));
        assert_eq!(member.out[waiting..][..4], [0x88, 30, 0x03, 0xF0]);
        assert!(member.session.is_none() && member.phase == ConnectionPhase::Closing);
    }
}
