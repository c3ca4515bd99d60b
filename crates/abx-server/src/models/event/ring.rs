//! The ring that sends files, and what became of those that connections handed over.

use abx_sys::{FileRing, Sent};

use super::event_loop::EventLoop;
use crate::config::{Content, SendMethod, ServeError};
use crate::connection::{Connection, RingTransfer};
use crate::connection_table::ConnectionTable;

/// The ring that this content needs.
pub(crate) fn wanted(content: &Content) -> Result<Option<FileRing>, ServeError> {
    match content {
        Content::Files {
            sending: SendMethod::Uring,
            ..
        } => Ok(Some(FileRing::new()?)),
        _ => Ok(None),
    }
}

impl EventLoop {
    /// Hands the ring's work over, and gives turns to connections for which it has sent something.
    pub(super) fn send_files(
        &mut self,
        table: &mut ConnectionTable<Connection>,
    ) -> Result<(), ServeError> {
        let Some(ring) = &mut self.context.ring else {
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
