//! The streams that a client has begun and whose responses have not ended, and those that
//! have just ended.

use std::collections::VecDeque;

/// How many of the last ended streams are remembered, to judge frames that a client still sends
/// there.
const ENDED_KEPT: usize = 256;

/// One request and the sending of its response.
#[derive(Debug)]
pub(super) struct ServedStream {
    pub(super) number: u32,
    /// Whether the request has ended.
    pub(super) is_whole: bool,
    /// The length of the request's body, if it is announced.
    pub(super) announced: Option<u64>,
    /// Bytes of the request's body so far.
    pub(super) body_bytes: u64,
    /// Bytes received since room was last given back.
    pub(super) taken: u32,
    /// How much of the response's body the client has room for.
    pub(super) window: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamEnd {
    /// The response was sent to its end.
    Responded,
    /// The client has reset it.
    Given,
    /// We have reset it; frames that were under way may still arrive.
    Refused,
}

/// All streams in the order of their numbers, which rise.
#[derive(Debug, Default)]
pub(super) struct ServedStreams {
    open: VecDeque<ServedStream>,
    ended: VecDeque<(u32, StreamEnd)>,
}

impl ServedStreams {
    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Begins a stream, whose number is above those of all others.
    pub(super) fn begin(&mut self, stream: ServedStream) {
        self.open.push_back(stream);
    }

    pub(super) fn get(&self, number: u32) -> Option<&ServedStream> {
        self.open.get(self.index(number)?)
    }

    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut ServedStream> {
        let index = self.index(number)?;
        self.open.get_mut(index)
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut ServedStream> {
        self.open.iter_mut()
    }

    /// Ends a stream, and returns whether it was open.
    pub(super) fn end(&mut self, number: u32, end: StreamEnd) -> bool {
        let removed = self.index(number).and_then(|index| self.open.remove(index));
        if removed.is_some() {
            self.note(number, end);
        }
        removed.is_some()
    }

    /// Remembers how a stream ended, even if it was never opened.
    pub(super) fn note(&mut self, number: u32, end: StreamEnd) {
        if self.ended.len() == ENDED_KEPT {
            self.ended.pop_front();
        }
        self.ended.push_back((number, end));
    }

    /// How a stream that is no longer open ended, if that is not too long ago.
    pub(super) fn how_ended(&self, number: u32) -> Option<StreamEnd> {
        let mut last_first = self.ended.iter().rev();
        let pair = last_first.find(|(ended, _)| *ended == number);
        pair.map(|(_, end)| *end)
    }

    /// The index of an open stream, which is mostly the oldest.
    fn index(&self, number: u32) -> Option<usize> {
        if self.open.front()?.number == number {
            return Some(0);
        }
        let result = self
            .open
            .binary_search_by_key(&number, |stream| stream.number);
        result.ok()
    }
}
