//! What becomes of requests whose connection is gone before they were answered.
//!
//! Each attempt has one outcome, and a request that is sent again keeps its first
//! intent, so its time runs on: nothing is lost, nothing counted twice, and no
//! subject gets faster by closing connections. The rules, for one request in
//! flight and for many alike:
//!
//! - The one whose response had begun failed, as the connection did, and so did all of them
//!   whose streams had. Bytes that break a rule of the protocol are such a beginning.
//! - Behind a response that ends its connection (`Connection: close`, or a body
//!   that ends with the close) the others were never served: a server may end a
//!   connection so at any time (RFC 9112, sections 9.3.2 and 9.6). Each attempt is
//!   `idle_close`, and each request is sent again, as often as that happens: every
//!   time, one more was answered.
//! - So it is with the streams behind the last one that a server will answer, when it says
//!   so (GOAWAY: RFC 9113, section 6.8), once it has answered that one. A stream that it
//!   resets failed by itself (`stream_reset`); its connection and the others go on.
//! - On a connection that broke and had given a whole response before, each one
//!   whose response had not begun is `idle_close` and is sent once more; a second
//!   time it fails as the connection did. On a fresh connection it fails at once.
//! - So it is with the first requests on a connection behind a rest of a second or more
//!   between two slices, whether it is fresh or not: each is `rest_close`. A server may end
//!   what is idle, and it is we who let it idle.
//! - Only one that is idempotent is sent again after that (RFC 9110, section 9.2.2);
//!   another one fails as the connection did, since nobody knows what became of it.
//! - But a peer that took a request and closed without a byte of a response has failed it:
//!   `empty_response`, and it is not sent again. See below.
//! - Behind one that timed out it is we who close, so each of the others is
//!   `idle_close` and is sent once more, on a fresh connection too. Its time to
//!   time out runs on. A second time it is given up with the first one: `timeout`.
//! - What waited unsent behind a full send buffer was no attempt: it goes out on
//!   the next connection.
//!
//! Whether a peer took a request is told by its kernel. A socket that is closed in an
//! orderly way sends its end behind an acknowledgement of all that had come by then. When
//! that is all of the request, the connection was open when it came, and the peer read it:
//! closing with unread bytes is a reset (RFC 2525, section 2.17). Not so behind a rest, when
//! an idle timeout may be noticed that late: servers then shut a connection down, which
//! sends the same end, with the request unread. When the end crossed with
//! the request, this is acknowledged by nobody. A reset tells less: the peer had not read
//! the request, or threw its connection away after that; so it remains `idle_close` on a
//! connection that is used again, which a finding counts. Nor is it known of several in
//! flight which of them a peer had come to.

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
    /// The same, on a connection that had rested.
    AfterRest,
    Never,
}

impl<I: Io, C: Protocol> Pool<I, C> {
    /// A response ended the connection.
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
            has_stood: true,
        });
        let again = match outcome {
            Outcome::EmptyResponse => Again::Never,
            _ => match slot.usage {
                ConnectionUse::New => Again::Never,
                ConnectionUse::Rested if is_silent(outcome) => Again::AfterRest,
                ConnectionUse::Rested | ConnectionUse::Used => Again::Once,
            },
        };
        // What broke a rule was said, even where its parser kept none of it.
        let has_said = slot.handed > 0 && !is_silent(outcome);
        let begun = if C::HAS_STREAMS {
            self.bring_begun_first(index).max(usize::from(has_said))
        } else {
            usize::from(has_said || C::has_begun(&slot.client))
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

    /// Bytes came that no request asked for.
    fn count_unsolicited(&mut self, now: Nanos) {
        if self.progress.counting.counts(now) {
            self.tally.outcomes.add(Outcome::Unsolicited)
        } else {
            self.unsolicited += 1
        }
    }

    /// The first request in flight is out of time.
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
            let first = first.expect("one is looked at in each turn");
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

/// Whether a connection can break so without a byte that was meant as a response.
fn is_silent(outcome: Outcome) -> bool {
    matches!(
        outcome,
        Outcome::EarlyClose | Outcome::EmptyResponse | Outcome::Reset | Outcome::Unsolicited
    )
}
