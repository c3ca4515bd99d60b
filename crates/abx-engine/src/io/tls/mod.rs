//! TLS over any back end: records on one side, plain bytes on the other.
//!
//! For the engine, a connection is open when its handshake is over, so that the time to open
//! a connection includes the handshake. No bytes can be discarded unread: a skipped body is
//! decrypted and counted.

mod config;
mod connection;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod key_bits;
mod remedy;
mod tickets;
mod verifiers;

use std::io;
use std::net::IpAddr;

use abx_evidence::TlsOptions;
use abx_evidence::record::TlsSession;
use abx_sys::{Nanos, ServerAddress};

use super::{Awaits, Awake, Handshake, Io, Ready, Received, Token};
use connection::TlsConnection;

pub use config::{TlsClient, TlsPlanError};
pub(crate) use remedy::remedy;

/// Encrypts the connections of the back end `under`.
pub struct Tls<I> {
    under: I,
    client: TlsClient,
    connections: Vec<Option<TlsConnection>>,
    /// The events of the back end below; reused for each wait.
    below: Vec<Ready>,
    received: Vec<u8>,
}

impl<I: Io> Tls<I> {
    pub fn over(under: I, client: TlsClient) -> Tls<I> {
        Tls {
            under,
            client,
            connections: Vec::new(),
            below: Vec::new(),
            received: Vec::new(),
        }
    }

    /// Translates an event of the back end below for the engine.
    fn pass_on(&mut self, event: Ready, now: Nanos, ready: &mut Vec<Ready>) {
        let (Ready::Connected(token)
        | Ready::Unconnected(token, _)
        | Ready::MaySend(token)
        | Ready::Receivable(token)) = event;
        if self.connections[token.slot as usize].is_none() {
            // Its handshake failed with an earlier event in the same list.
            return;
        }
        match event {
            Ready::Connected(token) => {
                current(&mut self.connections, token).connected = now;
                self.advance_handshake(token, now, ready);
            }
            Ready::Unconnected(token, error) => {
                self.connections[token.slot as usize] = None;
                ready.push(Ready::Unconnected(token, error));
            }
            Ready::MaySend(token) => {
                let connection = current(&mut self.connections, token);
                // The next send reports the error of a connection that broke.
                let has_room = connection.flush(&mut self.under, token).unwrap_or(true);
                if has_room && connection.is_open && connection.awaits_room {
                    connection.awaits_room = false;
                    ready.push(Ready::MaySend(token));
                }
            }
            Ready::Receivable(token) => {
                if current(&mut self.connections, token).is_open {
                    ready.push(Ready::Receivable(token))
                } else {
                    self.advance_handshake(token, now, ready)
                }
            }
        }
    }

    /// Continues a handshake with the bytes that have come.
    fn advance_handshake(&mut self, token: Token, now: Nanos, ready: &mut Vec<Ready>) {
        let connection = current(&mut self.connections, token);
        let mut early = Vec::new();
        let mut step = connection.take(&[], &mut early);
        loop {
            // This sends the alert of an error too.
            let flushed = connection.flush(&mut self.under, token);
            if let Err(error) = step {
                let error = io::Error::new(io::ErrorKind::InvalidData, error);
                return self.fail(token, error, ready);
            }
            if flushed.is_err() {
                return self.fail(token, ended("reset"), ready);
            }
            if connection.is_open {
                connection.undelivered = early;
                connection.end_handshake(now);
                ready.push(Ready::Connected(token));
                // Bytes may have come for which the back end below lists no further event.
                ready.push(Ready::Receivable(token));
                return;
            }
            step = match self.under.receive(token) {
                Received::Bytes(bytes) => connection.take(bytes, &mut early),
                Received::Skipped(_) => unreachable!("nothing is skipped below"),
                Received::Nothing => return,
                Received::Ended => return self.fail(token, ended("closed"), ready),
                Received::Failed => return self.fail(token, ended("reset"), ready),
            };
        }
    }

    fn fail(&mut self, token: Token, error: io::Error, ready: &mut Vec<Ready>) {
        self.connections[token.slot as usize] = None;
        self.under.close(token);
        ready.push(Ready::Unconnected(token, error));
    }

