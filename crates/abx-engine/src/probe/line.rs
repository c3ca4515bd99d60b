//! One connection of a probe: it has a deadline for the whole exchange, and ends at once when it is
//! stopped.

use std::io;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use abx_evidence::Wait;
use abx_evidence::record::TlsSession;
use abx_sys::{Nanos, ServerAddress};

use super::error::ProbeError;
use crate::event_loop::{Driver, NextWait, Waiter, event_loop};
use crate::io::{Awaits, EpollIo, Io, Ready, Received, Tls, TlsClient, Token, is_cut_off};
use crate::plan::TlsPlan;
use crate::stopper::Stopper;

/// How often a waiting connection checks whether it was stopped.
const LOOK_EVERY: Duration = Duration::from_millis(20);
const TOKEN: Token = Token {
    slot: 0,
    generation: 0,
};

/// How long a probe waits: until its time is over, or the stopper stops it.
#[derive(Clone, Copy)]
pub struct Patience<'a> {
    /// The limit from before the connect to the end of the response.
    pub timeout: Duration,
    /// Stops the probe before its timeout.
    pub stopper: Option<&'a Stopper>,
    /// Called repeatedly during the wait, with the time waited so far.
    pub on_wait: Option<&'a dyn Fn(Duration)>,
}

impl From<Duration> for Patience<'_> {
    fn from(timeout: Duration) -> Self {
        Patience {
            timeout,
            stopper: None,
            on_wait: None,
        }
    }
}

/// A connection with a deadline for its whole exchange.
pub(super) struct ProbeConnection<'a> {
    io: Box<dyn Io>,
    unsent: Vec<u8>,
    waiter: Waiter,
    /// The result of the last wait; `None` while it lasts.
    waited: Option<Result<(), ProbeError>>,
    has_received: bool,
    begun: Instant,
    patience: Patience<'a>,
}

impl<'a> ProbeConnection<'a> {
    /// Connects, with a handshake if TLS is used.
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
            Some(plan) => Box::new(Tls::over(socket, TlsClient::of(plan, 1)?)),
        };
        io.connect(TOKEN, &address, None).map_err(broken)?;
        let mut connection = ProbeConnection {
            io,
            unsent: Vec::new(),
            waiter: Waiter::from(Nanos::MAX),
            waited: None,
            has_received: false,
            begun,
            patience,
        };
        connection.wait().map_err(unconnected)?;
        Ok(connection)
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    pub(super) fn tls_session(&self) -> Option<TlsSession> {
        self.io.tls_session(TOKEN)
    }

    /// Sends as much as the peer takes now. The rest goes out in [`ProbeConnection::receive`],
    /// since a server may respond before it has read all of a request.
    pub(super) fn send(&mut self, bytes: &[u8]) -> Result<(), ProbeError> {
        self.unsent.extend_from_slice(bytes);
        self.send_rest()
    }

    fn send_rest(&mut self) -> Result<(), ProbeError> {
        while !self.unsent.is_empty() {
            self.left()?;
            match self.io.send(TOKEN, &self.unsent) {
                Ok(0) => break,
                Ok(sent) => drop(self.unsent.drain(..sent)),
                // The bytes that it sent before it closed are still received, and then its end.
                Err(error) if is_cut_off(&error) => self.unsent.clear(),
                Err(error) => return Err(broken(error, self.patience.timeout)),
            }
        }
        Ok(())
    }

    /// Waits for bytes and replaces the contents of `buffer` with them. At the peer's end there are
    /// none.
    pub(super) fn receive(&mut self, buffer: &mut Vec<u8>) -> Result<(), ProbeError> {
        buffer.clear();
        loop {
            // A peer that sends without end must not keep the probe busy endlessly.
            self.left()?;
            self.send_rest()?;
            match self.io.receive(TOKEN) {
                Received::Bytes(bytes) => {
                    self.has_received = true;
                    buffer.extend_from_slice(bytes);
                    return Ok(());
                }
                Received::Ended => return Ok(()),
                Received::Failed => {
                    return Err(match self.io.take_fault(TOKEN) {
                        Some(fault) if self.has_received => ProbeError::Broken(fault),
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
        self.waited = None;
        // The driver checks its own stopper, since a stop is an error here.
        event_loop(self, &AtomicBool::new(false));
        self.waited.take().unwrap_or(Ok(()))
    }

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

impl Driver for ProbeConnection<'_> {
    type Io = dyn Io;

    fn waits_with(&mut self) -> (&mut (dyn Io + 'static), &mut Waiter) {
        (&mut *self.io, &mut self.waiter)
    }

    fn next_wait(&mut self, _: Nanos, _: bool) -> Option<NextWait> {
        if self.waited.is_some() {
            return None;
        }
        match self.left() {
            Ok(left) => Some(NextWait {
                until: self.io.now().plus(Nanos::from(left.min(LOOK_EVERY))),
                awaits: Awaits::Nothing,
            }),
            Err(error) => {
                self.waited = Some(Err(error));
                None
            }
        }
    }

    fn take(&mut self, ready: &mut Vec<Ready>, _: Nanos) {
        match ready.pop() {
            None => {
                if let Some(on_wait) = self.patience.on_wait {
                    on_wait(self.elapsed());
                }
            }
            Some(Ready::Unconnected(_, error)) => {
                self.waited = Some(Err(broken(error, self.patience.timeout)));
            }
            Some(_) => self.waited = Some(Ok(())),
        }
    }
}

/// The error for a wait for the connection itself.
fn unconnected(error: ProbeError) -> ProbeError {
    match error {
        ProbeError::Timeout(timeout) => ProbeError::Unconnected(timeout),
        other => other,
    }
}

fn broken(error: io::Error, timeout: Duration) -> ProbeError {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => ProbeError::Refused,
        io::ErrorKind::PermissionDenied => ProbeError::Denied,
        io::ErrorKind::TimedOut => ProbeError::Timeout(timeout),
        io::ErrorKind::InvalidData => ProbeError::Handshake(error),
        _ => ProbeError::Broken(error),
    }
}
