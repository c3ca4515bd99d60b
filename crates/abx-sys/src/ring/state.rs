//! What the completions mean: lines, bytes that wait, and what to ask for next.
//!
//! No call here reaches the kernel; `Ring` moves entries between this and it.

use std::io;

use io_uring::cqueue;

use super::RingEvent;
use super::buffers::{BufferSpan, Buffers};
use super::line::{ConnectionStage, Incoming, Lines, Sending, StreamEnd};
use super::op::{Op, Operation};
use super::pieces::Pieces;

/// Everything about a ring but the queues that the kernel shares.
pub(super) struct RingState {
    pub(super) lines: Lines,
    pub(super) buffers: Buffers,
    pub(super) pieces: Pieces,
    /// What the caller will be told next.
    pub(super) news: Vec<RingEvent>,
    /// Lines that want a receive.
    pub(super) wanting: Vec<u32>,
    /// Lines whose request was taken in part and is to be sent on.
    pub(super) sending: Vec<u32>,
    /// Operations to be cancelled.
    pub(super) cancels: Vec<Op>,
    /// Lines to be freed when nothing of them is under way any more.
    pub(super) closing: Vec<u32>,
    /// Lines that were refused a send because of one in the same batch.
    pub(super) refused: Vec<u32>,
    /// Counts the waits, from 1 on.
    pub(super) batch: u64,
    /// So many operations will still give a completion.
    pub(super) under_way: usize,
}

impl RingState {
    pub(super) fn new(buffers: Buffers) -> RingState {
        RingState {
            lines: Lines::new(),
            buffers,
            pieces: Pieces::default(),
            news: Vec::new(),
            wanting: Vec::new(),
            sending: Vec::new(),
            cancels: Vec::new(),
            closing: Vec::new(),
            refused: Vec::new(),
            batch: 1,
            under_way: 0,
        }
    }

    /// Takes note of one completion.
    pub(super) fn complete(&mut self, entry: &cqueue::Entry) {
        let (result, flags) = (entry.result(), entry.flags());
        let op = Op::from_bits(entry.user_data());
        let home = op.and_then(|op| Some((self.lines.of(op)?, op.kind)));
        let Some((at, kind)) = home else {
            // A cancel that came too late, its line being gone: no other
            // operation outlives its line. A buffer is never lost all the same.
            self.drop_buffer(result, flags);
            return;
        };
        match kind {
            Operation::Cancel => {}
            Operation::Connect => self.connect_done(at, result),
            Operation::Receive => self.receive_done(at, result, flags),
            Operation::Skip => self.skip_done(at, result, flags),
            Operation::Send => self.send_fell_short(at, result),
            Operation::SendOn => self.send_on_done(at, result),
            Operation::Room => self.has_room(at),
        }
    }

    /// Lists a line for a receive with the next wait, if it may have one.
    pub(super) fn want(&mut self, at: u32) {
        let line = self.lines.line(at);
        let may = line.stage == ConnectionStage::Open && line.incoming == Incoming::Idle;
        if may && line.end.is_none() && !line.is_listed {
            line.is_listed = true;
            self.wanting.push(at);
        }
    }

    /// Notes an operation that will give a completion.
    pub(super) fn begun(&mut self, at: u32) {
        self.lines.line(at).under_way += 1;
        self.under_way += 1;
    }

    /// The caller's close.
    pub(super) fn close(&mut self, at: u32) {
        self.drop_pieces(at);
        let line = self.lines.line(at);
        // What an early look at the completions has found is not news any more.
        self.news
            .retain(|happening| happening.token() != line.token);
        for kind in line.kinds_under_way().into_iter().flatten() {
            self.cancels.push(Op {
                line: at,
                generation: line.generation,
                kind,
            });
        }
        // SUBTLE: An entry that was not handed in yet names the socket by its
        // number, which must not become another socket's before.
        let is_in_use = line.under_way > 0 || line.is_handed_in(self.batch);
        self.lines.detach(at);
        if !is_in_use {
            self.lines.free(at);
        } else {
            self.closing.push(at);
        }
    }

