//! One connection of a probe: it keeps to a moment at which it must be done, and ends
//! at once when it is stopped.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use abx_sys::{Epoll, Events, Interest, Nanos, Socket};

use super::{Patience, ProbeError};
use crate::workers::engine::Stopper;

/// How often a connection that waits looks whether it was stopped.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A connection with a deadline for all of it.
pub(super) struct ProbeConnection<'a> {
    socket: Socket,
    epoll: Epoll,
    events: Events,
    begun: Instant,
    patience: Patience<'a>,
}

impl<'a> ProbeConnection<'a> {
    pub(super) fn connect(
        address: SocketAddr,
        patience: Patience<'a>,
    ) -> Result<ProbeConnection<'a>, ProbeError> {
        let begun = Instant::now();
        let failed = |error| broken(error, patience.timeout);
        let socket = Socket::connect(address, None).map_err(failed)?;
        let epoll = Epoll::new().map_err(failed)?;
        epoll.add(&socket, 0, Interest::all()).map_err(failed)?;
        let mut connection = ProbeConnection {
            socket,
            epoll,
            events: Events::with_capacity(1),
            begun,
            patience,
        };
        connection.wait()?;
        connection.socket.pending_error().map_err(failed)?;
        Ok(connection)
    }

    /// How long it has taken so far.
    pub(super) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    pub(super) fn send(&mut self, mut bytes: &[u8]) -> Result<(), ProbeError> {
        while !bytes.is_empty() {
            let sent = self.once_ready(|socket| socket.send(bytes))?;
            bytes = &bytes[sent..];
        }
        Ok(())
    }

    /// Waits for bytes and gives how many came: none at the peer's end.
    pub(super) fn receive(&mut self, buffer: &mut [u8]) -> Result<usize, ProbeError> {
        self.once_ready(|socket| socket.receive(buffer))
    }

    /// Does this as soon as it can be done without waiting.
    fn once_ready<T>(
        &mut self,
        mut act: impl FnMut(&Socket) -> io::Result<T>,
    ) -> Result<T, ProbeError> {
        loop {
            // A peer that always has more to say must not keep it busy for ever.
            self.left()?;
            match act(&self.socket) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.wait()?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => return other.map_err(|error| broken(error, self.patience.timeout)),
            }
        }
    }

    /// Waits until something has happened to the socket.
    fn wait(&mut self) -> Result<(), ProbeError> {
        loop {
            let wait = self.left()?.min(LOOK_EVERY);
            let waited = self.epoll.wait(&mut self.events, Some(Nanos::from(wait)));
            waited.map_err(|error| broken(error, self.patience.timeout))?;
            if !self.events.is_empty() {
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

fn broken(error: io::Error, timeout: Duration) -> ProbeError {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => ProbeError::Refused,
        io::ErrorKind::TimedOut => ProbeError::Timeout(timeout),
        _ => ProbeError::Broken(error),
    }
}
