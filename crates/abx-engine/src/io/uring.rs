//! The back end over io_uring: requests are gathered, and one system call hands
//! them over and takes out what has come.
//!
//! A ring of its own for each pool, as the epoll back end has a set: what
//! happens to idle connections of one subject then waits in their own ring and
//! never wakes the loop that loads another. It costs each pool a megabyte of
//! buffers at most, which connections share.
//!
//! The engine reads the clock before each send, and a send that gathers leaves
//! later. So few of them gather, connects are handed over before the clock is
//! read, and sends before sockets are made or closed, which takes longest. What
//! lies between the reading and the send is then the parsing of a few answers and
//! the sends before it: a service time is never told too short, nor too long by more.

use std::io;
use std::net::{IpAddr, SocketAddr};

use abx_evidence::Wait;
use abx_sys::{Nanos, Receiving, Ring, RingError, RingEvent, RingOptions};

use super::busy_wait::{BusyWait, Look};
use super::wake::Wake;
use super::{Awaits, Awake, Io, NEAR, Ready, Received, RequestId, Token, number, token};

/// Sends and connects that gather before they are handed over. More make service
/// times too long and, measured with up to 32, no request cheaper.
const GATHERED_MAX: u32 = 4;
/// More entries than gather: receives, skips and cancels each are one too.
const ENTRIES: u32 = 1024;
/// What all connections of a pool share. The kernel packs small answers into them.
const BUFFERS: u16 = 64;
const BUFFER_BYTES: u32 = 16 * 1024;

/// Moves bytes by io_uring.
pub(crate) struct UringIo {
    ring: Ring,
    /// By the engine's number for it.
    requests: Vec<abx_sys::RequestId>,
    /// Used again for each wait.
    happenings: Vec<RingEvent>,
    /// Sends and connects since the last hand-over.
    gathered: u32,
    /// Whether there is a send among them.
    has_send: bool,
    /// Whether there is a connect among them.
    has_connect: bool,
    /// What it takes to wake up, and what waits for answers; `None` to sleep instead.
    busy_wait: Option<(Wake, BusyWait)>,
    /// The last reading of the clock.
    last: Nanos,
}

impl UringIo {
    /// A ring without connections.
    ///
    /// # Errors
    /// Why the kernel gives none.
    pub(crate) fn new(receiving: Receiving, wait: Wait) -> Result<UringIo, RingError> {
        let ring = Ring::new(RingOptions {
            entries: ENTRIES,
            buffer_count: BUFFERS,
            buffer_bytes: BUFFER_BYTES,
            receiving,
        })?;
        Ok(UringIo {
            ring,
            requests: Vec::new(),
            happenings: Vec::new(),
            gathered: 0,
            has_send: false,
            has_connect: false,
            busy_wait: match wait {
                Wait::Awake => Some((Wake::measured(), BusyWait::default())),
                Wait::Asleep => None,
            },
            last: Nanos::now(),
        })
    }

    /// Counts an entry, and hands over what has gathered when that is enough.
    fn gather(&mut self) {
        self.gathered += 1;
        if self.gathered >= GATHERED_MAX {
            self.hand_over();
        }
    }

    /// Has sends leave before something is done that takes longer than they do.
    fn send_first(&mut self) {
        if self.has_send {
            self.hand_over();
        }
    }

    /// Waits for something to happen without sleeping, for as long as that serves, and
    /// reads the clock. Answers what is left of a limit.
    fn stay_awake(&mut self, until: Nanos, limit: Nanos) -> Nanos {
        let Some((wake, busy_wait)) = &mut self.busy_wait else {
            return limit;
        };
        let (ring, happenings) = (&mut self.ring, &mut self.happenings);
        let mut look = || {
            ring.wait(Some(Nanos(0)), happenings)
                .expect("looking at an open ring does not fail");
            Look {
                now: Nanos::now(),
                has_events: !happenings.is_empty(),
            }
        };
        // The first look hands over what has gathered, and is work whatever it finds.
        let first = look();
        self.last = match first.has_events {
            true => first.now,
            false => busy_wait.wait(first.now, until, wake, look),
        };
        until.since(self.last)
    }

