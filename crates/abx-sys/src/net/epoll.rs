//! Epoll: edge-triggered, with one registration per socket and no call to re-arm it; or one
//! event at a time, if threads take turns with a socket.

use std::io;
use std::mem::offset_of;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::epoll;
use rustix::io::Errno;

use crate::Nanos;

/// A set of sockets that one thread waits for.
#[derive(Debug)]
pub struct Epoll {
    set: OwnedFd,
    /// Whether the kernel was found to have no `epoll_pwait2`.
    is_coarse: AtomicBool,
}

/// The events that a socket is watched for.
#[derive(Debug, Clone, Copy)]
pub struct Interest(epoll::EventFlags);

impl Interest {
    /// Readable, writable, and the peer's end, edge-triggered: an event comes once for each
    /// change, so the reader must read until a short read or `WouldBlock`. Watching for
    /// "writable" costs nothing while the send buffer has room.
    #[must_use]
    pub fn all() -> Interest {
        Interest(
            epoll::EventFlags::IN
                | epoll::EventFlags::OUT
                | epoll::EventFlags::RDHUP
                | epoll::EventFlags::ET,
        )
    }

    /// Readable or the peer's end, once: then nothing more until [`Epoll::watch_again`].
    #[must_use]
    pub fn read_once() -> Interest {
        Interest(epoll::EventFlags::IN | epoll::EventFlags::RDHUP | epoll::EventFlags::ONESHOT)
    }

    /// Writable, once: then nothing more until [`Epoll::watch_again`].
    #[must_use]
    pub fn write_once() -> Interest {
        Interest(epoll::EventFlags::OUT | epoll::EventFlags::ONESHOT)
    }

    /// Connections of a listener that several sets watch, of this process or of others: each
    /// connection wakes one waiting set, again and again until it is accepted.
    #[must_use]
    pub fn shared_listener() -> Interest {
        Interest(epoll::EventFlags::IN | epoll::EventFlags::EXCLUSIVE)
    }
}

/// Room for the events of one wait, which is reused.
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

    /// No room and no memory: a placeholder while the real buffer is in use.
    #[must_use]
    pub fn none() -> Events {
        Events { buffer: Vec::new() }
    }

    /// The events of the last wait.
    pub fn iter(&self) -> impl Iterator<Item = SocketEvent> + '_ {
        self.buffer.iter().map(|event| SocketEvent {
            token: event.data.u64(),
            flags: event.flags,
        })
    }

    /// How many events the last wait returned.
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
pub struct SocketEvent {
    token: u64,
    flags: epoll::EventFlags,
}

impl SocketEvent {
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
    /// The kernel's error, above all too many open files.
    pub fn new() -> io::Result<Epoll> {
        Ok(Epoll {
            set: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            is_coarse: AtomicBool::new(false),
        })
    }

    /// Watches `socket` under the number `token` until it is closed.
    ///
    /// # Errors
    /// The kernel's error, `AlreadyExists` for a socket that is in the set.
    pub fn add(&self, socket: impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        let data = epoll::EventData::new_u64(token);
        Ok(epoll::add(&self.set, socket, data, interest.0)?)
    }

    /// Watches a socket again after its one event; readiness that already exists counts.
    ///
    /// # Errors
    /// The kernel's error, `NotFound` for a socket that is not in the set.
    pub fn watch_again(&self, socket: impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        let data = epoll::EventData::new_u64(token);
        Ok(epoll::modify(&self.set, socket, data, interest.0)?)
    }

    /// Stops watching `socket`.
    ///
    /// # Errors
    /// The kernel's error, `NotFound` for a socket that is not in the set.
    pub fn forget(&self, socket: impl AsFd) -> io::Result<()> {
        Ok(epoll::delete(&self.set, socket)?)
    }

