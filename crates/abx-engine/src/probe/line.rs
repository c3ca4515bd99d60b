//! One connection of a probe: it keeps to a moment at which it must be done, and ends
//! at once when it is stopped.

use std::io;
use std::time::{Duration, Instant};

use abx_evidence::Wait;
use abx_evidence::record::TlsSession;
use abx_sys::{Nanos, ServerAddress};

use super::{Patience, ProbeError};
use crate::io::{Awaits, EpollIo, Io, Ready, Received, Tls, TlsClient, Token};
use crate::plan::TlsPlan;
use crate::stopper::Stopper;

/// How often a connection that waits looks whether it was stopped.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// A probe has one connection.
const TOKEN: Token = Token {
    slot: 0,
    generation: 0,
};

/// A connection with a deadline for all of it.
pub(super) struct ProbeConnection<'a> {
    io: Box<dyn Io>,
    ready: Vec<Ready>,
    begun: Instant,
    patience: Patience<'a>,
}

impl<'a> ProbeConnection<'a> {
    /// Connects, and shakes hands where TLS is spoken.
    pub(super) fn connect(
        address: ServerAddress,
        tls: Option<&TlsPlan>,
        patience: Patience<'a>,
    ) -> Result<ProbeConnection<'a>, ProbeError> {
        let begun = Instant::now();
        let broken = move |error| broken(error, patience.timeout);
        let socket = EpollIo::new(Wait::Asleep).map_err(broken)?;
        let mut io: Box<dyn Io> = match tls {
            None => Box::new(socket),
            Some(plan) => Box::new(Tls::over(socket, TlsClient::of(plan)?)),
        };
        io.connect(TOKEN, &address, None).map_err(broken)?;
        let mut connection = ProbeConnection {
            io,
            ready: Vec::new(),
            begun,
            patience,
        };
        loop {
            connection.wait().map_err(unconnected)?;
            for ready in std::mem::take(&mut connection.ready) {
                match ready {
                    Ready::Connected(_) => return Ok(connection),
                    Ready::Unconnected(_, error) => return Err(unconnected(broken(error))),
                    Ready::MaySend(_) | Ready::Receivable(_) => {}
                }
            }
        }
    }

    /// How long it has taken so far.
    pub(super) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// What was agreed on in the TLS handshake.
    pub(super) fn tls_session(&self) -> Option<TlsSession> {
        self.io.tls_session(TOKEN)
    }

    pub(super) fn send(&mut self, mut bytes: &[u8]) -> Result<(), ProbeError> {
        while !bytes.is_empty() {
            self.left()?;
            let sent = self.io.send(TOKEN, bytes);
            bytes = &bytes[sent.map_err(|error| broken(error, self.patience.timeout))?..];
            if !bytes.is_empty() {
                self.wait()?;
            }
        }
        Ok(())
    }

    /// Waits for bytes and puts them in the buffer's place: none at the peer's end.
    pub(super) fn receive(&mut self, buffer: &mut Vec<u8>) -> Result<(), ProbeError> {
        buffer.clear();
        loop {
            // A peer that always has more to say must not keep it busy for ever.
            self.left()?;
            match self.io.receive(TOKEN) {
                Received::Bytes(bytes) => {
                    buffer.extend_from_slice(bytes);
                    return Ok(());
                }
                Received::Ended => return Ok(()),
                Received::Failed => {
                    return Err(match self.io.take_refusal(TOKEN) {
                        Some(refusal) => ProbeError::Handshake(refusal),
                        None => ProbeError::Broken(io::ErrorKind::ConnectionReset.into()),
                    });
                }
                Received::Nothing | Received::Skipped(_) => self.wait()?,
            }
        }
    }

    /// Waits until something has happened to the connection.
    fn wait(&mut self) -> Result<(), ProbeError> {
        loop {
            let wait = self.left()?.min(LOOK_EVERY);
            let until = self.io.now().plus(Nanos::from(wait));
            self.io.wait(until, Awaits::Nothing, &mut self.ready);
            if !self.ready.is_empty() {
                return Ok(());
            }
            if let Some(on_wait) = self.patience.on_wait {
                on_wait(self.elapsed());
            }
        }
    }

    /// The time that is left.
    fn left(&self) -> Result<Duration, ProbeError> {
        if self.patience.stopper.is_some_and(Stopper::is_stopped) {
            return Err(ProbeError::Stopped);
        }
        match self.patience.timeout.saturating_sub(self.elapsed()) {
            Duration::ZERO => Err(ProbeError::Timeout(self.patience.timeout)),
            left => Ok(left),
        }
    }
}

/// The same error where the connection itself was waited for.
fn unconnected(error: ProbeError) -> ProbeError {
    match error {
        ProbeError::Timeout(timeout) => ProbeError::Unconnected(timeout),
        other => other,
    }
}

fn broken(error: io::Error, timeout: Duration) -> ProbeError {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => ProbeError::Refused,
        io::ErrorKind::TimedOut => ProbeError::Timeout(timeout),
        io::ErrorKind::InvalidData => ProbeError::Handshake(error),
        _ => ProbeError::Broken(error),
    }
}
