//! A back end over another one, as with TLS: a handshake before anything, bytes that
//! are changed on their way, nothing of them discarded in the kernel.
//!
//! It keeps the contract like any other (`contract.rs`), which shows that the engine
//! needs to know nothing of such a layer.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use abx_engine::testing::{Awaits, Io, Ready, Received, Token};
use abx_sys::{Nanos, ServerAddress};

use crate::script::{PeerScript, PeerStep};

/// What both sides send first.
const HELLO: [u8; 4] = *b"seal";

/// The mask of each byte.
const SEAL: u8 = 0x5a;

/// Seals the bytes of the connections of `under`.
pub struct Sealed<I> {
    under: I,
    lines: Vec<Option<SealedConnection>>,
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
    /// This many of the next bytes are to be discarded.
    skipping: u64,
}

impl<I: Io> Sealed<I> {
    pub fn over(under: I) -> Sealed<I> {
        Sealed {
            under,
            lines: Vec::new(),
            received: Vec::new(),
        }
    }

    fn line(&mut self, token: Token) -> &mut SealedConnection {
        let line = self.lines.get_mut(token.slot as usize);
        let line = line.and_then(Option::as_mut);
        line.expect("a call names a connection that was not closed")
    }

    /// Takes all of the bytes, unless some of the last ones are still here.
    fn seal(&mut self, token: Token, bytes: &[u8]) -> io::Result<usize> {
        let line = self.line(token);
        if !line.outgoing.is_empty() {
            line.is_full = true;
            return Ok(0);
        }
        line.outgoing = bytes.iter().map(|byte| byte ^ SEAL).collect();
        self.flush(token)?;
        Ok(bytes.len())
    }

    fn flush(&mut self, token: Token) -> io::Result<()> {
        let outgoing = std::mem::take(&mut self.line(token).outgoing);
        if !outgoing.is_empty() {
            let taken = self.under.send(token, &outgoing)?;
            self.line(token).outgoing = outgoing[taken..].to_vec();
        }
        Ok(())
    }

    /// Pulls once and unseals the bytes.
    fn pull(&mut self, token: Token) -> Received<'static> {
        match self.under.receive(token) {
            Received::Bytes(bytes) => {
                let bytes: Vec<u8> = bytes.iter().map(|byte| byte ^ SEAL).collect();
                self.line(token).incoming.extend(bytes);
                Received::Nothing
            }
            Received::Skipped(_) => unreachable!("nothing is skipped below"),
            Received::Nothing => Received::Nothing,
            Received::Ended => Received::Ended,
            Received::Failed => Received::Failed,
        }
    }

    /// Translates an event of the back end below for the engine.
    fn passed_on(&mut self, this_ready: Ready, ready: &mut Vec<Ready>) {
        match this_ready {
            Ready::Connected(token) => {
                if self.seal(token, &HELLO).is_err() {
                    self.fail(token, ready);
                }
            }
            Ready::Unconnected(token, error) => {
                self.lines[token.slot as usize] = None;
                ready.push(Ready::Unconnected(token, error));
            }
            Ready::MaySend(token) => {
                let has_failed = self.flush(token).is_err();
                let line = self.line(token);
                if has_failed || line.outgoing.is_empty() && line.is_full {
                    line.is_full = false;
                    ready.push(Ready::MaySend(token));
                }
            }
            Ready::Receivable(token) if self.line(token).is_open => {
                ready.push(Ready::Receivable(token));
            }
            Ready::Receivable(token) => self.advance_handshake(token, ready),
        }
    }

    /// Receives the other side's hello, and perhaps more after it.
    fn advance_handshake(&mut self, token: Token, ready: &mut Vec<Ready>) {
        loop {
            let before = self.line(token).incoming.len();
            let end = self.pull(token);
            let line = self.line(token);
            if line.incoming.len() >= HELLO.len() {
                let hello: Vec<u8> = line.incoming.drain(..HELLO.len()).collect();
                assert_eq!(hello, HELLO);
                line.is_open = true;
                ready.push(Ready::Connected(token));
                // More may have come, for which the back end below lists no further event.
                ready.push(Ready::Receivable(token));
                return;
            }
            match end {
                Received::Nothing if line.incoming.len() > before => {}
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
        let lines = self.lines.len().max(place + 1);
        self.lines.resize_with(lines, || None);
        self.lines[place] = Some(SealedConnection::default());
        Ok(())
    }

    fn close(&mut self, token: Token) {
        self.lines[token.slot as usize] = None;
        self.under.close(token);
    }

    fn send(&mut self, token: Token, bytes: &[u8]) -> io::Result<usize> {
        self.seal(token, bytes)
    }

    fn skip(&mut self, token: Token, bytes: u64) {
        self.line(token).skipping = bytes;
    }

    fn limit_receive(&mut self, _: Token, _: usize) {
        // A hint, and the back end below knows nothing of lengths above.
    }

    fn wait(&mut self, until: Nanos, awaits: Awaits, ready: &mut Vec<Ready>) -> Nanos {
        let mut below = Vec::new();
        let now = self.under.wait(until, awaits, &mut below);
        ready.clear();
        for this_ready in below {
            self.passed_on(this_ready, ready);
        }
        now
    }

    fn is_acknowledged(&mut self, token: Token) -> bool {
        self.under.is_acknowledged(token)
    }

    fn receive(&mut self, token: Token) -> Received<'_> {
        if self.line(token).incoming.is_empty() {
            let end = self.pull(token);
            if self.line(token).incoming.is_empty() {
                return end;
            }
        }
        let line = self.line(token);
        if line.skipping > 0 {
            let most = usize::try_from(line.skipping).unwrap_or(usize::MAX);
            let skipped = line.incoming.drain(..line.incoming.len().min(most)).count() as u64;
            line.skipping -= skipped;
            return Received::Skipped(skipped);
        }
        self.received = std::mem::take(&mut self.line(token).incoming);
        Received::Bytes(&self.received)
    }
}

/// A peer that seals as well. Its hello is sent once, so a script that goes back
/// to its first step has as many rounds here as a test needs.
pub fn sealed(script: PeerScript) -> PeerScript {
    Box::new(move |connection| {
        let steps = script(connection);
        let rounds = match steps.last() {
            Some(PeerStep::Again) => ROUNDS,
            _ => 1,
        };
        let hello = [PeerStep::Await(HELLO.len()), PeerStep::Send(seal(&HELLO))];
        let one_round = || steps.iter().filter_map(sealed_step);
        let flatten = std::iter::repeat_with(one_round).take(rounds).flatten();
        hello.into_iter().chain(flatten).collect()
    })
}

const ROUNDS: usize = 100;

fn sealed_step(step: &PeerStep) -> Option<PeerStep> {
    match step {
        PeerStep::Again => None,
        PeerStep::Send(bytes) => Some(PeerStep::Send(seal(bytes))),
        PeerStep::Choose(choices) => {
            let sealed = choices.iter();
            let sealed = sealed.map(|(request, response)| (seal(request).to_vec(), seal(response)));
            Some(PeerStep::Choose(sealed.collect()))
        }
        other => Some(other.clone()),
    }
}

fn seal(bytes: &[u8]) -> Arc<[u8]> {
    bytes.iter().map(|byte| byte ^ SEAL).collect()
}