    /// Waits for events, at most `timeout` (without limit when `None`).
    ///
    /// The timeout has the resolution of a nanosecond (`epoll_pwait2`, Linux
    /// 5.11), or of a millisecond, rounded up, where the kernel or a filter of
    /// system calls refuses that. A signal ends the wait early without an event.
    ///
    /// # Errors
    /// The kernel's error; not seen on an open set.
    pub fn wait(&self, events: &mut Events, timeout: Option<Nanos>) -> io::Result<()> {
        events.buffer.clear();
        if self.is_coarse.load(Ordering::Relaxed) {
            return self.wait_coarse(events, timeout);
        }
        let span = timeout.map(|span| rustix::event::Timespec {
            tv_sec: i64::try_from(span.0 / 1_000_000_000).unwrap_or(i64::MAX),
            tv_nsec: i64::try_from(span.0 % 1_000_000_000).expect("below a thousand million"),
        });
        let spare = rustix::buffer::spare_capacity(&mut events.buffer);
        match epoll::wait(&self.set, spare, span.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            // Filters older than the call return `PERM`.
            Err(Errno::NOSYS | Errno::PERM) => {
                self.is_coarse.store(true, Ordering::Relaxed);
                self.wait_coarse(events, timeout)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The wait of kernels before 5.11, which counts in milliseconds.
    #[allow(unsafe_code)]
    fn wait_coarse(&self, events: &mut Events, timeout: Option<Nanos>) -> io::Result<()> {
        use std::os::fd::AsRawFd;
        let timeout_ms = timeout.map_or(-1, |span| {
            i32::try_from(span.0.div_ceil(1_000_000)).unwrap_or(i32::MAX)
        });
        let room = i32::try_from(events.buffer.capacity()).unwrap_or(i32::MAX);
        // SAFETY: The set is open for as long as `self` is borrowed. The pointer
        // leads to `room` places of the kernel's `epoll_event`, which both types
        // lay out alike (asserted below), and the kernel fills at most as many.
        let count = unsafe {
            libc::epoll_wait(
                self.set.as_raw_fd(),
                events.buffer.as_mut_ptr().cast::<libc::epoll_event>(),
                room,
                timeout_ms,
            )
        };
        let Ok(count) = usize::try_from(count) else {
            let error = io::Error::last_os_error();
            return match error.kind() {
                io::ErrorKind::Interrupted => Ok(()),
                _ => Err(error),
            };
        };
        // SAFETY: The kernel has filled the first `count` places, within the capacity.
        unsafe { events.buffer.set_len(count) };
        Ok(())
    }
}

const _: () = assert!(
    size_of::<epoll::Event>() == size_of::<libc::epoll_event>()
        && align_of::<epoll::Event>() == align_of::<libc::epoll_event>()
        && offset_of!(epoll::Event, flags) == offset_of!(libc::epoll_event, events)
        && offset_of!(epoll::Event, data) == offset_of!(libc::epoll_event, u64)
);

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use super::*;

    /// Both ways to wait.
    fn sets() -> [Epoll; 2] {
        let coarse = Epoll::new().unwrap();
        coarse.is_coarse.store(true, Ordering::Relaxed);
        [Epoll::new().unwrap(), coarse]
    }

    #[test]
    fn an_edge_comes_once_for_each_change() {
        // Method: one byte, two waits, another byte: the second wait must be empty.
        for epoll in sets() {
            let (mut writer, reader) = UnixStream::pair().unwrap();
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
            assert!(events.iter().next().is_some_and(SocketEvent::ended));
        }
    }

    #[test]
    fn a_socket_has_one_event_until_it_is_watched_again() {
        // Method: two bytes, one by one: the second gives no event until then, and the
        // unread byte gives one at once.
        for epoll in sets() {
            let (mut writer, reader) = UnixStream::pair().unwrap();
            epoll.add(&reader, 3, Interest::read_once()).unwrap();
            let mut events = Events::with_capacity(4);
            let mut count = || {
                epoll.wait(&mut events, Some(Nanos(0))).unwrap();
                events.len()
            };
            assert_eq!(count(), 0);
            writer.write_all(b"a").unwrap();
            assert_eq!(count(), 1);
            writer.write_all(b"b").unwrap();
            assert_eq!(count(), 0);
            epoll
                .watch_again(&reader, 3, Interest::read_once())
                .unwrap();
            assert_eq!(count(), 1);
            epoll
                .watch_again(&reader, 3, Interest::write_once())
                .unwrap();
            assert_eq!(count(), 1);
            epoll.forget(&reader).unwrap();
            assert_eq!(count(), 0);
        }
    }

    #[test]
    fn a_wait_without_an_event_never_ends_early() {
        // Method: spans that are no whole milliseconds, on an empty set.
        let mut events = Events::with_capacity(4);
        for epoll in sets() {
            for span in [Nanos(0), Nanos(70_000), Nanos(1_300_000)] {
                let before = Nanos::now();
                epoll.wait(&mut events, Some(span)).unwrap();
                assert!(Nanos::now().since(before) >= span && events.is_empty());
            }
        }
    }

    #[test]
    fn a_wait_may_be_shorter_than_a_millisecond() {
        // Method: waits of 50 us until one took less than the millisecond that a
        // coarse wait rounds up to; a busy machine may delay some of them.
        let epoll = Epoll::new().unwrap();
        let mut events = Events::with_capacity(4);
        let deadline = Nanos::now().plus(Nanos(10_000_000_000));
        loop {
            let before = Nanos::now();
            epoll.wait(&mut events, Some(Nanos(50_000))).unwrap();
            let now = Nanos::now();
            if now.since(before) < Nanos(1_000_000) || epoll.is_coarse.load(Ordering::Relaxed) {
                break;
            }
            assert!(now < deadline, "no wait was shorter than a millisecond");
        }
    }
}
