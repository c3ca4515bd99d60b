//! The fastest responses that this machine can give: a ceiling, not a subject.
//!
//! In HTTP/1, it only looks for the empty line that ends a request's head, so bodies and requests
//! to close are not understood. HTTP/2 must be parsed ([`NullStreams`]).

mod streams;

use std::io;

use abx_sys::{Events, ServerAddress, Socket, SocketEvent};
use memchr::memmem::Finder;

use crate::admission::{EVENTS_MAX, EventSource, event_source};
use crate::config::{ServeError, ServerConfig};
use crate::connection::{FirstBytes, ProtocolChoice};
use crate::connection_table::ConnectionTable;
use crate::content::ServedContent;
use crate::listener::{AcceptedConnection, ListeningSocket};
use crate::tls::{self, TlsStream};

use streams::NullStreams;

/// Serves until the process must end, or until waiting fails.
pub(crate) fn run(
    config: &ServerConfig,
    site: &ServedContent,
    on_ready: impl FnOnce(ServerAddress),
    on_refusal: impl Fn(&io::Error),
) -> Result<(), ServeError> {
    let listener = ListeningSocket::open(config)?;
    let address = listener.address;
    let mut table = ConnectionTable::new(listener)?;
    let mut event_loop = NullLoop::new(site);
    let mut events = Events::with_capacity(EVENTS_MAX);
    on_ready(address);
    loop {
        table.wait(&mut events, None)?;
        for event in events.iter() {
            match event_source(event) {
                EventSource::Listener => table.accept(NullConnection::new),
                // The signal to end, which is checked below.
                EventSource::Other => {}
                EventSource::Connection(number) => {
                    if let Some(connection) = table.connection(number)
                        && connection.serve(&mut event_loop, event).is_err()
                    {
                        table.close(number);
                    }
                }
            }
        }
        table.retry(NullConnection::new);
        if let Some(error) = table.take_refusal() {
            on_refusal(&error);
        }
        // Responses never announce the end of a connection, so there is nothing to wait for.
        if table.is_ending(NullConnection::new) {
            return Ok(());
        }
    }
}

struct NullLoop<'a> {
    site: &'a ServedContent,
    head_end: Finder<'static>,
    /// Copies of the response, as many as one send may need.
    responses: Vec<u8>,
    response_bytes: usize,
    buffer: Vec<u8>,
}

struct NullConnection {
    socket: Socket,
    tls: Option<Box<TlsStream>>,
    choice: ProtocolChoice,
    /// The state of HTTP/2, if the connection uses it.
    streams: Option<Box<NullStreams>>,
    /// How many bytes of the empty line the input so far ends with: 0 to 3.
    matched: usize,
    /// Bytes of responses that are still to be sent.
    owed: usize,
    /// The socket may have bytes.
    is_readable: bool,
}

impl NullLoop<'_> {
    fn new(site: &ServedContent) -> NullLoop<'_> {
        let response = site.canned_response_bytes();
        NullLoop {
            site,
            head_end: Finder::new(HEAD_END),
            responses: response.repeat((SEND_BYTES / response.len()).max(1)),
            response_bytes: response.len(),
            buffer: vec![0; READ_BYTES],
        }
    }
}

impl NullConnection {
    fn new(accepted: AcceptedConnection) -> NullConnection {
        NullConnection {
            socket: accepted.socket,
            tls: accepted.tls,
            choice: ProtocolChoice::Undecided(0),
            streams: None,
            matched: 0,
            owed: 0,
            is_readable: false,
        }
    }