    fn hand_over(&mut self) {
        self.gathered = 0;
        self.has_send = false;
        self.has_connect = false;
        self.ring
            .flush()
            .expect("handing over entries to an open ring does not fail");
    }
}

impl Io for UringIo {
    fn now(&mut self) -> Nanos {
        // A send that is stamped now must not wait for connects that are made first.
        if self.has_connect {
            self.hand_over();
        }
        self.last = Nanos::now();
        self.last
    }

    fn register(&mut self, bytes: Vec<u8>) -> RequestId {
        self.requests.push(self.ring.register(bytes));
        RequestId(u32::try_from(self.requests.len() - 1).expect("few requests make a load"))
    }

    fn connect(&mut self, token: Token, to: SocketAddr, from: Option<IpAddr>) -> io::Result<()> {
        self.send_first();
        self.ring.connect(number(token), to, from)?;
        self.has_connect = true;
        self.gather();
        Ok(())
    }

    fn close(&mut self, token: Token) {
        self.send_first();
        self.ring.close(number(token));
    }

    fn send(&mut self, token: Token, request: RequestId, offset: usize) -> io::Result<usize> {
        let request = self.requests[request.0 as usize];
        let taken = self.ring.send(number(token), request, offset)?;
        self.has_send = true;
        self.gather();
        Ok(taken)
    }

    fn send_bytes(&mut self, token: Token, bytes: &[u8]) -> io::Result<usize> {
        self.ring.send_bytes(number(token), bytes)
    }

    fn skip(&mut self, token: Token, bytes: u64) {
        self.ring.skip(number(token), bytes);
    }

    fn limit_receive(&mut self, token: Token, most: usize) {
        // Zero is as many as a buffer holds.
        let most = u32::try_from(most.max(1)).unwrap_or(0);
        self.ring.limit_receive(number(token), most);
    }

    fn wait(&mut self, until: Nanos, awaits: Awaits, ready: &mut Vec<Ready>) -> Nanos {
        ready.clear();
        self.gathered = 0;
        self.has_send = false;
        self.has_connect = false;
        let mut limit = until.since(self.last);
        if limit > Nanos(0) && limit < NEAR {
            limit = until.since(Nanos::now());
        }
        if awaits == Awaits::Answers && limit > Nanos(0) {
            limit = self.stay_awake(until, limit);
        }
        if self.happenings.is_empty() {
            self.ring
                .wait(Some(limit), &mut self.happenings)
                .expect("waiting on an open ring does not fail");
            self.last = Nanos::now();
        }
        ready.extend(self.happenings.drain(..).map(|happening| match happening {
            RingEvent::Connected(number) => Ready::Connected(token(number)),
            RingEvent::Unconnected(number, error) => Ready::Unconnected(token(number), error),
            RingEvent::MaySend(number) => Ready::MaySend(token(number)),
            RingEvent::Receivable(number) => Ready::Receivable(token(number)),
        }));
        self.last
    }

    fn is_acknowledged(&mut self, token: Token) -> bool {
        self.ring.is_acknowledged(number(token))
    }

    fn take_awake(&mut self) -> Awake {
        let taken = self.busy_wait.as_mut().map(|(_, waiting)| waiting.take());
        taken.unwrap_or_default()
    }

    fn receive(&mut self, token: Token) -> Received<'_> {
        match self.ring.receive(number(token)) {
            abx_sys::Received::Bytes(bytes) => Received::Bytes(bytes),
            abx_sys::Received::Skipped(bytes) => Received::Skipped(bytes),
            abx_sys::Received::Nothing => Received::Nothing,
            abx_sys::Received::Ended => Received::Ended,
            abx_sys::Received::Failed(_) => Received::Failed,
        }
    }
}
