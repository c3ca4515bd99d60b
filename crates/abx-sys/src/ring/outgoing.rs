//! How requests go out: small ones with the next hand-over, large ones at once.

use std::io;

use io_uring::{opcode, squeue};
use rustix::net::SendFlags;

use super::line::{ConnectionStage, Sending, StreamEnd};
use super::op::Operation;
use super::state::RingState;
use super::{RequestId, Ring};

/// What is left of a request from here on is sent at once. Below, it fits the
/// send buffer of a connection that has nothing in it (`tcp_wmem` begins with
/// 16 KiB), so that a whole request is as good as sent when it is taken.
const AT_ONCE_MIN: usize = 16 * 1024;

impl Ring {
    /// Hands over a request from `offset` on, with the next wait, and answers how
    /// many bytes were taken: all of them, or zero while an earlier send on this
    /// connection is not done.
    ///
    /// Of 16 KiB and more the socket takes what it has room for, now, so that the
    /// count says what has left. [`RingEvent::MaySend`](super::RingEvent::MaySend)
    /// follows a count that is not the whole rest.
    ///
    /// A send that fails is told by [`Received::Failed`](super::Received::Failed).
    ///
    /// # Errors
    /// The kernel takes no more operations; not seen.
    ///
    /// # Panics
    /// There is no such connection, or it does not stand yet.
    pub fn send(&mut self, token: u64, request: RequestId, offset: usize) -> io::Result<usize> {
        let at = self.known(token);
        if self.must_wait(at) {
            return Ok(0);
        }
        let end = self.requests[request.0 as usize].len();
        if end - offset >= AT_ONCE_MIN {
            return self.send_at_once(at, request, offset);
        }
        let sending = Sending {
            request,
            offset,
            end,
        };
        let batch = self.state.batch;
        let line = self.state.lines.line(at);
        line.handed_in = Some(sending);
        line.batch = batch;
        // SUBTLE: DONTWAIT has the kernel decide on this send in the call that
        // hands it over, and WAITALL makes anything less than all of it a
        // failure, which alone gives a completion. So a batch's end tells that
        // every send without one is done, and nothing wakes the wait for it.
        let flags = libc::MSG_NOSIGNAL | libc::MSG_WAITALL | libc::MSG_DONTWAIT;
        let entry = self
            .send_entry(at, sending, flags)
            .flags(squeue::Flags::SKIP_SUCCESS);
        self.push(at, Operation::Send, entry)?;
        Ok(end - offset)
    }

    /// Sends bytes that were not registered, now, as far as the socket has room, and
    /// answers how many were taken: zero while an earlier send on this connection is
    /// not done. [`RingEvent::MaySend`](super::RingEvent::MaySend) follows a count
    /// that is not all of them.
    ///
    /// # Errors
    /// As [`Ring::send`].
    ///
    /// # Panics
    /// As [`Ring::send`].
    pub fn send_bytes(&mut self, token: u64, bytes: &[u8]) -> io::Result<usize> {
        let at = self.known(token);
        if self.must_wait(at) {
            return Ok(0);
        }
        let taken = self.state.send_now(at, bytes);
        self.taken_of(at, taken, bytes.len())
    }

    /// Whether an earlier send on this connection is not done; then the caller is
    /// told when it is.
    fn must_wait(&mut self, at: u32) -> bool {
        let batch = self.state.batch;
        let line = self.state.lines.line(at);
        assert!(
            line.stage == ConnectionStage::Open,
            "a send follows `Connected`"
        );
        let is_handed_in = line.is_handed_in(batch);
        let must_wait = is_handed_in || line.is_sending();
        line.wants_send |= must_wait;
        if is_handed_in {
            self.state.refused.push(at);
        }
        must_wait
    }

    /// Sends what the socket has room for, and asks for word when that is not all.
    fn send_at_once(&mut self, at: u32, request: RequestId, offset: usize) -> io::Result<usize> {
        let rest = &self.requests[request.0 as usize][offset..];
        let (taken, all) = (self.state.send_now(at, rest), rest.len());
        self.taken_of(at, taken, all)
    }

    /// Asks for word of room when not all of what was to be sent at once was taken.
    fn taken_of(&mut self, at: u32, taken: usize, all: usize) -> io::Result<usize> {
        if taken < all {
            let line = self.state.lines.line(at);
            line.wants_send = true;
            line.awaits_room = true;
            let entry = opcode::PollAdd::new(self.fd(at), u32::from(POLLOUT)).build();
            self.push(at, Operation::Room, entry)?;
            self.state.begun(at);
        }
        Ok(taken)
    }

    /// Sends what was left of a request, for as long as it takes.
    pub(super) fn send_on(&mut self, at: u32) -> io::Result<()> {
        let line = self.state.lines.line(at);
        let (ConnectionStage::Open, Some(sending)) = (line.stage, line.sending) else {
            return Ok(());
        };
        let entry = self.send_entry(at, sending, libc::MSG_NOSIGNAL | libc::MSG_WAITALL);
        self.push(at, Operation::SendOn, entry)?;
        self.state.begun(at);
        Ok(())
    }

    fn send_entry(&mut self, at: u32, sending: Sending, flags: i32) -> squeue::Entry {
        let fd = self.fd(at);
        let bytes = &self.requests[sending.request.0 as usize][sending.offset..sending.end];
        let length = u32::try_from(bytes.len()).expect("larger ones are sent at once");
        opcode::Send::new(fd, bytes.as_ptr(), length)
            .flags(flags)
            .build()
    }
}

impl RingState {
    /// Sends what the socket has room for, and answers how much that was. All of it,
    /// when the connection is broken: that is told behind the bytes that may still be
    /// there to be pulled.
    fn send_now(&mut self, at: u32, bytes: &[u8]) -> usize {
        let line = self.lines.line(at);
        let socket = line.socket.as_ref().expect("a line in use has a socket");
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        match rustix::net::send(socket, bytes, flags) {
            Ok(taken) => taken,
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => 0,
            Err(error) => {
                self.end(at, StreamEnd::Failed(error.raw_os_error()));
                bytes.len()
            }
        }
    }
}

/// `POLLOUT` without its sign.
const POLLOUT: u16 = libc::POLLOUT.unsigned_abs();
