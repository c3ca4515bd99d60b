//! Requests of HTTP/1.x, and how their responses are read.

use abx_evidence::Outcome;
use abx_wire::http1::{Client, Done, Event, Fault, HeadMemo, ResponseKind};

use super::contract::Protocol;
use crate::protocol::check;
use crate::protocol::intake::{Intake, StreamState};

/// HTTP, with the last response head of each request of the load.
pub struct Http {
    memos: Box<[HeadMemo]>,
}

impl Http {
    pub fn new(requests: usize) -> Http {
        Http {
            memos: (0..requests).map(|_| HeadMemo::default()).collect(),
        }
    }
}

impl Protocol for Http {
    type Client = Client;

    fn client(&mut self, _: usize) -> Client {
        Client::new()
    }

    #[inline(always)]
    fn expect(client: &mut Client, kind: ResponseKind) {
        client.expect(kind);
    }

    fn has_begun(client: &Client) -> bool {
        client.has_response_started()
    }

    #[inline(always)]
    fn ahead(client: &Client) -> u64 {
        client.body_ahead()
    }

    #[inline(always)]
    fn skip(client: &mut Client, bytes: u64) {
        client.skip(bytes);
    }

    #[inline(always)]
    fn take(intake: &mut Intake<'_, Http>, input: &[u8]) -> StreamState {
        intake.take(input)
    }

    fn end(intake: &mut Intake<'_, Http>) -> StreamState {
        intake.end()
    }
}

// An `Intake` is made for each receive: inlining everything keeps it in registers, which saves
// a fiftieth of a request's instructions.
impl Intake<'_, Http> {
    /// Hands received bytes to the parser, bodies to the hash, and ends flights.
    #[inline(always)]
    fn take(&mut self, mut input: &[u8]) -> StreamState {
        let mut uncounted = input.len();
        let mut response = input;
        while let Some(end) = self.next_end(&mut input) {
            let done = match end {
                Ok(done) => done,
                Err(fault) => {
                    self.received(uncounted as u64);
                    return StreamState::Broken(if self.slot.flights.is_empty() {
                        Outcome::Unsolicited
                    } else {
                        fault_outcome(fault)
                    });
                }
            };
            let is_last = self.slot.client.is_idle();
            if is_last
                && !input.is_empty()
                && let Some(Event::Failed(fault)) = self.next(&mut input)
            {
                // Unrequested bytes came after the response, so it is not correct.
                self.received(uncounted as u64);
                return StreamState::Broken(fault_outcome(fault));
            }
            let stays_open = self.stays_open(&done);
            // Bytes after the connection's last response are not read.
            let behind = if stays_open { input.len() } else { 0 };
            self.received((uncounted - behind) as u64);
            uncounted = behind;
            self.responded(&done, response);
            if !stays_open {
                self.note_closing(&done);
                return StreamState::Over;
            }
            if is_last {
                return StreamState::More;
            }
            response = input;
        }
        self.received(uncounted as u64);
        self.note_first_byte(response);
        StreamState::More
    }

    /// Parses the next response to its end, and hashes its body; `None` if it continues after
    /// these bytes.
    #[inline(always)]
    fn next_end(&mut self, input: &mut &[u8]) -> Option<Result<Done, Fault>> {
        let memo = &self.protocol.memos[self.request()];
        // Servers usually repeat the last response head of a request.
        if let Some((done, body)) = self.slot.client.receive_whole(memo, input) {
            self.hash(body);
            return Some(Ok(done));
        }
        while let Some(event) = self.next(input) {
            match event {
                Event::Interim | Event::Head { .. } => {}
                Event::Body(bytes) => self.hash(bytes),
                Event::Done(done) => return Some(Ok(done)),
                Event::Failed(fault) => return Some(Err(fault)),
            }
        }
        None
    }

    #[inline(always)]
    fn hash(&mut self, bytes: &[u8]) {
        let is_hashing = self.slot.is_hashing();
        check::hash(is_hashing, &mut self.slot.hasher, self.hashers, bytes);
    }

    #[inline(always)]
    fn next<'b>(&mut self, input: &mut &'b [u8]) -> Option<Event<'b>> {
        let request = self.request();
        let memo = &mut self.protocol.memos[request];
        self.slot.client.receive_with(memo, input)
    }

    /// The index of the request to which the next bytes respond.
    #[inline(always)]
    fn request(&self) -> usize {
        let first = self.slot.flights.first();
        first.map_or(0, |flight| flight.request)
    }

    fn end(&mut self) -> StreamState {
        loop {
            match self.slot.client.eof() {
                Some(Event::Done(done)) => {
                    let stays_open = self.stays_open(&done);
                    self.responded(&done, &[]);
                    if !stays_open {
                        self.note_closing(&done);
                        return StreamState::Over;
                    }
                }
                Some(Event::Failed(fault)) => return StreamState::Broken(fault_outcome(fault)),
                // The end of a connection that awaits nothing ends no response.
                _ => return StreamState::Broken(Outcome::EarlyClose),
            }
        }
    }

    /// Whether the connection stays open after the first flight's whole response.
    fn stays_open(&self, done: &Done) -> bool {
        // The rest of an unfinished request would run into the next one.
        let was_sent = self.slot.unsent_bytes == 0
            || self
                .slot
                .has_sent_first(self.encoded[self.slot.sending].bytes);
        was_sent && done.reusable && self.plan.keep_alive
    }

    /// Counts a response with which the peer ended a connection that was to be kept.
    #[cold]
    fn note_closing(&mut self, done: &Done) {
        self.tally.closing += u64::from(self.plan.keep_alive && !done.reusable);
    }

    /// Records a sampled response.
    #[cold]
    fn note_response(&mut self, done: &Done) {
        if let Some(log) = &mut self.tally.log {
            log.responds(done.status, done.body_bytes, done.reusable);
        }
    }

    /// Ends the first flight with its whole response. `received` has the last bytes of it and any
    /// bytes after it.
    #[inline(always)]
    fn responded(&mut self, done: &Done, received: &[u8]) {
        if self.slot.is_sampled() {
            self.note_response(done);
        }
        self.whole(done.body_bytes, received, |expect, hash, tally| {
            check::outcome(expect, done, hash, tally)
        });
    }
}

/// The outcome of a faulty response.
pub(crate) fn fault_outcome(fault: Fault) -> Outcome {
    match fault {
        Fault::ClosedIdle | Fault::ClosedEarly => Outcome::EarlyClose,
        Fault::HeadTooLarge | Fault::TooManyHeaders => Outcome::HeadTooLarge,
        Fault::Tls | Fault::Http2 => Outcome::OtherProtocol,
        _ => Outcome::Malformed,
    }
}
