//! Bytes that have arrived at the engine's end of one connection, pulled in turns.

use std::collections::VecDeque;
use std::sync::Arc;

use abx_engine::testing::{TURN_BYTES, Turn};
use abx_sys::Nanos;

/// The most that one pull of endless bytes brings.
const ENDLESS_PULL_BYTES: usize = 16 * 1024;
/// The time that receiving them takes, per byte.
const ENDLESS_BYTE: Nanos = Nanos(20);

pub(crate) enum TcpSegment {
    Bytes(Vec<u8>),
    /// These bytes endlessly, from this place on.
    Endless {
        bytes: Arc<[u8]>,
        place: usize,
    },
    End,
    Break,
}

/// Segments that arrived and were not pulled.
pub(crate) struct Inbox {
    segments: VecDeque<TcpSegment>,
    /// Whether nothing is pulled until the connection is listed again.
    has_had_turn: bool,
    turn: Turn,
    to_skip: u64,
    pull_max: usize,
}

pub(crate) enum Pull {
    Bytes(PulledBytes),
    Nothing,
    Ended,
    Failed,
}

pub(crate) struct PulledBytes {
    pub(crate) bytes: Vec<u8>,
    pub(crate) are_skipped: bool,
    /// How long receiving took; zero unless the bytes are endless.
    pub(crate) took: Nanos,
    pub(crate) end_turn: bool,
}

impl Inbox {
    pub(crate) fn new() -> Inbox {
        Inbox {
            segments: VecDeque::new(),
            has_had_turn: false,
            turn: Turn::whole(),
            to_skip: 0,
            pull_max: usize::MAX,
        }
    }

    pub(crate) fn arrives(&mut self, segment: TcpSegment) {
        self.segments.push_back(segment);
        self.begin_turn();
    }

    /// Whether its turn is over.
    pub(crate) fn has_had_turn(&self) -> bool {
        self.has_had_turn
    }

    pub(crate) fn begin_turn(&mut self) {
        (self.has_had_turn, self.turn) = (false, Turn::whole());
    }

    pub(crate) fn skip(&mut self, bytes: u64) {
        assert_eq!(self.to_skip, 0, "one skip at a time");
        self.to_skip = bytes;
    }

    pub(crate) fn limit(&mut self, most: usize) {
        self.pull_max = most.max(1);
    }

    pub(crate) fn pull(&mut self) -> Pull {
        if self.has_had_turn {
            return Pull::Nothing;
        }
        let are_skipped = self.to_skip > 0;
        let most = if are_skipped {
            usize::try_from(self.to_skip).unwrap_or(usize::MAX)
        } else {
            self.pull_max
        };
        let (bytes, took) = match self.segments.front_mut() {
            None => {
                self.has_had_turn = true;
                return Pull::Nothing;
            }
            Some(TcpSegment::End) => return Pull::Ended,
            Some(TcpSegment::Break) => return Pull::Failed,
            Some(TcpSegment::Bytes(bytes)) => {
                let rest = bytes.split_off(most.min(TURN_BYTES).min(bytes.len()));
                (std::mem::replace(bytes, rest), Nanos(0))
            }
            Some(TcpSegment::Endless { bytes, place }) => {
                let count = most.min(ENDLESS_PULL_BYTES);
                let end = *place + count;
                let copies = bytes.repeat(end.div_ceil(bytes.len()));
                let pulled = copies[*place..end].to_vec();
                *place = end % bytes.len();
                (pulled, Nanos(ENDLESS_BYTE.0 * count as u64))
            }
        };
        if let Some(TcpSegment::Bytes(rest)) = self.segments.front()
            && rest.is_empty()
        {
            self.segments.pop_front();
        }
        if are_skipped {
            self.to_skip -= bytes.len() as u64;
        }
        self.has_had_turn = self.turn.spend(bytes.len());
        Pull::Bytes(PulledBytes {
            end_turn: self.has_had_turn,
            bytes,
            are_skipped,
            took,
        })
    }
}
