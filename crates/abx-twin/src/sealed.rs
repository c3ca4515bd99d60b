//! A back end over another one, similar to TLS: it begins with a handshake, changes all bytes,
//! and discards none of them in the kernel.
//!
//! It keeps the contract like any other back end (`contract.rs`), which shows that the engine
//! does not depend on such a layer.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use abx_engine::testing::{Awaits, Io, Ready, Received, Token};
use abx_sys::{Nanos, ServerAddress};

use crate::script::{Choice, PeerScript, PeerStep};

/// The first bytes of both sides.
const HELLO: [u8; 4] = *b"seal";

/// The mask of each byte.
const SEAL: u8 = 0x5a;

/// Seals the bytes of the connections of the back end `under`.
pub struct Sealed<I> {
    under: I,
    connections: Vec<Option<SealedConnection>>,
    /// The result of one receive, unsealed.
    received: Vec<u8>,
}

#[derive(Default)]
struct SealedConnection {
    is_open: bool,
    /// Sealed bytes that the back end below has not taken yet.
    outgoing: Vec<u8>,
    /// Whether the engine waits for room.
    is_full: bool,
    /// Unsealed bytes that the engine has not taken yet.
    incoming: Vec<u8>,
    /// How many of the next bytes are to be discarded.
    to_skip: u64,
}

impl<I: Io> Sealed<I> {
    pub fn over(under: I) -> Sealed<I> {
        Sealed {
            under,
            connections: Vec::new(),
            received: Vec::new(),
        }
    }

    fn connection(&mut self, token: Token) -> &mut SealedConnection {
        let connection = self.connections.get_mut(token.slot as usize);
        let connection = connection.and_then(Option::as_mut);
        connection.expect("a call names a connection that was not closed")
    }

    /// Takes all bytes, unless earlier ones are still pending.
    fn seal(&mut self, token: Token, bytes: &[u8]) -> io::Result<usize> {
        let connection = self.connection(token);
        if !connection.outgoing.is_empty() {
            connection.is_full = true;
            return Ok(0);
        }
        connection.outgoing = bytes.iter().map(|byte| byte ^ SEAL).collect();
        self.flush(token)?;
        Ok(bytes.len())
    }

    fn flush(&mut self, token: Token) -> io::Result<()> {
        let outgoing = std::mem::take(&mut self.connection(token).outgoing);
        if !outgoing.is_empty() {
            let taken = self.under.send(token, &outgoing)?;
            self.connection(token).outgoing = outgoing[taken..].to_vec();
        }
        Ok(())
    }

    /// Pulls once and unseals the bytes.
    fn pull(&mut self, token: Token) -> Received<'static> {
        match self.under.receive(token) {
            Received::Bytes(bytes) => {
                let bytes: Vec<u8> = bytes.iter().map(|byte| byte ^ SEAL).collect();
                self.connection(token).incoming.extend(bytes);
                Received::Nothing
            }
            Received::Skipped(_) => unreachable!("nothing is skipped below"),
            Received::Nothing => Received::Nothing,
            Received::Ended => Received::Ended,
            Received::Failed => Received::Failed,
        }
    }

    /// Translates an event of the back end below for the engine.
    fn pass_on(&mut self, event: Ready, ready: &mut Vec<Ready>) {
        match event {
            Ready::Connected(token) => {
                if self.seal(token, &HELLO).is_err() {
                    self.fail(token, ready);
                }
            }
            Ready::Unconnected(token, error) => {
                self.connections[token.slot as usize] = None;
                ready.push(Ready::Unconnected(token, error));
            }
            Ready::MaySend(token) => {
                let has_failed = self.flush(token).is_err();
                let connection = self.connection(token);
                if has_failed || connection.outgoing.is_empty() && connection.is_full {
                    connection.is_full = false;
                    ready.push(Ready::MaySend(token));
                }
            }
            Ready::Receivable(token) if self.connection(token).is_open => {
                ready.push(Ready::Receivable(token));
            }
            Ready::Receivable(token) => self.advance_handshake(token, ready),
        }
    }

    /// Receives the other side's hello, and possibly bytes after it.
    fn advance_handshake(&mut self, token: Token, ready: &mut Vec<Ready>) {
        loop {
            let before = self.connection(token).incoming.len();
            let end = self.pull(token);
            let connection = self.connection(token);
            if connection.incoming.len() >= HELLO.len() {
                let hello: Vec<u8> = connection.incoming.drain(..HELLO.len()).collect();
                assert_eq!(hello, HELLO);
                connection.is_open = true;
                ready.push(Ready::Connected(token));
                // Bytes may have come for which the back end below lists no further event.
                ready.push(Ready::Receivable(token));
                return;
            }
            match end {
                Received::Nothing if connection.incoming.len() > before => {}
                Received::Nothing => return,
                _ => return self.fail(token, ready),
            }
        }
    }

    fn fail(&mut self, token: Token, ready: &mut Vec<Ready>) {
        self.close(token);
        let error = io::ErrorKind::ConnectionReset.into();
        ready.push(Ready::Unconnected(token, error));
    }
}

