//! The output of a connection apart from requests: its handshake and pongs.
//!
//! This output must not mix with the bytes of a request: it waits for the rest of a request, and
//! requests wait for it.

use std::io;

use abx_sys::Nanos;

use super::slots::Pool;
use crate::connection::slot::{Slot, SlotState};
use crate::io::Io;
use crate::protocol::Protocol;

impl<I: Io, C: Protocol> Pool<I, C> {
    /// Sends the outbox, as far as the kernel takes it; the rest follows when there is room.
    ///
    /// # Errors
    /// The connection is broken.
    #[inline(always)]
    pub(super) fn flush_outbox(&mut self, index: usize) -> io::Result<()> {
        if !C::HAS_HANDSHAKE {
            return Ok(());
        }
        let slot = &mut self.slots[index];
        if !has_outbox::<C>(slot) || slot.unsent_bytes > 0 || slot.is_cut_off {
            return Ok(());
        }
        let token = slot.token(index);
        if let Some(outbox) = C::outbox(&mut slot.client) {
            let taken = self.io.send(token, outbox)?;
            outbox.drain(..taken);
        }
        Ok(())
    }

    /// Continues after received bytes: they may have ended the handshake, and requests may have
    /// waited for the outbox.
    #[inline(always)]
    pub(super) fn continue_with(&mut self, index: usize, now: Nanos) {
        if !C::HAS_HANDSHAKE {
            return;
        }
        let slot = &self.slots[index];
        if slot.state != SlotState::Connecting {
            self.resume(index, now);
        } else if C::is_open(&slot.client) {
            self.opens(index, now);
        }
    }
}

#[inline(always)]
pub(super) fn has_outbox<C: Protocol>(slot: &mut Slot<C::Client>) -> bool {
    C::outbox(&mut slot.client).is_some_and(|outbox| !outbox.is_empty())
}
