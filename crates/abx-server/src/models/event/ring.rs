//! The ring that sends files, and its results.

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
    /// Submits the ring's work, and gives turns to connections whose files it has processed.
    pub(super) fn send_files(
        &mut self,
        table: &mut ConnectionTable<Connection>,
    ) -> Result<(), ServeError> {
        let Some(ring) = &mut self.context.ring else {
            return Ok(());
        };
        let mut deliveries = std::mem::take(&mut self.deliveries);
        ring.advance(&mut deliveries)
            .map_err(ServeError::RingFailed)?;
        for delivery in deliveries.drain(..) {
            let number = delivery.number;
            let connection = table.connection(number);
            let connection = connection.expect("a connection stays open while a ring sends for it");
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
