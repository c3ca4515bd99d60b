//! The unfinished streams of one connection, in the order of their numbers.

use std::collections::VecDeque;
use std::sync::Arc;

use super::head::StreamHead;
use crate::http1::ResponseKind;

#[derive(Debug)]
pub(super) struct OpenStream {
    pub(super) number: u32,
    pub(super) kind: ResponseKind,
    /// The head of its response, once it has arrived.
    pub(super) head: Option<StreamHead>,
    /// Interim heads before it (1xx).
    pub(super) interim: u32,
    /// Bytes of the response's body so far.
    pub(super) body_bytes: u64,
    /// Bytes received since room was last given back.
    pub(super) taken: u32,
    /// How much of the request's body the server has room for.
    pub(super) window: i64,
    /// The request's body and how much of it was sent, if some is left.
    pub(super) unsent: Option<(Arc<[u8]>, usize)>,
}

impl OpenStream {
    /// Checks that this response may have a body of this length.
    pub(super) fn allows(&self, body_bytes: u64) -> Result<(), &'static str> {
        let Some(head) = self.head else {
            return Err("a body comes before its head");
        };
        if self.has_no_body(&head) {
            return match body_bytes {
                0 => Ok(()),
                _ => Err("a response has a body where none is allowed"),
            };
        }
        match head.content_length {
            Some(length) if body_bytes > length => Err("a body is longer than its content-length"),
            _ => Ok(()),
        }
    }

    /// Checks that the response may end here.
    pub(super) fn may_end(&self) -> Result<(), &'static str> {
        let head = self.head.filter(|head| !self.has_no_body(head));
        match head.and_then(|head| head.content_length) {
            Some(length) if length != self.body_bytes => {
                Err("a body is shorter than its content-length")
            }
            _ => Ok(()),
        }
    }

    fn has_no_body(&self, head: &StreamHead) -> bool {
        self.kind == ResponseKind::HeadOnly || matches!(head.status, 204 | 304)
    }
}

/// All open streams. The response to the oldest mostly comes first.
#[derive(Debug, Default)]
pub(super) struct Streams(VecDeque<OpenStream>);

impl Streams {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn push(&mut self, stream: OpenStream) {
        self.0.push_back(stream);
    }

    #[inline]
    pub(super) fn get(&self, number: u32) -> Option<&OpenStream> {
        self.0.iter().find(|stream| stream.number == number)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut OpenStream> {
        self.0.iter_mut().find(|stream| stream.number == number)
    }

    #[inline]
    pub(super) fn remove(&mut self, number: u32) -> Option<OpenStream> {
        let index = self.0.iter().position(|stream| stream.number == number)?;
        self.0.remove(index)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &OpenStream> {
        self.0.iter()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut OpenStream> {
        self.0.iter_mut()
    }
}
