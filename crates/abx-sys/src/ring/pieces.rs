//! What came in and was not asked for yet: a queue for each line, in one store.

use super::buffers::BufferSpan;

/// The end of a queue.
const NONE: u32 = u32::MAX;

/// The spans of all lines; a place that is free is used again.
#[derive(Default)]
pub(super) struct Pieces {
    places: Vec<Piece>,
    free: Vec<u32>,
}

#[derive(Clone, Copy)]
struct Piece {
    span: BufferSpan,
    next: u32,
}

/// One line's spans, oldest first.
#[derive(Debug, Clone, Copy)]
pub(super) struct Queue {
    first: u32,
    last: u32,
}

impl Queue {
    pub(super) fn new() -> Queue {
        Queue {
            first: NONE,
            last: NONE,
        }
    }

    pub(super) fn is_empty(self) -> bool {
        self.first == NONE
    }
}

impl Pieces {
    pub(super) fn push(&mut self, queue: &mut Queue, span: BufferSpan) {
        let piece = Piece { span, next: NONE };
        let at = match self.free.pop() {
            Some(at) => {
                self.places[at as usize] = piece;
                at
            }
            None => {
                self.places.push(piece);
                u32::try_from(self.places.len() - 1).expect("fewer spans than bytes of memory")
            }
        };
        if queue.is_empty() {
            queue.first = at;
        } else {
            self.places[queue.last as usize].next = at;
        }
        queue.last = at;
    }

    pub(super) fn pop(&mut self, queue: &mut Queue) -> Option<BufferSpan> {
        if queue.is_empty() {
            return None;
        }
        let at = queue.first;
        let piece = self.places[at as usize];
        self.free.push(at);
        queue.first = piece.next;
        Some(piece.span)
    }

    /// The oldest span, for taking bytes off its front.
    pub(super) fn front(&mut self, queue: Queue) -> Option<&mut BufferSpan> {
        (!queue.is_empty()).then(|| &mut self.places[queue.first as usize].span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(from: u32) -> BufferSpan {
        BufferSpan {
            buffer: 0,
            from,
            len: 1,
        }
    }

    #[test]
    fn queues_that_share_a_store_keep_their_own_order() {
        // Method: two queues filled and emptied in turns, so that places are used again.
        let mut pieces = Pieces::default();
        let (mut odd, mut even) = (Queue::new(), Queue::new());
        for round in 0..5 {
            for number in 0..10_u32 {
                let queue = if number % 2 == 1 { &mut odd } else { &mut even };
                pieces.push(queue, span(round * 10 + number));
            }
            for number in (0..10_u32).step_by(2) {
                assert_eq!(pieces.pop(&mut even), Some(span(round * 10 + number)));
                assert_eq!(pieces.pop(&mut odd), Some(span(round * 10 + number + 1)));
            }
            assert!(odd.is_empty() && even.is_empty() && pieces.pop(&mut odd).is_none());
        }
        assert_eq!(pieces.places.len(), 10);
    }
}
