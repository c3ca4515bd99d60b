//! One thread for all connections, with edge-triggered epoll.
//!
//! A connection takes turns of limited length. It reads only when all it owes
//! is sent, so a client that sends without reading fills its own buffers only.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;

use abx_sys::{Event, Events, Nanos, Socket};
use abx_wire::http1::{Server, ServerEvent};
use rustix::net::{SendFlags, Shutdown, send, shutdown};

use crate::config::{ServeError, ServerConfig};
use crate::content::{CONTINUE, Plan, Site, Tail, answer_malformed};
use crate::fault::Planted;
use crate::reception::{Reception, number_of};

/// Serves until the kernel ends the wait.
pub(crate) fn run(
    config: &ServerConfig,
    site: Site,
    on_ready: impl FnOnce(SocketAddr),
) -> Result<Infallible, ServeError> {
    let (mut reception, address) = Reception::open(config)?;
    let mut desk = Desk {
        site,
        planted: Planted::new(config.faults, config.seed),
        due: VecDeque::new(),
        again: VecDeque::new(),
        buffer: vec![0; READ_BYTES],
    };
    let mut events = Events::with_capacity(EVENTS_MAX);
    on_ready(address);
    loop {
        reception.wait(&mut events, desk.deadline())?;
        desk.planted.stall();
        for event in events.iter() {
            match number_of(event) {
                None => reception.accept(Connection::new),
                Some(number) => {
                    if let Some(connection) = reception.connection(number) {
                        connection.note(event);
                        desk.give_turn(&mut reception, number);
                    }
                }
            }
        }
        desk.go_on(&mut reception);
        reception.retry(Connection::new);
    }
}

/// What all connections share.
struct Desk {
    site: Site,
    planted: Planted,
    /// Answers that wait for their time. The wait is the same for all, so they are in order.
    due: VecDeque<(Nanos, usize)>,
    /// Connections whose last turn ended before their work did.
    again: VecDeque<usize>,
    /// Room for one read, shared because nothing stays in it.
    buffer: Vec<u8>,
}

struct Connection {
    socket: Socket,
    requests: Server,
    /// The request in progress, once its head is read.
    plan: Option<Plan>,
    /// Bytes that were read and belong to requests not yet looked at.
    unread: Vec<u8>,
    /// Bytes to send, of which the first `sent` are sent; then the tail.
    out: Vec<u8>,
    sent: usize,
    tail: Tail,
    /// When the answer of `plan` is due, while it waits.
    due: Option<Nanos>,
    phase: Phase,
    /// The socket may have bytes.
    is_readable: bool,
    /// The socket may have its end, which no later event tells.
    has_ended: bool,
    is_in_again: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Requests are taken.
    Open,
    /// All but what is to be sent is over.
    Closing,
    /// All is sent and the end told; bytes still coming are thrown away. A plain
    /// close would answer them with a reset, which may destroy the answer.
    Lingering,
}

/// What a connection does next.
enum Step {
    GoOn,
    Wait,
    Close,
}

impl Desk {
    fn deadline(&self) -> Option<Nanos> {
        match self.again.is_empty() {
            true => self.due.front().map(|(at, _)| *at),
            false => Some(Nanos(0)),
        }
    }

    /// Gives turns to those who had to break off and to those whose answer is due.
    fn go_on(&mut self, reception: &mut Reception<Connection>) {
        for _ in 0..self.again.len() {
            let number = self.again.pop_front().expect("counted a line above");
            if let Some(connection) = reception.connection(number) {
                connection.is_in_again = false;
                self.give_turn(reception, number);
            }
        }
        if self.due.is_empty() {
            return;
        }
        let now = Nanos::now();
        while let Some((at, number)) = self.due.front().copied()
            && at <= now
        {
            self.due.pop_front();
            // The connection may be gone and its number be another's by now.
            if let Some(connection) = reception.connection(number)
                && connection.due == Some(at)
            {
                connection.due = None;
                connection.answer(self);
                self.give_turn(reception, number);
            }
        }
    }

    fn give_turn(&mut self, reception: &mut Reception<Connection>, number: usize) {
        let Some(connection) = reception.connection(number) else {
            return;
        };
        for _ in 0..STEPS_PER_TURN {
            match connection.step(number, self) {
                Step::GoOn => {}
                Step::Wait => return,
                Step::Close => return reception.close(number),
            }
        }
        if !connection.is_in_again {
            connection.is_in_again = true;
            self.again.push_back(number);
        }
    }
}

impl Connection {
    fn new(socket: Socket) -> Connection {
        Connection {
            socket,
            requests: Server::new(),
            plan: None,
            unread: Vec::new(),
            out: Vec::new(),
            sent: 0,
            tail: Tail::None,
            due: None,
            phase: Phase::Open,
            is_readable: false,
            has_ended: false,
            is_in_again: false,
        }
    }

    fn note(&mut self, event: Event) {
        self.is_readable |= event.readable();
        self.has_ended |= event.ended();
    }