    /// Decrypts into `received` until there are bytes or an end to deliver. Bytes that came before
    /// a fault are delivered before it.
    fn pull(&mut self, token: Token) -> Pull {
        let connection = current(&mut self.connections, token);
        self.received.clear();
        self.received.append(&mut connection.undelivered);
        while self.received.is_empty() {
            if connection.has_ended {
                return Pull::Ended;
            }
            if connection.has_failed {
                return Pull::Failed;
            }
            let taken = match self.under.receive(token) {
                Received::Bytes(bytes) => connection.take(bytes, &mut self.received),
                Received::Skipped(_) => unreachable!("nothing is skipped below"),
                Received::Nothing => return Pull::Nothing,
                // Many servers end without an alert; HTTP's own lengths make up for it.
                Received::Ended => return Pull::Ended,
                Received::Failed => return Pull::Failed,
            };
            // An update of keys, or an alert.
            let flushed = connection.flush(&mut self.under, token);
            connection.has_failed |= flushed.is_err();
            connection.fault = taken.err();
        }
        let skipped = connection.to_skip.min(self.received.len() as u64);
        if skipped == 0 {
            return Pull::Bytes;
        }
        connection.to_skip -= skipped;
        let rest = &self.received[usize::try_from(skipped).unwrap_or(usize::MAX)..];
        connection.undelivered.extend_from_slice(rest);
        Pull::Skipped(skipped)
    }
}

enum Pull {
    Bytes,
    Skipped(u64),
    Nothing,
    Ended,
    Failed,
}

impl<I: Io> Io for Tls<I> {
    fn now(&mut self) -> Nanos {
        self.under.now()
    }

    fn connect(
        &mut self,
        token: Token,
        to: &ServerAddress,
        from: Option<IpAddr>,
    ) -> io::Result<()> {
        let connection = TlsConnection::new(&self.client).map_err(io::Error::other)?;
        self.under.connect(token, to, from)?;
        let place = token.slot as usize;
        if place >= self.connections.len() {
            self.connections.resize_with(place + 1, || None);
        }
        self.connections[place] = Some(connection);
        Ok(())
    }

    fn close(&mut self, token: Token) {
        if let Some(mut connection) = self.connections[token.slot as usize].take() {
            connection.send_close_notify(&mut self.under, token);
        }
        self.under.close(token);
    }

    fn send(&mut self, token: Token, bytes: &[u8]) -> io::Result<usize> {
        current(&mut self.connections, token).send(&mut self.under, token, bytes)
    }

    fn skip(&mut self, token: Token, bytes: u64) {
        current(&mut self.connections, token).to_skip = bytes;
    }

    fn limit_receive(&mut self, _: Token, _: usize) {
        // The limit is a hint, and the lengths of records differ from those of their contents.
    }

    fn wait(&mut self, until: Nanos, awaits: Awaits, ready: &mut Vec<Ready>) -> Nanos {
        let mut below = std::mem::take(&mut self.below);
        let now = self.under.wait(until, awaits, &mut below);
        ready.clear();
        for event in below.drain(..) {
            self.pass_on(event, now, ready);
        }
        self.below = below;
        now
    }

    fn take_awake(&mut self) -> Awake {
        self.under.take_awake()
    }

    fn is_acknowledged(&mut self, token: Token) -> bool {
        self.under.is_acknowledged(token)
    }

    fn receive(&mut self, token: Token) -> Received<'_> {
        match self.pull(token) {
            Pull::Bytes => Received::Bytes(&self.received),
            Pull::Skipped(bytes) => Received::Skipped(bytes),
            Pull::Nothing => Received::Nothing,
            Pull::Ended => Received::Ended,
            Pull::Failed => Received::Failed,
        }
    }

    fn take_fault(&mut self, token: Token) -> Option<io::Error> {
        let connection = self.connections.get_mut(token.slot as usize)?;
        let fault = connection.as_mut()?.fault.take()?;
        Some(io::Error::new(io::ErrorKind::InvalidData, fault))
    }

    fn handshake(&self, token: Token) -> Option<Handshake> {
        let connection = self.connections.get(token.slot as usize)?;
        connection.as_ref()?.handshake
    }

    fn tls_session(&self, token: Token) -> Option<TlsSession> {
        let connection = self.connections.get(token.slot as usize)?;
        connection.as_ref()?.agreed()
    }

    fn tls_options(&self, token: Token) -> Option<TlsOptions> {
        let connection = self.connections.get(token.slot as usize)?;
        connection.as_ref()?.terms()
    }
}

/// The error of a connection that ended during its handshake.
fn ended(how: &str) -> io::Error {
    let error = format!("the server {how} the connection in the handshake");
    io::Error::new(io::ErrorKind::InvalidData, error)
}

fn current(connections: &mut [Option<TlsConnection>], token: Token) -> &mut TlsConnection {
    let connection = connections.get_mut(token.slot as usize);
    let connection = connection.and_then(Option::as_mut);
    connection.expect("the engine names only connections that it has not closed")
}
