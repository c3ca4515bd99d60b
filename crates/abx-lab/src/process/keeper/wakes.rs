//! The events that end the sleep of a keeper and a guardian.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;

use abx_sys::{Epoll, Events, Interest, Nanos};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};

/// The end of a child, the end of the pipe, and signals that request the end.
pub struct Wakes {
    epoll: Epoll,
    events: Events,
    /// Receives a byte with every SIGCHLD.
    child_ended: UnixStream,
    /// Receives a byte with every signal that requests the end.
    end_requested: UnixStream,
}

const CHILD_ENDED: u64 = 0;
const END_REQUESTED: u64 = 1;
const PIPE: u64 = 2;

impl Wakes {
    /// Takes over the signals. None is lost from now on.
    pub fn new() -> io::Result<Wakes> {
        let epoll = Epoll::new()?;
        let child_ended = signals(&[SIGCHLD])?;
        let end_requested = signals(&[SIGTERM, SIGINT, SIGHUP])?;
        epoll.add(&child_ended, CHILD_ENDED, Interest::all())?;
        epoll.add(&end_requested, END_REQUESTED, Interest::all())?;
        // No data follows the command: any event is the end of the pipe.
        epoll.add(io::stdin(), PIPE, Interest::all())?;
        Ok(Wakes {
            epoll,
            events: Events::with_capacity(4),
            child_ended,
            end_requested,
        })
    }

    /// Sleeps until something happens, at most for `timeout`; returns whether the end was
    /// requested.
    pub fn sleep(&mut self, timeout: Option<Nanos>) -> io::Result<bool> {
        self.epoll.wait(&mut self.events, timeout)?;
        // A signal may cut the wait short before its byte became an event, so the bytes themselves
        // count.
        drain(&mut self.child_ended)?;
        let was_signalled = drain(&mut self.end_requested)?;
        let pipe_has_event = self.events.iter().any(|event| event.token() == PIPE);
        Ok(was_signalled || pipe_has_event)
    }
}

/// A stream that receives a byte with each of these signals.
fn signals(signals: &[i32]) -> io::Result<UnixStream> {
    let (receiver, sender) = UnixStream::pair()?;
    receiver.set_nonblocking(true)?;
    for signal in signals {
        signal_hook::low_level::pipe::register(*signal, sender.try_clone()?)?;
    }
    Ok(receiver)
}

/// Empties the stream; returns whether it had any bytes.
fn drain(stream: &mut UnixStream) -> io::Result<bool> {
    let mut bytes = [0; 64];
    let mut had_bytes = false;
    loop {
        match stream.read(&mut bytes) {
            Ok(0) => return Ok(had_bytes),
            Ok(_) => had_bytes = true,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(had_bytes),
            Err(error) => return Err(error),
        }
    }
}