    fn step(&mut self, number: usize, desk: &mut Desk) -> Step {
        if !self.out.is_empty() || !matches!(self.tail, Tail::None) {
            return match self.send(&desk.site) {
                Ok(()) => Step::GoOn,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Step::Wait,
                Err(_) => Step::Close,
            };
        }
        if self.due.is_some() {
            return Step::Wait;
        }
        if self.phase == Phase::Closing {
            return self.end();
        }
        if !self.unread.is_empty() {
            let mut bytes = std::mem::take(&mut self.unread);
            let used = self.take_requests(&bytes, number, desk);
            bytes.drain(..used);
            bytes.shrink_to(UNREAD_KEPT_BYTES);
            self.unread = bytes;
            return Step::GoOn;
        }
        match self.is_readable {
            true => self.read(number, desk),
            false => Step::Wait,
        }
    }

    /// Sends one piece of what is owed.
    fn send(&mut self, site: &Site) -> io::Result<()> {
        if self.out.is_empty() {
            return site.send_piece(&self.socket, &mut self.tail);
        }
        // A head without its file would go out as a segment of its own.
        let flags = match self.tail {
            Tail::None => SendFlags::NOSIGNAL,
            _ => SendFlags::NOSIGNAL | SendFlags::MORE,
        };
        self.sent += send(&self.socket, &self.out[self.sent..], flags)?;
        if self.sent == self.out.len() {
            self.out.clear();
            self.sent = 0;
        }
        Ok(())
    }

    fn read(&mut self, number: usize, desk: &mut Desk) -> Step {
        let mut buffer = std::mem::take(&mut desk.buffer);
        let step = match self.socket.receive(&mut buffer) {
            Ok(0) => Step::Close,
            Ok(received) => {
                // After a short read the next bytes come with an event, but not the end.
                self.is_readable = received == buffer.len() || self.has_ended;
                if self.phase == Phase::Open {
                    let used = self.take_requests(&buffer[..received], number, desk);
                    self.unread.extend_from_slice(&buffer[used..received]);
                }
                Step::GoOn
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.is_readable = false;
                Step::Wait
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Step::GoOn,
            Err(_) => Step::Close,
        };
        desk.buffer = buffer;
        step
    }

    /// Answers the requests in `bytes` as far as may be, and says how many bytes that took.
    fn take_requests(&mut self, bytes: &[u8], number: usize, desk: &mut Desk) -> usize {
        let mut input = bytes;
        while let Some(event) = self.requests.receive(&mut input) {
            match event {
                ServerEvent::Head(head) => {
                    self.plan = Some(desk.site.plan(&head));
                    if head.expects_continue {
                        self.out.extend_from_slice(CONTINUE);
                    }
                }
                ServerEvent::Done => {
                    self.take_request(number, desk);
                    let has_enough = self.due.is_some()
                        || self.phase != Phase::Open
                        || self.out.len() >= OUT_BYTES_ENOUGH
                        || !matches!(self.tail, Tail::None);
                    if has_enough {
                        break;
                    }
                }
                ServerEvent::Failed(_) => {
                    answer_malformed(&mut self.out);
                    self.phase = Phase::Closing;
                    // Who knows what still comes: end softly in any case.
                    self.is_readable = true;
                    break;
                }
            }
        }
        bytes.len() - input.len()
    }

    /// Answers a whole request, or has its answer wait.
    fn take_request(&mut self, number: usize, desk: &mut Desk) {
        desk.planted.stall();
        desk.planted.work();
        match desk.planted.delay() {
            None => self.answer(desk),
            Some(delay) => {
                let at = Nanos::now().plus(delay.into());
                self.due = Some(at);
                desk.due.push_back((at, number));
            }
        }
    }

    fn answer(&mut self, desk: &mut Desk) {
        let plan = self.plan.take().expect("a request has a head");
        let twist = desk.planted.draw();
        let answer = desk.site.answer(plan, twist, &mut self.out);
        self.tail = answer.tail;
        if answer.close {
            self.phase = Phase::Closing;
        }
    }

    /// All is sent: ends the connection, softly where the client may still be sending.
    fn end(&mut self) -> Step {
        if self.unread.is_empty() && !self.is_readable {
            return Step::Close;
        }
        self.phase = Phase::Lingering;
        self.unread = Vec::new();
        match shutdown(&self.socket, Shutdown::Write) {
            Ok(()) => Step::GoOn,
            Err(_) => Step::Close,
        }
    }
}

/// Room for one read, in bytes.
const READ_BYTES: usize = 64 * 1024;

/// So many bytes to send that further requests wait.
const OUT_BYTES_ENOUGH: usize = 64 * 1024;

/// The largest buffer for unread bytes that an idle connection keeps.
const UNREAD_KEPT_BYTES: usize = 4096;

/// The events of one wait.
const EVENTS_MAX: usize = 512;

/// Reads and sends of one connection before the others have their turn.
const STEPS_PER_TURN: usize = 16;
