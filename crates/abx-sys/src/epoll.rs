//! Edge-triggered epoll: one registration per socket, no call to re-arm it.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::epoll;

use crate::Nanos;

/// A set of sockets that one thread waits for.
#[derive(Debug)]
pub struct Epoll(OwnedFd);

/// What a socket is watched for. Every choice is edge-triggered: an event comes
/// once for each change, so the reader must read until a short read or `WouldBlock`.
#[derive(Debug, Clone, Copy)]
pub struct Interest(epoll::EventFlags);

impl Interest {
    /// Readable, writable, and the peer's end. Watching for "writable" costs
    /// nothing while the send buffer has room.
    #[must_use]
    pub fn all() -> Interest {
        Interest(
            epoll::EventFlags::IN
                | epoll::EventFlags::OUT
                | epoll::EventFlags::RDHUP
                | epoll::EventFlags::ET,
        )
    }
}

/// Room for the events of one wait, used again and again.
pub struct Events {
    buffer: Vec<epoll::Event>,
}

impl Events {
    /// Room for `capacity` events per wait; more wait for the next one.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Events {
        Events {
            buffer: Vec::with_capacity(capacity.max(1)),
        }
    }

    /// No room at all, and no memory taken: a place holder while the real one is in use.
    #[must_use]
    pub fn none() -> Events {
        Events { buffer: Vec::new() }
    }

    /// The events of the last wait.
    pub fn iter(&self) -> impl Iterator<Item = Event> + '_ {
        self.buffer.iter().map(|event| Event {
            token: event.data.u64(),
            flags: event.flags,
        })
    }

    /// How many events the last wait gave.
    #[must_use]
    pub fn len(&self) -> usize {
        self.buffer.len()
    }

    /// Whether the last wait ended without an event.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }
}

/// What happened to one socket.
#[derive(Debug, Clone, Copy)]
pub struct Event {
    token: u64,
    flags: epoll::EventFlags,
}

impl Event {
    /// The number that the socket was added with.
    #[must_use]
    pub fn token(self) -> u64 {
        self.token
    }

    /// Bytes, an end or an error are there to be received.
    #[must_use]
    pub fn readable(self) -> bool {
        self.flags.intersects(
            epoll::EventFlags::IN
                | epoll::EventFlags::RDHUP
                | epoll::EventFlags::HUP
                | epoll::EventFlags::ERR,
        )
    }

    /// A connect has ended or the send buffer has room again.
    #[must_use]
    pub fn writable(self) -> bool {
        self.flags
            .intersects(epoll::EventFlags::OUT | epoll::EventFlags::HUP | epoll::EventFlags::ERR)
    }

    /// The peer will send no more, or the connection is broken: read to the end.
    #[must_use]
    pub fn ended(self) -> bool {
        self.flags
            .intersects(epoll::EventFlags::RDHUP | epoll::EventFlags::HUP | epoll::EventFlags::ERR)
    }
}

impl Epoll {
    /// Makes an empty set.
    ///
    /// # Errors
    /// What the kernel says, too many open files before all.
    pub fn new() -> io::Result<Epoll> {
        Ok(Epoll(epoll::create(epoll::CreateFlags::CLOEXEC)?))
    }

    /// Watches `socket` under the number `token` until it is closed.
    ///
    /// # Errors
    /// What the kernel says, `AlreadyExists` for a socket that is in the set.
    pub fn add(&self, socket: impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        let data = epoll::EventData::new_u64(token);
        Ok(epoll::add(&self.0, socket, data, interest.0)?)
    }

    /// Waits for events, at most `timeout` (without limit when `None`).
    ///
    /// A signal ends the wait early without an event.
    ///
    /// # Errors
    /// What the kernel says; not seen on an open set.
    pub fn wait(&self, events: &mut Events, timeout: Option<Nanos>) -> io::Result<()> {
        events.buffer.clear();
        let timeout = timeout.map(|span| rustix::event::Timespec {
            tv_sec: i64::try_from(span.0 / 1_000_000_000).unwrap_or(i64::MAX),
            tv_nsec: i64::try_from(span.0 % 1_000_000_000).expect("below a thousand million"),
        });
        let spare = rustix::buffer::spare_capacity(&mut events.buffer);
        match epoll::wait(&self.0, spare, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn an_edge_comes_once_for_each_change() {
        // Method: one byte, two waits, another byte: the second wait must be empty.
        let (mut writer, reader) = UnixStream::pair().unwrap();
        let epoll = Epoll::new().unwrap();
        epoll.add(&reader, 3, Interest::all()).unwrap();
        let mut events = Events::with_capacity(4);
        writer.write_all(b"a").unwrap();
        epoll.wait(&mut events, Some(Nanos(0))).unwrap();
        assert_eq!(events.len(), 1);
        epoll.wait(&mut events, Some(Nanos(0))).unwrap();
        assert!(events.is_empty());
        writer.write_all(b"b").unwrap();
        epoll.wait(&mut events, Some(Nanos(0))).unwrap();
        let event = events.iter().next().unwrap();
        assert!(event.readable() && !event.ended() && event.token() == 3);
        drop(writer);
        epoll.wait(&mut events, Some(Nanos(0))).unwrap();
        assert!(events.iter().next().is_some_and(Event::ended));
    }
}