impl<I: Io> Io for Sealed<I> {
    fn now(&mut self) -> Nanos {
        self.under.now()
    }

    fn connect(
        &mut self,
        token: Token,
        to: &ServerAddress,
        from: Option<IpAddr>,
    ) -> io::Result<()> {
        self.under.connect(token, to, from)?;
        let place = token.slot as usize;
        let count = self.connections.len().max(place + 1);
        self.connections.resize_with(count, || None);
        self.connections[place] = Some(SealedConnection::default());
        Ok(())
    }

    fn close(&mut self, token: Token) {
        self.connections[token.slot as usize] = None;
        self.under.close(token);
    }

    fn send(&mut self, token: Token, bytes: &[u8]) -> io::Result<usize> {
        self.seal(token, bytes)
    }

    fn skip(&mut self, token: Token, bytes: u64) {
        self.connection(token).to_skip = bytes;
    }

    fn limit_receive(&mut self, _: Token, _: usize) {
        // The limit is a hint, and lengths differ in the back end below.
    }

    fn wait(&mut self, until: Nanos, awaits: Awaits, ready: &mut Vec<Ready>) -> Nanos {
        let mut below = Vec::new();
        let now = self.under.wait(until, awaits, &mut below);
        ready.clear();
        for event in below {
            self.pass_on(event, ready);
        }
        now
    }

    fn is_acknowledged(&mut self, token: Token) -> bool {
        self.under.is_acknowledged(token)
    }

    fn receive(&mut self, token: Token) -> Received<'_> {
        if self.connection(token).incoming.is_empty() {
            let end = self.pull(token);
            if self.connection(token).incoming.is_empty() {
                return end;
            }
        }
        let connection = self.connection(token);
        if connection.to_skip > 0 {
            let most = usize::try_from(connection.to_skip).unwrap_or(usize::MAX);
            let count = connection.incoming.len().min(most);
            connection.incoming.drain(..count);
            connection.to_skip -= count as u64;
            return Received::Skipped(count as u64);
        }
        self.received = std::mem::take(&mut self.connection(token).incoming);
        Received::Bytes(&self.received)
    }
}

/// The script of a peer that seals its bytes. The hello is sent only once, so a script that goes
/// back to its first step is unrolled into as many rounds as tests need.
pub fn sealed(script: PeerScript) -> PeerScript {
    Box::new(move |connection| {
        let steps = script(connection);
        let rounds = match steps.last() {
            Some(PeerStep::Again) => ROUNDS,
            _ => 1,
        };
        let hello = [PeerStep::Await(HELLO.len()), PeerStep::Send(seal(&HELLO))];
        let round = || steps.iter().filter_map(sealed_step);
        let sealed_steps = std::iter::repeat_with(round).take(rounds).flatten();
        hello.into_iter().chain(sealed_steps).collect()
    })
}

const ROUNDS: usize = 100;

fn sealed_step(step: &PeerStep) -> Option<PeerStep> {
    match step {
        PeerStep::Again => None,
        PeerStep::Send(bytes) => Some(PeerStep::Send(seal(bytes))),
        PeerStep::Choose(choices) => {
            let sealed = |(request, response): &Choice| (seal(request).to_vec(), seal(response));
            Some(PeerStep::Choose(choices.iter().map(sealed).collect()))
        }
        other => Some(other.clone()),
    }
}

fn seal(bytes: &[u8]) -> Arc<[u8]> {
    bytes.iter().map(|byte| byte ^ SEAL).collect()
}