    /// Sends pending responses and reads requests until one of them would block.
    ///
    /// An error means that the connection has ended.
    fn serve(&mut self, event_loop: &mut NullLoop<'_>, event: SocketEvent) -> io::Result<()> {
        self.is_readable |= event.readable();
        match self.exchange(event_loop, event.ended()) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            _ => Ok(()),
        }
    }

    fn exchange(&mut self, event_loop: &mut NullLoop<'_>, has_ended: bool) -> io::Result<()> {
        loop {
            if let Some(tls) = &mut self.tls {
                tls.flush(&self.socket)?;
            }
            while self.owed > 0 {
                // The owed bytes end with a complete response, so they begin here.
                let start = (event_loop.response_bytes - self.owed % event_loop.response_bytes)
                    % event_loop.response_bytes;
                let end = event_loop
                    .responses
                    .len()
                    .min(start.saturating_add(self.owed));
                let responses = &event_loop.responses[start..end];
                self.owed -= tls::send(&self.socket, self.tls.as_deref_mut(), responses)?;
            }
            if let Some(streams) = &mut self.streams {
                streams.send(&self.socket, self.tls.as_deref_mut(), event_loop.site)?;
            }
            if !self.is_readable {
                return Ok(());
            }
            let (received, may_have_more) = tls::receive(
                &self.socket,
                self.tls.as_deref_mut(),
                &mut event_loop.buffer,
            )?;
            if received == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            // After a short read, an event reports the next bytes, but not the end.
            self.is_readable = may_have_more || has_ended;
            let NullLoop {
                site,
                head_end,
                buffer,
                ..
            } = event_loop;
            let heads = self.take(&buffer[..received], site, head_end);
            self.owed = heads * event_loop.response_bytes;
        }
    }

    /// Processes requests, and returns the number of complete HTTP/1 requests.
    fn take(&mut self, bytes: &[u8], site: &ServedContent, head_end: &Finder<'_>) -> usize {
        let mut count = |bytes: &[u8]| count_heads(&mut self.matched, head_end, bytes);
        if let Some(streams) = &mut self.streams {
            streams.take(bytes, site);
            return 0;
        }
        match self.choice.look(bytes, self.tls.as_deref()) {
            None => count(bytes),
            Some(FirstBytes::TooFew) => 0,
            Some(FirstBytes::Http1 { before }) => count(before) + count(bytes),
            Some(FirstBytes::Http2 { before }) => {
                let streams = self.streams.insert(Box::default());
                streams.take(before, site);
                streams.take(bytes, site);
                0
            }
        }
    }
}

/// The number of heads that end in `bytes`; `matched` bytes of the empty line were seen before.
fn count_heads(matched: &mut usize, head_end: &Finder<'_>, bytes: &[u8]) -> usize {
    let mut rest = bytes;
    let mut count = 0;
    while let [byte, after @ ..] = rest
        && *matched > 0
    {
        rest = after;
        *matched = match_next(*matched, *byte);
        if *matched == HEAD_END.len() {
            *matched = 0;
            count += 1;
        }
    }
    while let Some(at) = head_end.find(rest) {
        rest = &rest[at + HEAD_END.len()..];
        count += 1;
    }
    let last = &rest[rest.len().saturating_sub(HEAD_END.len() - 1)..];
    for byte in last {
        *matched = match_next(*matched, *byte);
    }
    count
}

/// The number of matched bytes of the empty line after one more byte.
fn match_next(matched: usize, byte: u8) -> usize {
    match (HEAD_END[matched] == byte, byte) {
        (true, _) => matched + 1,
        (false, b'\r') => 1,
        (false, _) => 0,
    }
}

const HEAD_END: &[u8; 4] = b"\r\n\r\n";

/// Room for one read, in bytes.
const READ_BYTES: usize = 64 * 1024;

/// The size of a send, or one response if that is longer, in bytes.
const SEND_BYTES: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_counted_wherever_the_bytes_are_split() {
        // Method: three heads with near misses around them, split at every pair of places.
        let bytes = b"GET / HTTP/1.1\r\nA: b\r\n\r\nX\r\n\r\r\n\r\n\r\n\r\n\r\n.\r\n\r";
        let head_end = Finder::new(HEAD_END);
        for first in 0..=bytes.len() {
            for second in first..=bytes.len() {
                let mut matched = 0;
                let count: usize = [&bytes[..first], &bytes[first..second], &bytes[second..]]
                    .into_iter()
                    .map(|part| count_heads(&mut matched, &head_end, part))
                    .sum();
                assert_eq!((count, matched), (3, 3), "{first} {second}");
            }
        }
    }
}
