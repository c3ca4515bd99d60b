//! Files that a ring sends: handed over by connections, and what became of them.

use std::rc::Rc;

use abx_sys::{FileRing, Sent};

use super::EventLoop;
use super::connection::{Connection, TurnStep};
use crate::config::{Content, Sending, ServeError};
use crate::connection_table::ConnectionTable;
use crate::content::Tail;

/// How a connection's file fares in the ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RingTransfer {
    /// The ring has nothing of this connection's.
    None,
    /// The ring reads or sends. The connection waits, and is not closed, since
    /// its number is the ring's name for it.
    UnderWay,
    /// The ring waits for room in the socket.
    Full,
}

/// The ring that this content asks for.
pub(super) fn wanted(content: &Content) -> Result<Option<FileRing>, ServeError> {
    match content {
        Content::Files {
            sending: Sending::Uring,
            ..
        } => Ok(Some(FileRing::new()?)),
        _ => Ok(None),
    }
}

impl Connection {
    /// What the connection does as long as a ring sends for it; `None` when none does.
    pub(super) fn step_of_ring_transfer(
        &mut self,
        number: usize,
        event_loop: &mut EventLoop,
    ) -> Option<TurnStep> {
        match (self.ring_transfer, &self.tail) {
            (RingTransfer::UnderWay, _) => Some(TurnStep::Wait),
            (RingTransfer::Full, _) | (RingTransfer::None, Tail::Uring(_)) if self.is_full => {
                Some(TurnStep::Wait)
            }
            (RingTransfer::Full, _) | (RingTransfer::None, Tail::Uring(_)) => {
                Some(self.hand_over(number, event_loop))
            }
            (RingTransfer::None, _) => None,
        }
    }

    /// Has the ring send what is owed, or go on with it.
    fn hand_over(&mut self, number: usize, event_loop: &mut EventLoop) -> TurnStep {
        let Some(ring) = &mut event_loop.ring else {
            unreachable!("the tail of a ring is planned only where there is one");
        };
        // SUBTLE: Room that an event tells of from here on is news, also when the
        // event is seen before the ring's word that there was none.
        self.is_full = true;
        let given = match std::mem::replace(&mut self.tail, Tail::None) {
            Tail::Uring(part) => {
                self.out.drain(..std::mem::take(&mut self.sent));
                let out = std::mem::take(&mut self.out);
                ring.start(number, Rc::clone(&self.socket), out, part)
            }
            _ => ring.go_on(number),
        };
        match given {
            Ok(()) => {
                self.ring_transfer = RingTransfer::UnderWay;
                TurnStep::Wait
            }
            Err(_) => TurnStep::Close,
        }
    }
}

impl EventLoop {
    /// Hands the ring's work over, and gives turns to those who had something sent.
    pub(super) fn send_files(
        &mut self,
        table: &mut ConnectionTable<Connection>,
    ) -> Result<(), ServeError> {
        let Some(ring) = &mut self.ring else {
            return Ok(());
        };
        let mut deliveries = std::mem::take(&mut self.deliveries);
        let advanced = ring.advance(&mut deliveries);
        advanced.map_err(ServeError::RingFailed)?;
        for delivery in deliveries.drain(..) {
            let number = delivery.number;
            let connection = table.connection(number);
            let connection = connection.expect("nobody is closed while a ring sends for it");
            match delivery.sent {
                Sent::Whole(buffer) => {
                    connection.ring_transfer = RingTransfer::None;
                    connection.is_full = false;
                    connection.out = buffer;
                }
                Sent::Full => connection.ring_transfer = RingTransfer::Full,
                Sent::Failed(_) => {
                    table.close(number);
                    continue;
                }
            }
            self.give_turn(table, number);
        }
        self.deliveries = deliveries;
        Ok(())
    }
}
