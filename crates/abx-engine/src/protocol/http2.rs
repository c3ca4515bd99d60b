//! HTTP/2 requests: each on a separate stream, with responses in any order.
//!
//! A connection is open when the server's settings have come. The parser's output goes to the
//! outbox, and so do requests. The last event of a stream moves the stream's flight to the front,
//! where it ends as in any other protocol.

use abx_evidence::Outcome;
use abx_sys::Nanos;
use abx_wire::http1::{Done, ResponseKind};
use abx_wire::http2::{Client, EncodedRequest, Event, Fault, StreamFault};
use xxhash_rust::xxh3::Xxh3;

use super::contract::Protocol;
use crate::connection::slot::ConnectionUse;
use crate::protocol::check;
use crate::protocol::intake::{Intake, StreamState, note_server_times};

/// HTTP/2, with the requests of the load.
pub struct Http2 {
    requests: Vec<EncodedRequest>,
}

pub struct StreamsEnd {
    client: Client,
    outbox: Vec<u8>,
    /// The sampled streams whose responses have begun.
    sampled: Vec<SampledStream>,
}

/// A sampled response whose head has come.
struct SampledStream {
    number: u32,
    first_byte: Nanos,
    is_hashed: bool,
    hasher: Option<Box<Xxh3>>,
}

impl Http2 {
    pub fn new(requests: Vec<EncodedRequest>) -> Http2 {
        Http2 { requests }
    }
}

impl Protocol for Http2 {
    type Client = StreamsEnd;

    const HAS_HANDSHAKE: bool = true;
    const HAS_STREAMS: bool = true;

    fn client(&mut self, _: usize) -> StreamsEnd {
        let mut outbox = Vec::new();
        StreamsEnd {
            client: Client::open(&mut outbox),
            outbox,
            sampled: Vec::new(),
        }
    }

    fn is_open(end: &StreamsEnd) -> bool {
        end.client.is_open()
    }

    #[inline(always)]
    fn outbox(end: &mut StreamsEnd) -> Option<&mut Vec<u8>> {
        Some(&mut end.outbox)
    }

    fn begin_close(end: &mut StreamsEnd) {
        end.client.close(&mut end.outbox);
    }

    fn expect(_: &mut StreamsEnd, _: ResponseKind) {}

    #[inline(always)]
    fn begin_stream(&mut self, end: &mut StreamsEnd, request: usize) -> Option<u32> {
        end.client.begin(&self.requests[request], &mut end.outbox)
    }

    fn may_begin_stream(end: &StreamsEnd) -> bool {
        end.client.may_begin()
    }

    fn request_mut(&mut self, request: usize) -> Option<&mut EncodedRequest> {
        self.requests.get_mut(request)
    }

    fn has_stream_begun(end: &StreamsEnd, stream: u32) -> bool {
        end.client.has_begun(stream)
    }

    fn has_begun(_: &StreamsEnd) -> bool {
        false
    }

    fn ahead(_: &StreamsEnd) -> u64 {
        0
    }

    fn skip(_: &mut StreamsEnd, _: u64) {}

    fn take(intake: &mut Intake<'_, Http2>, input: &[u8]) -> StreamState {
        intake.take(input)
    }

    fn end(_: &mut Intake<'_, Http2>) -> StreamState {
        StreamState::Broken(Outcome::EarlyClose)
    }
}

