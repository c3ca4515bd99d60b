//! The responses of one connection, from bytes to events.

use std::collections::VecDeque;

use super::chunked::{Chunk, Chunks};
use super::fault::{Fault, HEAD_BYTES_MAX, INTERIM_MAX};
use super::head::{Framing, Head, ResponseKind, parse_head};
use super::input::{head_view, other_protocol, skip_empty_lines, take, unfinished};
use super::memo::HeadMemo;

/// Parses the responses of one connection, in the order of their requests.
///
/// [`Client::expect`] announces each response, even while others are awaited
/// (pipelining): events then belong to the oldest that is not done. If the
/// connection ends before all are done, [`Event::Failed`] stands for all that
/// are left, and [`Client::awaited`] returns their number.
///
/// A head that arrives in one piece is read in place. Only parts of a head are kept, and their
/// memory is freed when the head is complete. One awaited response at a time needs no memory at
/// all; several need a queue that is kept and reused.
#[derive(Debug)]
pub struct Client {
    state: ClientState,
    /// The kind of the response that is awaited or in progress.
    kind: ResponseKind,
    behind: VecDeque<ResponseKind>,
    has_started: bool,
    /// Interim heads before the final one that is awaited.
    interim: u32,
    /// Bytes of empty lines since the last response was announced.
    empty_bytes: usize,
    /// The part of a head that has arrived so far.
    stash: Vec<u8>,
    done: Done,
}

/// One step of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'a> {
    /// A whole interim head (1xx, except 101), at most [`INTERIM_MAX`] per response.
    Interim,
    Head {
        status: u16,
        /// The value of `Content-Length`, in bytes, even if no body follows.
        content_length: Option<u64>,
    },
    /// A part of the body, without framing, never empty.
    Body(&'a [u8]),
    Done(Done),
    /// The connection is of no further use.
    Failed(Fault),
}

/// A whole response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Done {
    pub status: u16,
    /// Length of the body without framing, in bytes.
    pub body_bytes: u64,
    /// Whether the connection may carry another request, by version, `Connection` and framing. If
    /// not, further awaited responses fail with [`Fault::ClosedIdle`] at the next call, and later
    /// bytes are ignored.
    pub reusable: bool,
}

#[derive(Debug)]
enum ClientState {
    /// No response is awaited.
    Idle,
    /// A head is awaited or in progress.
    Head,
    /// Inside a body; the bytes still to come. Zero: only the event is missing.
    Sized(u64),
    Chunked(Chunks),
    UntilClose,
    /// After a response that ends the connection, while others are still awaited.
    Ended,
    /// After a fault; the number of responses that were awaited.
    Broken(usize),
}

impl Client {
    /// A client that awaits nothing.
    #[must_use]
    pub fn new() -> Client {
        Client {
            state: ClientState::Idle,
            kind: ResponseKind::WithBody,
            behind: VecDeque::new(),
            has_started: false,
            interim: 0,
            empty_bytes: 0,
            stash: Vec::new(),
            done: Done {
                status: 0,
                body_bytes: 0,
                reusable: false,
            },
        }
    }

    /// Records that a request was written: its response is awaited after earlier ones.
    ///
    /// # Panics
    /// After a fault, because no response can arrive any more.
    #[inline]
    pub fn expect(&mut self, kind: ResponseKind) {
        match self.state {
            ClientState::Idle => self.begin(kind),
            ClientState::Broken(_) => panic!("a response is awaited from a broken connection"),
            _ => self.behind.push_back(kind),
        }
    }

    /// How many responses are awaited, including one in progress.
    ///
    /// After a fault: how many were not complete. The first of them had
    /// begun unless the fault is [`Fault::ClosedIdle`]; the others had not, so
    /// their requests may be sent again on another connection.
    #[must_use]
    pub fn awaited(&self) -> usize {
        match self.state {
            ClientState::Idle => 0,
            ClientState::Ended => self.behind.len(),
            ClientState::Broken(awaited) => awaited,
            _ => 1 + self.behind.len(),
        }
    }

