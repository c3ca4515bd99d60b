//! One connection's state on the ring, and the table of all of them.
//!
//! A *line* is a connection from its connect until the kernel has let go of it,
//! which may be later than the caller's close. So a line's place is not used
//! again while an operation on it is under way, and no completion can be taken
//! for a later connection's.

use std::os::fd::OwnedFd;

use super::RequestId;
use super::op::{GENERATION_MAX, Op, Operation};
use super::pieces::Queue;

/// How far a line has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionStage {
    /// Nobody's.
    Free,
    Connecting,
    Open,
    /// The caller has closed it; operations are being cancelled.
    Closing,
}

/// What is under way to bring bytes in. At most one of them, so that bytes have one order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Incoming {
    /// Nothing.
    Idle,
    /// A receive into buffers.
    Receive,
    /// A receive that discards.
    Skip,
}

/// How a line's bytes came to an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamEnd {
    /// The peer sends no more.
    Ended,
    /// The connection broke, with this error number.
    Failed(i32),
}

/// What is still to be sent of a request: the bytes `offset..end`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sending {
    pub(super) request: RequestId,
    pub(super) offset: usize,
    pub(super) end: usize,
}

/// One connection.
#[derive(Debug)]
pub(super) struct RingConnection {
    pub(super) token: u64,
    /// Counts the connections that used this place, modulo 2^24.
    pub(super) generation: u32,
    pub(super) socket: Option<OwnedFd>,
    pub(super) stage: ConnectionStage,
    pub(super) incoming: Incoming,
    /// The receive under way was told to stop.
    pub(super) is_stopping: bool,
    /// It is in the list of lines that want a receive.
    pub(super) is_listed: bool,
    /// The kernel said that more bytes are there already.
    pub(super) has_more: bool,
    /// So many operations will still give a completion.
    pub(super) under_way: u32,
    /// Handed over in the batch that is being gathered; decided with its submission.
    pub(super) handed_in: Option<Sending>,
    /// In which batch `handed_in` was set.
    pub(super) batch: u64,
    /// Being sent on in the background.
    pub(super) sending: Option<Sending>,
    /// The socket took a part of what was sent at once, and will say when it takes more.
    pub(super) awaits_room: bool,
    /// The caller was refused a send and waits for a word.
    pub(super) wants_send: bool,
    /// A pull should bring at most so many bytes; zero is as many as fit.
    pub(super) most: u32,
    pub(super) pieces: Queue,
    /// So many bytes to come are to be discarded.
    pub(super) to_skip: u64,
    /// So many bytes were discarded and not reported yet.
    pub(super) skipped: u64,
    pub(super) end: Option<StreamEnd>,
    /// In which batch the caller was told of bytes.
    pub(super) told: u64,
}

impl RingConnection {
    /// Whether an entry with a send waits to be handed in, or its completion to be seen.
    pub(super) fn is_handed_in(&self, batch: u64) -> bool {
        self.handed_in.is_some() && self.batch == batch
    }

    /// Whether an earlier send is not done, though its batch is over.
    pub(super) fn is_sending(&self) -> bool {
        self.sending.is_some() || self.awaits_room
    }

    /// The kinds of operation that are under way.
    pub(super) fn kinds_under_way(&self) -> [Option<Operation>; 4] {
        let incoming = match self.incoming {
            Incoming::Idle => None,
            Incoming::Receive => Some(Operation::Receive),
            Incoming::Skip => Some(Operation::Skip),
        };
        [
            (self.stage == ConnectionStage::Connecting).then_some(Operation::Connect),
            incoming,
            self.sending.map(|_| Operation::SendOn),
            self.awaits_room.then_some(Operation::Room),
        ]
    }

    fn new() -> RingConnection {
        RingConnection {
            token: 0,
            generation: 0,
            socket: None,
            stage: ConnectionStage::Free,
            incoming: Incoming::Idle,
            is_stopping: false,
            is_listed: false,
            has_more: false,
            under_way: 0,
            handed_in: None,
            batch: 0,
            sending: None,
            awaits_room: false,
            wants_send: false,
            most: 0,
            pieces: Queue::new(),
            to_skip: 0,
            skipped: 0,
            end: None,
            told: 0,
        }
    }
}

/// All lines, and which of them each of the caller's places has now.
pub(super) struct Lines {
    lines: Vec<RingConnection>,
    free: Vec<u32>,
    /// By the low half of the token.
    places: Vec<Option<u32>>,
}

impl Lines {
    pub(super) fn new() -> Lines {
        Lines {
            lines: Vec::new(),
            free: Vec::new(),
            places: Vec::new(),
        }
    }

    /// A line for the connection that `token` names.
    ///
    /// # Panics
    /// The token's place has a connection that was not closed.
    pub(super) fn open(&mut self, token: u64, socket: OwnedFd) -> u32 {
        let place = place(token);
        if place >= self.places.len() {
            self.places.resize(place + 1, None);
        }
        assert!(
            self.places[place].is_none(),
            "one place has one connection at a time"
        );
        let at = self.free.pop().unwrap_or_else(|| {
            self.lines.push(RingConnection::new());
            u32::try_from(self.lines.len() - 1).expect("fewer lines than descriptors")
        });
        self.places[place] = Some(at);
        let line = &mut self.lines[at as usize];
        *line = RingConnection {
            token,
            generation: line.generation.wrapping_add(1) & GENERATION_MAX,
            socket: Some(socket),
            stage: ConnectionStage::Connecting,
            ..RingConnection::new()
        };
        at
    }

    /// The line of a connection that the caller has not closed.
    pub(super) fn find(&self, token: u64) -> Option<u32> {
        let at = (*self.places.get(place(token))?)?;
        (self.lines[at as usize].token == token).then_some(at)
    }

    /// The line that a completion belongs to, unless it has gone to someone else since.
    pub(super) fn of(&self, op: Op) -> Option<u32> {
        let line = self.lines.get(op.line as usize)?;
        let is_same = line.generation == op.generation && line.stage != ConnectionStage::Free;
        is_same.then_some(op.line)
    }

    pub(super) fn line(&mut self, at: u32) -> &mut RingConnection {
        &mut self.lines[at as usize]
    }

    /// The caller's close: the place is free for the next connection.
    pub(super) fn detach(&mut self, at: u32) {
        let line = &mut self.lines[at as usize];
        line.stage = ConnectionStage::Closing;
        self.places[place(line.token)] = None;
    }

    /// The kernel has let go of a line that was closed: its socket is closed here.
    pub(super) fn free(&mut self, at: u32) {
        let line = &mut self.lines[at as usize];
        line.stage = ConnectionStage::Free;
        line.socket = None;
        self.free.push(at);
    }

    /// The numbers of all lines that are or were.
    pub(super) fn numbers(&self) -> std::ops::Range<u32> {
        0..u32::try_from(self.lines.len()).expect("fewer lines than descriptors")
    }
}

fn place(token: u64) -> usize {
    usize::try_from(token & u64::from(u32::MAX)).expect("32 bits fit")
}
