//! Outcomes of requests whose connection is lost before their response.
//!
//! Each attempt has one outcome. A request that is sent again keeps its first intended
//! time, so its response time runs on: nothing is lost, nothing is counted twice, and no
//! subject gets faster by closing connections. The rules are the same for one request in
//! flight and for several:
//!
//! - A request whose response had begun fails with the connection's outcome, as do all
//!   requests whose streams had begun. Bytes that break the protocol also begin a response.
//! - After a response that ends its connection (`Connection: close`, or a body
//!   that ends with the close), the other requests were never served: a server may end a
//!   connection that way at any time (RFC 9112, sections 9.3.2 and 9.6). Each attempt is
//!   `idle_close`, and each request is sent again, as often as that happens: every
//!   time, one more request gets its response.
//! - The same rule applies to streams after the last one that a server announces it will serve
//!   (GOAWAY: RFC 9113, section 6.8), once it has served that stream. A stream that the server
//!   resets fails alone (`stream_reset`); its connection and the other streams continue.
//! - On a connection that broke and had carried a whole response before, each request
//!   whose response had not begun is `idle_close` and is sent once more; a second
//!   time it fails with the connection's outcome. On a new connection it fails at once.
//! - The same rule applies to the first requests on a connection after a rest of a second or more
//!   between two slices, whether the connection is new or not: each request is `rest_close`. A
//!   server may close an idle connection, and the generator let it idle.
//! - In both cases, only an idempotent request is sent again (RFC 9110, section 9.2.2).
//!   Any other fails with the connection's outcome, since its effect is unknown.
//! - A peer that took a request and closed without a byte of a response has failed it:
//!   `empty_response`, and it is not sent again. See below.
//! - After a request that timed out, the generator closes the connection. Each other request
//!   is `idle_close` and is sent once more, even if its connection was new. Its timeout runs on.
//!   A second time it fails together with the request that timed out: `timeout`.
//! - A request that was not sent because of a full send buffer was no attempt: it goes
//!   out on the next connection.
//!
//! The peer's kernel shows whether the peer took a request. A socket that is closed in an
//! orderly way sends its FIN after an acknowledgement of all bytes that had arrived. If those
//! are the whole request, the connection was open when it arrived, and the peer read it:
//! closing with unread bytes is a reset (RFC 2525, section 2.17). After a rest this does not
//! hold, as the server may notice an idle timeout that late. Servers then shut a connection
//! down, which sends the same FIN with the request unread. If the FIN crossed with the
//! request, the request is never acknowledged. A reset shows less: the peer had not read
//! the request, or dropped its connection after that. So it remains `idle_close` on a
//! reused connection, which a finding counts. With several requests in flight, it is unknown
//! which of them the peer had reached.

use abx_evidence::Outcome;
use abx_sys::Nanos;

use super::slots::Pool;
use crate::connection::slot::{ConnectionUse, SlotState};
use crate::io::Io;
use crate::protocol::{Lost, Protocol};

/// How often a request may be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Again {
    Always,
    /// Once, over all of its connections.
    Once,
    /// Once, after the loss of a connection that had rested.
    AfterRest,
    Never,
}

impl<I: Io, C: Protocol> Pool<I, C> {
    /// Closes a connection that a response has ended.
    pub(super) fn over(&mut self, index: usize, now: Nanos) {
        self.close(index);
        self.settle(index, Again::Always, Outcome::EarlyClose, now);
        self.reconnect(index, now);
    }

    pub(super) fn broken(&mut self, index: usize, outcome: Outcome, now: Nanos) {
        let slot = &self.slots[index];
        if slot.state == SlotState::Connecting {
            // In its handshake.
            self.close(index);
            return self.connect_failed(index, outcome, now);
        }
        self.protocol.lost(Lost {
            index,
            outcome,
            was_open: true,
        });
        let again = match outcome {
            Outcome::EmptyResponse => Again::Never,
            _ => match slot.usage {
                ConnectionUse::New => Again::Never,
                ConnectionUse::Rested if is_silent(outcome) => Again::AfterRest,
                ConnectionUse::Rested | ConnectionUse::Used => Again::Once,
            },
        };
        // Bytes that broke a rule were sent, even if the parser kept none of them.
        let has_sent = slot.handed > 0 && !is_silent(outcome);
        let begun = if C::HAS_STREAMS {
            self.bring_begun_first(index).max(usize::from(has_sent))
        } else {
            usize::from(has_sent || C::has_begun(&slot.client))
        };
        if outcome == Outcome::Unsolicited {
            self.count_unsolicited(now);
        }
        self.close(index);
        let in_flight = self.progress.in_flight;
        for _ in 0..begun {
            self.finish(index, outcome, now);
        }
        self.settle(index, again, outcome, now);
        self.progress.failures += usize::from(self.progress.in_flight < in_flight);
        self.reconnect(index, now);
    }

    /// Counts bytes that arrived without a request.
    fn count_unsolicited(&mut self, now: Nanos) {
        if self.progress.counting.counts(now) {
            self.tally.outcomes.add(Outcome::Unsolicited)
        } else {
            self.unsolicited += 1
        }
    }

    /// Ends the requests that have timed out; the first one in flight has.
    pub(super) fn timed_out(&mut self, index: usize, now: Nanos) {
        let timeout = Nanos(self.plan.timeout_ns());
        self.close(index);
        self.progress.timeouts += 1;
        while let Some(flight) = self.slots[index].flights.first()
            && flight.begun.plus(timeout) <= now
        {
            self.finish(index, Outcome::Timeout, now);
        }
        self.settle(index, Again::Once, Outcome::Timeout, now);
        self.reconnect(index, now);
    }

    /// Decides on each flight of a slot without a connection: it stays, to be
    /// sent again, or ends with `outcome`.
    fn settle(&mut self, index: usize, again: Again, outcome: Outcome, now: Nanos) {
        for _ in 0..self.slots[index].flights.len() {
            let first = self.slots[index].flights.first_mut();
            let first = first.expect("each turn handles one flight");
            let stays = match again {
                Again::Always => true,
                Again::Once | Again::AfterRest => {
                    !first.retried && self.encoded[first.request].is_idempotent
                }
                Again::Never => false,
            };
            if first.sent.is_some() && !stays {
                self.finish(index, outcome, now);
                continue;
            }
            if first.sent.is_some() {
                let attempt = match again {
                    Again::AfterRest => Outcome::RestClose,
                    _ => Outcome::IdleClose,
                };
                first.record(&mut self.tally, attempt, now);
                first.retried |= again != Again::Always;
                first.sent = None;
            }
            let flights = &mut self.slots[index].flights;
            if let Some(first) = flights.complete() {
                flights.push(first);
            }
        }
    }

    /// Makes a connection for the flights that stay, if any do.
    fn reconnect(&mut self, index: usize, now: Nanos) {
        if !self.slots[index].flights.is_empty() {
            self.connect(index, now);
        }
    }
}

/// Whether this outcome can break a connection without a byte of a response.
fn is_silent(outcome: Outcome) -> bool {
    matches!(
        outcome,
        Outcome::EarlyClose | Outcome::EmptyResponse | Outcome::Reset | Outcome::Unsolicited
    )
}
