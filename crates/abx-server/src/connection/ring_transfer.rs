//! A connection's file that a ring sends.

use std::sync::Arc;

use super::client_connection::Connection;
use super::context::Context;
use super::state::{RingTransfer, TurnStep};
use crate::content::Tail;

impl Connection {
    /// The step of a connection for which a ring sends a file; `None` if no ring does.
    pub(super) fn step_of_ring_transfer(
        &mut self,
        number: usize,
        context: &mut Context,
    ) -> Option<TurnStep> {
        match (self.ring_transfer, &self.tail) {
            (RingTransfer::UnderWay, _) => Some(TurnStep::Wait),
            (RingTransfer::Full, _) | (RingTransfer::None, Tail::Uring(_)) if self.is_full => {
                Some(TurnStep::Wait)
            }
            (RingTransfer::Full, _) | (RingTransfer::None, Tail::Uring(_)) => {
                Some(self.hand_over(number, context))
            }
            (RingTransfer::None, _) => None,
        }
    }

    /// Has the ring send the part that is due, or continue it.
    fn hand_over(&mut self, number: usize, context: &mut Context) -> TurnStep {
        let Some(ring) = &mut context.ring else {
            unreachable!("the tail of a ring is only planned with a ring");
        };
        // SUBTLE: An event from here on reports new room, even if it is seen before the ring
        // reports that there was none.
        self.is_full = true;
        let started = match std::mem::replace(&mut self.tail, Tail::None) {
            Tail::Uring(part) => {
                self.out.drain(..std::mem::take(&mut self.sent));
                let out = std::mem::take(&mut self.out);
                ring.start(number, Arc::clone(&self.socket), out, part)
            }
            _ => ring.resume(number),
        };
        match started {
            Ok(()) => {
                self.ring_transfer = RingTransfer::UnderWay;
                TurnStep::Wait
            }
            Err(_) => TurnStep::Close,
        }
    }
}
