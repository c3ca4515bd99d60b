//! The turns of connections that share one thread.

use std::collections::VecDeque;

use abx_sys::{Delivery, FileRing, Nanos};

use crate::connection::{Connection, Context, TurnStep};
use crate::connection_table::ConnectionTable;

pub(super) struct EventLoop {
    pub(super) context: Context,
    /// Connections whose last turn ended before their work did.
    pub(super) again: VecDeque<usize>,
    /// The last deliveries of the ring, kept to reuse their memory.
    pub(super) deliveries: Vec<Delivery>,
}

impl EventLoop {
    pub(super) fn deadline(&mut self) -> Option<Nanos> {
        let has_files = self.context.ring.as_mut().is_some_and(FileRing::has_work);
        if self.again.is_empty() && !has_files {
            self.context.due.front().map(|(at, _)| *at)
        } else {
            Some(Nanos(0))
        }
    }

    /// Gives turns to interrupted connections, and to those whose response is due.
    pub(super) fn give_turns(&mut self, table: &mut ConnectionTable<Connection>) {
        for _ in 0..self.again.len() {
            let number = self.again.pop_front().expect("the length was just read");
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
            // The connection may be gone, and its number may belong to another one.
            if let Some(connection) = table.connection(number)
                && connection.due == Some(at)
            {
                connection.response_due(number, &mut self.context);
                self.give_turn(table, number);
            }
        }
    }

    pub(super) fn give_turn(&mut self, table: &mut ConnectionTable<Connection>, number: usize) {
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
                TurnStep::Continue => {}
                TurnStep::Wait | TurnStep::Close => return,
            }
        }
        if let Some(connection) = table.connection(number) {
            self.line_up(connection, number);
        }
    }

    /// Gives the connection another turn after the others.
    fn line_up(&mut self, connection: &mut Connection, number: usize) {
        if !connection.is_in_again {
            connection.is_in_again = true;
            self.again.push_back(number);
        }
    }

    /// Queues the messages of a room for its members, which send them in their turns.
    fn deliver(&mut self, table: &mut ConnectionTable<Connection>) {
        let Some((room_message, mut members)) = self.context.rooms.take_undelivered() else {
            return;
        };
        members.retain(|number| {
            let member = table.connection(*number);
            let member = member.expect("a closed connection has left the room");
            self.line_up(member, *number);
            member.queue_frames(&room_message.frames)
        });
        self.context.rooms.put_back(room_message, members);
    }
}

/// The number of steps of one connection before others have their turn.
const STEPS_PER_TURN: usize = 16;
