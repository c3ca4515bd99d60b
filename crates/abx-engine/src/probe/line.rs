//! One connection of a probe: it blocks, and keeps to a moment at which it must be done.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use super::ProbeError;

/// A connection with a deadline for all of it.
pub(super) struct ProbeConnection {
    stream: TcpStream,
    begun: Instant,
    timeout: Duration,
}

impl ProbeConnection {
    pub(super) fn connect(
        address: SocketAddr,
        timeout: Duration,
    ) -> Result<ProbeConnection, ProbeError> {
        let begun = Instant::now();
        let stream = TcpStream::connect_timeout(&address, timeout);
        let stream = stream.map_err(|error| broken(error, timeout))?;
        Ok(ProbeConnection {
            stream,
            begun,
            timeout,
        })
    }

    /// How long it has taken so far.
    pub(super) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    pub(super) fn send(&mut self, bytes: &[u8]) -> Result<(), ProbeError> {
        let sent = self.left().and_then(|left| {
            self.stream.set_write_timeout(Some(left))?;
            self.stream.write_all(bytes)
        });
        sent.map_err(|error| broken(error, self.timeout))
    }

    /// Waits for bytes and gives how many came: none at the peer's end.
    pub(super) fn receive(&mut self, buffer: &mut [u8]) -> Result<usize, ProbeError> {
        loop {
            let received = self.left().and_then(|left| {
                self.stream.set_read_timeout(Some(left))?;
                self.stream.read(buffer)
            });
            match received {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => return other.map_err(|error| broken(error, self.timeout)),
            }
        }
    }

    fn left(&self) -> io::Result<Duration> {
        match self.timeout.saturating_sub(self.elapsed()) {
            Duration::ZERO => Err(io::ErrorKind::TimedOut.into()),
            left => Ok(left),
        }
    }
}

fn broken(error: io::Error, timeout: Duration) -> ProbeError {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => ProbeError::Refused,
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => ProbeError::Timeout(timeout),
        _ => ProbeError::Broken(error),
    }
}