impl Intake<'_, Http2> {
    fn take(&mut self, mut input: &[u8]) -> StreamState {
        let mut uncounted = input.len();
        let mut has_failed = false;
        loop {
            let end = &mut self.slot.client;
            let Some(event) = end.client.receive(&mut input, &mut end.outbox) else {
                break;
            };
            let ended = match event {
                Event::Head { stream, .. } => {
                    self.note_head(stream);
                    continue;
                }
                Event::Body { stream, bytes } => {
                    self.hash(stream, bytes);
                    continue;
                }
                Event::Open | Event::GoAway { .. } => continue,
                Event::Done { stream, done } => (stream, Ok(done)),
                Event::StreamFailed { stream, fault } => (stream, Err(fault)),
                Event::Failed(fault) => {
                    self.received(uncounted as u64);
                    return StreamState::Broken(if self.slot.is_idle() {
                        Outcome::Unsolicited
                    } else {
                        fault_outcome(fault)
                    });
                }
            };
            let (stream, response) = ended;
            let place = self.slot.flights.place_of(stream);
            let place = place.expect("each stream carries a flight");
            self.slot.flights.advance(place);
            self.received((uncounted - input.len()) as u64);
            uncounted = input.len();
            match response {
                Ok(done) => {
                    self.responded(stream, &done);
                    if !self.plan.keep_alive {
                        return StreamState::Over;
                    }
                }
                Err(fault) => {
                    self.drop_sampled(stream);
                    self.failed(stream_outcome(fault));
                    has_failed = true;
                }
            }
        }
        self.received(uncounted as u64);
        // Failures of one receive count as one: they had one cause.
        self.progress.failures += usize::from(has_failed);
        if self.slot.client.client.is_over() {
            self.over()
        } else {
            StreamState::More
        }
    }

    /// The end of a connection on which the server takes no more streams and has sent all its
    /// responses.
    #[cold]
    fn over(&mut self) -> StreamState {
        // A server that never responds must not get requests endlessly.
        if self.slot.usage != ConnectionUse::Used && !self.slot.flights.is_empty() {
            return StreamState::Broken(Outcome::EarlyClose);
        }
        self.tally.closing += 1;
        StreamState::Over
    }

    fn note_head(&mut self, stream: u32) {
        let mut flights = self.slot.flights.iter();
        let Some(flight) = flights.find(|flight| flight.stream == stream) else {
            return;
        };
        if !flight.sampled {
            return;
        }
        let (is_hashed, is_counted) = (flight.hashed, flight.counted);
        let end = &mut self.slot.client;
        end.sampled.push(SampledStream {
            number: stream,
            first_byte: self.now,
            is_hashed,
            hasher: None,
        });
        if is_counted {
            note_server_times(self.tally, end.client.head_text());
        }
    }

    #[inline(always)]
    fn hash(&mut self, stream: u32, bytes: &[u8]) {
        let mut sampled = self.slot.client.sampled.iter_mut();
        if let Some(sampled) = sampled.find(|sampled| sampled.number == stream) {
            let hasher = &mut sampled.hasher;
            check::hash(sampled.is_hashed, hasher, self.hashers, bytes);
        }
    }

    /// Ends the first flight, which this stream carries, with its whole response.
    fn responded(&mut self, stream: u32, done: &Done) {
        if self.slot.is_sampled()
            && let Some(sampled) = self.take_sampled(stream)
        {
            self.slot.timing.receives(sampled.first_byte);
            self.slot.hasher = sampled.hasher;
        }
        self.whole(done.body_bytes, &[], |expect, hash, tally| {
            check::outcome(expect, done, hash, tally)
        });
    }

    fn drop_sampled(&mut self, stream: u32) {
        let sampled = self.take_sampled(stream);
        if let Some(hasher) = sampled.and_then(|sampled| sampled.hasher) {
            self.hashers.give_back(hasher);
        }
    }

    fn take_sampled(&mut self, stream: u32) -> Option<SampledStream> {
        let streams = &mut self.slot.client.sampled;
        let place = streams
            .iter()
            .position(|response| response.number == stream)?;
        Some(streams.swap_remove(place))
    }
}

fn fault_outcome(fault: Fault) -> Outcome {
    match fault {
        Fault::Http1 | Fault::Tls => Outcome::OtherProtocol,
        Fault::HeadTooLarge => Outcome::HeadTooLarge,
        _ => Outcome::Malformed,
    }
}

fn stream_outcome(fault: StreamFault) -> Outcome {
    match fault {
        StreamFault::Reset(_) => Outcome::StreamReset,
        StreamFault::Malformed(_) => Outcome::Malformed,
    }
}