    /// Takes bytes from the front of `input` and returns the next event.
    ///
    /// Call it until it returns `None`; then `input` is empty. It may return an
    /// event for an empty `input`, so do not stop there.
    pub fn receive<'a>(&mut self, input: &mut &'a [u8]) -> Option<Event<'a>> {
        self.step(None, input)
    }

    /// Like [`Client::receive`], with a memo: heads that it knows are not parsed again.
    #[inline]
    pub fn receive_with<'a>(
        &mut self,
        memo: &mut HeadMemo,
        input: &mut &'a [u8],
    ) -> Option<Event<'a>> {
        self.step(Some(memo), input)
    }

    /// Takes a complete response at once, as most small ones arrive: a head that the memo knows,
    /// followed by all of a body whose length it states. Returns the body, and the result of the
    /// events that [`Client::receive_with`] would return.
    ///
    /// `None`, with nothing taken, for any other input.
    #[inline]
    pub fn receive_whole<'a>(
        &mut self,
        memo: &HeadMemo,
        input: &mut &'a [u8],
    ) -> Option<(Done, &'a [u8])> {
        if !(matches!(self.state, ClientState::Head) && self.stash.is_empty()) {
            return None;
        }
        let (head, start) = memo.known(self.kind)?;
        let Framing::Sized(length) = head.framing else {
            return None;
        };
        let end = start.checked_add(usize::try_from(length).ok()?)?;
        if end > input.len() || head.is_interim() || !memo.is_front_of(input) {
            return None;
        }
        let body = &input[start..end];
        *input = &input[end..];
        self.has_started = true;
        self.done = Done {
            status: head.status,
            body_bytes: length,
            reusable: head.reusable,
        };
        self.finish();
        Some((self.done, body))
    }

    #[inline]
    fn step<'a>(&mut self, memo: Option<&mut HeadMemo>, input: &mut &'a [u8]) -> Option<Event<'a>> {
        match &mut self.state {
            ClientState::Idle if !self.done.reusable && self.has_started => {
                // Bytes after the last response of a connection are not HTTP: they belong to the
                // protocol that was switched to, or come from a server that breaks its word.
                *input = &[];
                None
            }
            ClientState::Idle if input.is_empty() => None,
            ClientState::Idle => match self.skip_empty_lines(input) {
                Ok(()) if input.is_empty() => None,
                _ => Some(self.fail(Fault::Unasked)),
            },
            ClientState::Head => self.receive_head(memo, input),
            ClientState::Sized(0) => Some(self.finish()),
            ClientState::Sized(left) => {
                let body = take(input, *left);
                *left -= body.len() as u64;
                self.body(body)
            }
            ClientState::Chunked(chunks) => match chunks.receive(input) {
                Ok(Chunk::Data(body)) => self.body(body),
                Ok(Chunk::End) => Some(self.finish()),
                Ok(Chunk::More) => None,
                Err(fault) => Some(self.fail(fault)),
            },
            ClientState::UntilClose => {
                let body = take(input, u64::MAX);
                self.body(body)
            }
            ClientState::Ended => Some(self.fail(Fault::ClosedIdle)),
            ClientState::Broken(_) => {
                *input = &[];
                None
            }
        }
    }

    /// The peer closed: ends a body that the close delimits, or fails.
    ///
    /// Call it until it returns `None`: then no response is awaited. It returns two
    /// events if the close ends a response and others wait after it. Bytes that
    /// arrived before the close must have gone through [`Client::receive`].
    pub fn eof(&mut self) -> Option<Event<'static>> {
        match self.state {
            ClientState::Idle | ClientState::Broken(_) => None,
            ClientState::Ended => Some(self.fail(Fault::ClosedIdle)),
            ClientState::UntilClose | ClientState::Sized(0) => Some(self.finish()),
            ClientState::Head if !self.has_started => Some(self.fail(Fault::ClosedIdle)),
            ClientState::Head => {
                // An incomplete line may already be broken.
                let parsed = parse_head(head_view(&self.stash), self.kind);
                Some(self.fail(parsed.err().unwrap_or(Fault::ClosedEarly)))
            }
            ClientState::Sized(_) | ClientState::Chunked(_) => Some(self.fail(Fault::ClosedEarly)),
        }
    }

    /// How many bytes of a body of known length are still to come; zero at
    /// any other place, even if only [`Event::Done`] is missing.
    #[must_use]
    pub fn body_ahead(&self) -> u64 {
        match self.state {
            ClientState::Sized(left) => left,
            _ => 0,
        }
    }

    /// Records that this many bytes of the body arrived and were discarded unread.
    ///
    /// They count as [`Done::body_bytes`] and cause no event. If none is left,
    /// [`Client::receive`] returns [`Event::Done`], even for an empty input.
    ///
    /// # Panics
    /// If it is more than [`Client::body_ahead`]: then bytes were discarded
    /// that belong to no body.
    pub fn skip(&mut self, bytes: u64) {
        let ahead = self.body_ahead();
        assert!(
            bytes <= ahead,
            "{bytes} bytes skipped where {ahead} are left"
        );
        if let ClientState::Sized(left) = &mut self.state {
            *left -= bytes;
            self.done.body_bytes += bytes;
        }
    }

    /// Whether no response is awaited or in progress, and nothing failed.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        matches!(self.state, ClientState::Idle)
    }

    /// Whether a byte of the awaited response has arrived; if none is awaited, of the last one.
    #[must_use]
    pub fn has_response_started(&self) -> bool {
        self.has_started
    }

    fn receive_head<'a>(
        &mut self,
        memo: Option<&mut HeadMemo>,
        input: &mut &'a [u8],
    ) -> Option<Event<'a>> {
        if self.stash.is_empty()
            && let [b'\r' | b'\n', ..] = *input
            && let Err(fault) = self.skip_empty_lines(input)
        {
            return Some(self.fail(fault));
        }
        if input.is_empty() {
            return None;
        }
        if !self.has_started
            && let Some(fault) = other_protocol(input)
        {
            self.has_started = true;
            return Some(self.fail(fault));
        }
        self.has_started = true;
        let head = match self.take_head(memo, input) {
            Ok(head) => head?,
            Err(fault) => return Some(self.fail(fault)),
        };
        if head.is_interim() {
            return Some(self.take_interim());
        }
        self.state = match head.framing {
            Framing::Sized(length) => ClientState::Sized(length),
            Framing::Chunked => ClientState::Chunked(Chunks::new()),
            Framing::UntilClose => ClientState::UntilClose,
        };
        self.done = Done {
            status: head.status,
            body_bytes: 0,
            reusable: head.reusable,
        };
        Some(Event::Head {
            status: head.status,
            content_length: head.content_length,
        })
    }

    /// Drops empty lines, which some peers send after a body. They are limited in size like a head.
    #[cold]
    fn skip_empty_lines(&mut self, input: &mut &[u8]) -> Result<(), Fault> {
        let before = input.len();
        skip_empty_lines(input);
        self.empty_bytes += before - input.len();
        if self.empty_bytes > HEAD_BYTES_MAX {
            Err(Fault::HeadTooLarge)
        } else {
            Ok(())
        }
    }

    /// Limits interim heads: a peer that sends nothing else must not keep its reader busy.
    #[cold]
    fn take_interim(&mut self) -> Event<'static> {
        if self.interim == INTERIM_MAX {
            return self.fail(Fault::TooManyInterim);
        }
        self.interim += 1;
        Event::Interim
    }

    /// Takes one head, or all of `input` into the stash if the head is incomplete.
    fn take_head(
        &mut self,
        memo: Option<&mut HeadMemo>,
        input: &mut &[u8],
    ) -> Result<Option<Head>, Fault> {
        if self.stash.is_empty() {
            let known = memo.as_ref().and_then(|memo| memo.recall(input, self.kind));
            if let Some((head, length)) = known {
                *input = &input[length..];
                return Ok(Some(head));
            }
            let view = head_view(input);
            if let Some((head, length)) = parse_head(view, self.kind)? {
                if let Some(memo) = memo {
                    memo.keep(&view[..length], self.kind, head);
                }
                *input = &input[length..];
                return Ok(Some(head));
            }
            unfinished(view)?;
            self.stash.extend_from_slice(input);
            *input = &[];
            return Ok(None);
        }
        let before = self.stash.len();
        let more = head_view(input);
        self.stash.extend_from_slice(more);
        // Without the end of a line there is no end of a head, and a peer that sends single bytes
        // must not cause a parse of the whole head for each of them.
        if !more.contains(&b'\n') && self.stash.len() < HEAD_BYTES_MAX {
            *input = &[];
            return Ok(None);
        }
        let view = head_view(&self.stash);
        let Some((head, length)) = parse_head(view, self.kind)? else {
            unfinished(view)?;
            *input = &[];
            return Ok(None);
        };
        // The stash alone was no whole head, so the end lies in the input.
        *input = &input[length - before..];
        self.stash = Vec::new();
        Ok(Some(head))
    }

    fn body<'a>(&mut self, body: &'a [u8]) -> Option<Event<'a>> {
        self.done.body_bytes += body.len() as u64;
        (!body.is_empty()).then_some(Event::Body(body))
    }

    fn begin(&mut self, kind: ResponseKind) {
        self.state = ClientState::Head;
        self.kind = kind;
        self.has_started = false;
        self.interim = 0;
        self.empty_bytes = 0;
    }

    #[inline]
    fn finish(&mut self) -> Event<'static> {
        self.state = ClientState::Idle;
        if !self.behind.is_empty() {
            self.finish_first_of_many();
        }
        Event::Done(self.done)
    }

    /// Continues with the next response, unless this one was the connection's last
    /// (RFC 9112, section 9.6: later requests get no response).
    fn finish_first_of_many(&mut self) {
        self.has_started = false;
        if !self.done.reusable {
            self.state = ClientState::Ended;
        } else if let Some(kind) = self.behind.pop_front() {
            self.begin(kind);
        }
    }

    fn fail(&mut self, fault: Fault) -> Event<'static> {
        self.state = ClientState::Broken(self.awaited());
        self.stash = Vec::new();
        Event::Failed(fault)
    }
}

impl Default for Client {
    fn default() -> Client {
        Client::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_response_at_a_time_needs_no_memory_and_several_reuse_theirs() {
        // Method: the queue's capacity after many responses, at depth 1 and then at 8.
        let mut client = Client::new();
        let mut round = |depth: usize| {
            (0..depth).for_each(|_| client.expect(ResponseKind::WithBody));
            let bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na".repeat(depth);
            let mut input = bytes.as_slice();
            while client.receive(&mut input).is_some() {}
            assert!(client.is_idle());
            (client.behind.capacity(), client.stash.capacity())
        };
        assert!((0..100).all(|_| round(1) == (0, 0)));
        let capacities = round(8);
        assert!(capacities.0 >= 7);
        assert!((0..100).all(|_| round(8) == capacities));
    }
}
