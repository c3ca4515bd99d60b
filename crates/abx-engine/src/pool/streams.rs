//! How requests go out that have streams of their own.

use abx_sys::Nanos;

use super::Pool;
use super::outbox::has_outbox;
use crate::io::Io;
use crate::protocol::Protocol;

impl<I: Io, C: Protocol> Pool<I, C> {
    /// Begins a stream for each request of a slot that has none yet, as far as the peer
    /// allows it, and sends all of them by one call. Those that it does not allow wait, and
    /// their time runs.
    pub(super) fn begin_streams(&mut self, index: usize, now: Nanos) {
        let slot = &mut self.slots[index];
        if !slot.may_hand_over() || has_outbox::<C>(slot) {
            return;
        }
        // A reading of its own, as for all that is sent.
        let sent = self.io.now();
        self.progress.acted(sent);
        while let Some(flight) = slot.flights.at_mut(slot.handed) {
            if let Some(template) = &self.encoded[flight.request].template
                // What is put together is sent: each number is.
                && C::may_begin_stream(&slot.client)
                && let Some(request) = self.protocol.request_mut(flight.request)
            {
                template.fill(&mut self.values, request);
            }
            let begun = self.protocol.begin_stream(&mut slot.client, flight.request);
            let Some(stream) = begun else {
                break;
            };
            flight.sent = Some(sent);
            flight.stream = stream;
            slot.handed += 1;
        }
        if let Err(error) = self.flush_outbox(index) {
            self.cannot_send(index, &error, now);
        }
    }

    /// Puts those requests of a slot first whose answers have begun, and says how many
    /// they are.
    pub(super) fn bring_begun_first(&mut self, index: usize) -> usize {
        let slot = &mut self.slots[index];
        let mut begun = 0;
        for place in 0..slot.handed {
            let flight = slot.flights.at_mut(place);
            if flight.is_some_and(|flight| C::has_stream_begun(&slot.client, flight.stream)) {
                slot.flights.advance(place);
                begun += 1;
            }
        }
        begun
    }
}