    /// Ends a batch: all that was handed in has been decided, all completions are in.
    pub(super) fn end_batch(&mut self) {
        self.batch += 1;
        while let Some(at) = self.closing.pop() {
            self.free_when_done(at);
        }
        for at in std::mem::take(&mut self.refused) {
            self.tell_may_send(at);
        }
    }

    /// Asks for the next `bytes` of a line to be discarded.
    pub(super) fn skip(&mut self, at: u32, bytes: u64) {
        self.lines.line(at).to_skip += bytes;
        self.skip_pieces(at);
        let line = self.lines.line(at);
        let is_worth_it = line.to_skip >= STOP_WORTH && line.incoming == Incoming::Receive;
        if is_worth_it && !line.is_stopping {
            line.is_stopping = true;
            let op = Op {
                line: at,
                generation: line.generation,
                kind: Operation::Receive,
            };
            self.cancels.push(op);
        }
    }

    fn connect_done(&mut self, at: u32, result: i32) {
        self.ended(at);
        let line = self.lines.line(at);
        let token = line.token;
        if line.stage == ConnectionStage::Closing {
            self.free_when_done(at);
        } else if result < 0 {
            let error = io::Error::from_raw_os_error(-result);
            self.lines.detach(at);
            self.lines.free(at);
            self.news.push(RingEvent::Unconnected(token, error));
        } else {
            line.stage = ConnectionStage::Open;
            self.news.push(RingEvent::Connected(token));
            self.want(at);
        }
    }

    fn receive_done(&mut self, at: u32, result: i32, flags: u32) {
        if !cqueue::more(flags) {
            self.ended(at);
            let line = self.lines.line(at);
            line.incoming = Incoming::Idle;
            line.is_stopping = false;
        }
        let line = self.lines.line(at);
        line.has_more = cqueue::sock_nonempty(flags);
        if line.stage == ConnectionStage::Closing || result <= 0 {
            self.drop_buffer(result, flags);
        }
        if result > 0 {
            if self.lines.line(at).stage == ConnectionStage::Open {
                self.deliver(at, result, flags);
            }
        } else {
            self.receive_ended(at, result);
        }
        self.want(at);
        self.free_when_done(at);
    }

    fn skip_done(&mut self, at: u32, result: i32, flags: u32) {
        self.ended(at);
        let line = self.lines.line(at);
        line.incoming = Incoming::Idle;
        line.has_more = cqueue::sock_nonempty(flags);
        if result > 0 {
            let count = u64::from(result.unsigned_abs());
            assert!(count <= line.to_skip, "no more is discarded than was asked");
            line.to_skip -= count;
            line.skipped += count;
            self.tell_receivable(at);
        } else {
            self.receive_ended(at, result);
        }
        self.want(at);
        self.free_when_done(at);
    }

    /// A receive came to an end without bytes: for good, or only to be asked for again.
    fn receive_ended(&mut self, at: u32, result: i32) {
        let end = match -result {
            0 => StreamEnd::Ended,
            // Out of buffers, told to stop, or interrupted.
            libc::ENOBUFS | libc::ECANCELED | libc::EINTR | libc::EAGAIN => return,
            number => StreamEnd::Failed(number),
        };
        self.end(at, end);
    }

    /// Notes an end, to be told behind the bytes before it.
    pub(super) fn end(&mut self, at: u32, end: StreamEnd) {
        let line = self.lines.line(at);
        if line.stage == ConnectionStage::Open && line.end.is_none() {
            line.end = Some(end);
            self.tell_receivable(at);
        }
    }

    /// A request was not taken whole at the first try: the rest follows in the background.
    fn send_fell_short(&mut self, at: u32, result: i32) {
        let line = self.lines.line(at);
        if line.stage != ConnectionStage::Open {
            return;
        }
        let Some(mut rest) = line.handed_in.take() else {
            return;
        };
        match result {
            0.. => rest.offset += result.unsigned_abs() as usize,
            _ if -result == libc::EAGAIN || -result == libc::EINTR => {}
            _ => return self.end(at, StreamEnd::Failed(-result)),
        }
        line.sending = Some(rest);
        self.sending.push(at);
    }

