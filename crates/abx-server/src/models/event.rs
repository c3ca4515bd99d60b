//! One thread for all connections, with edge-triggered epoll.
//!
//! A connection takes turns of limited length. It reads only when all it owes
//! is sent, so a client that sends without reading fills its own buffers only.
//! A request may turn the connection into a WebSocket ([`crate::websocket::session`]).

mod ring;

use std::collections::VecDeque;
use std::io;

use abx_sys::{Delivery, Events, FileRing, Nanos, ServerAddress};

use crate::admission::{EventSource, event_source};
use crate::config::{ServeError, ServerConfig};
use crate::connection::{Connection, Context, TurnStep};
use crate::connection_table::ConnectionTable;
use crate::content::ServedContent;
use crate::listener::ListeningSocket;

pub(crate) use ring::wanted as wanted_ring;

/// Serves until the end, or until the kernel ends the wait.
pub(crate) fn run(
    config: &ServerConfig,
    site: ServedContent,
    on_ready: impl FnOnce(ServerAddress),
    on_refusal: impl Fn(&io::Error),
) -> Result<(), ServeError> {
    let ring = ring::wanted(&config.content)?;
    let listener = ListeningSocket::open(config)?;
    let address = listener.address;
    let mut context = Context::new(config, site, listener.ending.clone(), READ_BYTES);
    let mut table = ConnectionTable::new(listener)?;
    if let Some(ring) = &ring {
        table.watch(ring.notice())?;
    }
    context.ring = ring;
    let mut event_loop = EventLoop {
        context,
        again: VecDeque::new(),
        deliveries: Vec::new(),
    };
    let mut events = Events::with_capacity(EVENTS_MAX);
    on_ready(address);
    loop {
        table.wait(&mut events, event_loop.deadline())?;
        event_loop.context.injector.stall();
        for event in events.iter() {
            match event_source(event) {
                EventSource::Listener => table.accept(Connection::new),
                // What became of files, and of the server, is asked for below.
                EventSource::Other => {}
                EventSource::Connection(number) => {
                    if let Some(connection) = table.connection(number) {
                        connection.note(event);
                        event_loop.give_turn(&mut table, number);
                    }
                }
            }
        }
        event_loop.go_on(&mut table);
        event_loop.send_files(&mut table)?;
        table.retry(Connection::new);
        if let Some(error) = table.take_refusal() {
            on_refusal(&error);
        }
        if table.is_ending(Connection::new) && table.is_empty() {
            return Ok(());
        }
    }
}

/// What all connections share.
struct EventLoop {
    context: Context,
    /// Connections whose last turn ended before their work did.
    again: VecDeque<usize>,
    /// What the ring last told, kept for its memory.
    deliveries: Vec<Delivery>,
}

impl EventLoop {
    fn deadline(&mut self) -> Option<Nanos> {
        let has_files = self.context.ring.as_mut().is_some_and(FileRing::has_work);
        if self.again.is_empty() && !has_files {
            self.context.due.front().map(|(at, _)| *at)
        } else {
            Some(Nanos(0))
        }
    }

    /// Gives turns to those who had to break off and to those whose response is due.
    fn go_on(&mut self, table: &mut ConnectionTable<Connection>) {
        for _ in 0..self.again.len() {
            let number = self.again.pop_front().expect("counted a line above");
            if let Some(connection) = table.connection(number) {
                connection.is_in_again = false;
                self.give_turn(table, number);
            }
        }
        if self.context.due.is_empty() {
            return;
        }
        let now = Nanos::now();
        while let Some((at, number)) = self.context.due.front().copied()
            && at <= now
        {
            self.context.due.pop_front();
            // The connection may be gone and its number be another's by now.
            if let Some(connection) = table.connection(number)
                && connection.due == Some(at)
            {
                connection.response_due(number, &mut self.context);
                self.give_turn(table, number);
            }
        }
    }

    fn give_turn(&mut self, table: &mut ConnectionTable<Connection>, number: usize) {
        for _ in 0..STEPS_PER_TURN {
            let Some(connection) = table.connection(number) else {
                return;
            };
            let step = connection.step(number, &mut self.context);
            if let TurnStep::Close = step {
                connection.leave(number, &mut self.context);
                table.close(number);
            }
            self.deliver(table);
            match step {
                TurnStep::GoOn => {}
                TurnStep::Wait | TurnStep::Close => return,
            }
        }
        if let Some(connection) = table.connection(number) {
            self.line_up(connection, number);
        }
    }

    /// The connection has another turn when the others have had theirs.
    fn line_up(&mut self, connection: &mut Connection, number: usize) {
        if !connection.is_in_again {
            connection.is_in_again = true;
            self.again.push_back(number);
        }
    }

    /// Hands what was said in a room to its members, who send it in their turns.
    fn deliver(&mut self, table: &mut ConnectionTable<Connection>) {
        let Some((room_message, mut members)) = self.context.rooms.take_said() else {
            return;
        };
        members.retain(|number| {
            let member = table.connection(*number);
            let member = member.expect("who is gone has left the room");
            self.line_up(member, *number);
            member.tell(&room_message.frames)
        });
        self.context.rooms.put_back(room_message, members);
    }
}

/// Room for one read, in bytes.
const READ_BYTES: usize = 64 * 1024;

/// The events of one wait.
const EVENTS_MAX: usize = 512;

/// Reads and sends of one connection before the others have their turn.
const STEPS_PER_TURN: usize = 16;