    fn send_on_done(&mut self, at: u32, result: i32) {
        self.ended(at);
        let line = self.lines.line(at);
        let sending = line.sending.take();
        if line.stage == ConnectionStage::Open {
            let rest = sending.expect("a send goes on until it is done");
            match result {
                0.. => self.sent_on(at, rest, result.unsigned_abs() as usize),
                _ if -result == libc::EINTR || -result == libc::EAGAIN => self.sent_on(at, rest, 0),
                _ => self.end(at, StreamEnd::Failed(-result)),
            }
        }
        self.free_when_done(at);
    }

    /// Room, or an error that the next send will show.
    fn has_room(&mut self, at: u32) {
        self.ended(at);
        self.lines.line(at).awaits_room = false;
        self.tell_may_send(at);
        self.free_when_done(at);
    }

    fn sent_on(&mut self, at: u32, mut rest: Sending, count: usize) {
        rest.offset += count;
        if rest.offset < rest.end {
            self.lines.line(at).sending = Some(rest);
            self.sending.push(at);
        } else {
            self.tell_may_send(at);
        }
    }

    /// Adds bytes that came in to a line's queue, but for those to be skipped.
    fn deliver(&mut self, at: u32, result: i32, flags: u32) {
        let buffer = cqueue::buffer_select(flags).expect("bytes come in a buffer");
        let more = cqueue::buffer_more(flags);
        let span = self.buffers.filled(buffer, result.unsigned_abs(), more);
        let line = self.lines.line(at);
        self.pieces.push(&mut line.pieces, span);
        if line.to_skip > 0 {
            self.skip_pieces(at);
        }
        self.tell_receivable(at);
    }

    /// Takes bytes to be skipped off the front of a line's queue.
    fn skip_pieces(&mut self, at: u32) {
        let line = self.lines.line(at);
        while line.to_skip > 0 {
            let Some(span) = self.pieces.front(line.pieces) else {
                return;
            };
            let all = u64::from(span.len);
            let count = u32::try_from(all.min(line.to_skip)).expect("no more than a span");
            line.to_skip -= u64::from(count);
            line.skipped += u64::from(count);
            if count < span.len {
                span.from += count;
                span.len -= count;
            } else if let Some(span) = self.pieces.pop(&mut line.pieces) {
                self.buffers.give_back(span.buffer);
            }
        }
    }

    fn drop_pieces(&mut self, at: u32) {
        let line = self.lines.line(at);
        while let Some(BufferSpan { buffer, .. }) = self.pieces.pop(&mut line.pieces) {
            self.buffers.give_back(buffer);
        }
    }

    /// Gives back the buffer of a completion that nobody waits for.
    fn drop_buffer(&mut self, result: i32, flags: u32) {
        if let Some(buffer) = cqueue::buffer_select(flags) {
            let len = u32::try_from(result).unwrap_or(0);
            self.buffers.filled(buffer, len, cqueue::buffer_more(flags));
            self.buffers.give_back(buffer);
        }
    }

    fn tell_receivable(&mut self, at: u32) {
        let batch = self.batch;
        let line = self.lines.line(at);
        if line.stage == ConnectionStage::Open && line.told != batch {
            line.told = batch;
            self.news.push(RingEvent::Receivable(line.token));
        }
    }

    fn tell_may_send(&mut self, at: u32) {
        let line = self.lines.line(at);
        if line.stage == ConnectionStage::Open && line.wants_send && !line.is_sending() {
            line.wants_send = false;
            self.news.push(RingEvent::MaySend(line.token));
        }
    }

    /// Notes that an operation gave its last completion.
    fn ended(&mut self, at: u32) {
        self.lines.line(at).under_way -= 1;
        self.under_way -= 1;
    }

    fn free_when_done(&mut self, at: u32) {
        let batch = self.batch;
        let line = self.lines.line(at);
        let is_done = line.under_way == 0 && !line.is_handed_in(batch);
        if line.stage == ConnectionStage::Closing && is_done {
            self.lines.free(at);
        }
    }
}

/// From so many bytes on it pays to stop a receive that is under way, which
/// costs two entries and a wait, rather than to let it copy them.
const STOP_WORTH: u64 = 128 * 1024;
