//! WebSocket: messages and their echoes over connections that a handshake opens.
//!
//! The parser writes what the server must receive at once (the handshake, pongs, the response
//! to a close) to [`Talker::outbox`]; the pool sends it between messages.

use abx_evidence::{Outcome, Shape};
use abx_wire::http1::ResponseKind;
use abx_wire::websocket::{
    Client, ClientOptions, Close, CloseCode, EncodedOpening, Event, Fault, Masking, Message,
    MessageKind, NONCE_BYTES, SizeLimits,
};

use super::contract::{Lost, Protocol};
use crate::plan::LoadPlan;
use crate::protocol::check;
use crate::protocol::intake::{Intake, StreamState};
use crate::protocol::message;
use crate::random::Random;

/// A peer is given up if it causes more unsent output than this, mostly pongs, and does not read
/// it.
const UNSENT_BYTES_MAX: usize = 64 * 1024;

/// WebSocket, for all connections of one worker.
pub struct WebSocket {
    opening: EncodedOpening,
    options: ClientOptions,
    messages: Messages,
    random: Random,
    /// Messages since the last take; only for [`Messages::Received`].
    pub(crate) received: Vec<ReceivedMessage>,
    /// Connections lost since the last take; only for [`Messages::Received`].
    pub(crate) gone: Vec<Lost>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Messages {
    /// Each message is the echo of the first message in flight on its connection, of this kind.
    Echoes(MessageKind),
    /// Messages come from a speaker, and are recorded.
    Received,
    Ignored,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct ReceivedMessage {
    /// The place in the pool of the connection that received it.
    pub(crate) listener: usize,
    pub(crate) number: u64,
    pub(crate) kind: MessageKind,
    pub(crate) bytes: u64,
    /// Bytes received for it, framing included.
    pub(crate) received: u64,
}

pub struct Talker {
    socket: Client,
    index: usize,
    /// Whether a message has begun and not ended.
    has_begun: bool,
    /// Bytes of that message in earlier receives.
    earlier_bytes: u64,
    /// Unsent bytes to be sent between messages.
    outbox: Vec<u8>,
    /// Upper bound of the bytes in the outbox that the peer did not cause.
    own_bytes: usize,
}

impl WebSocket {
    /// The protocol of the connections of a load from `first` on.
    pub fn new(opening: EncodedOpening, plan: &LoadPlan, first: usize) -> WebSocket {
        let message = plan.shape.message();
        let longest = message.map_or(0, |message| u64::from(message.bytes));
        let usual = SizeLimits::default();
        WebSocket {
            opening,
            options: ClientOptions {
                limits: SizeLimits {
                    frame_bytes: usual.frame_bytes.max(longest),
                    message_bytes: usual.message_bytes.max(longest),
                },
                // Masks pongs and closes, which are few and need no secrecy.
                masking: Masking::Seeded(plan.seed),
            },
            messages: Messages::of(plan.shape),
            random: Random::new(plan.seed.wrapping_add(first as u64)),
            received: Vec::new(),
            gone: Vec::new(),
        }
    }

    /// A new key for each connection, as the standard requires.
    fn nonce(&mut self) -> [u8; NONCE_BYTES] {
        [(); NONCE_BYTES].map(|()| u8::try_from(self.random.below(256)).expect("below 256"))
    }
}

impl Messages {
    fn of(shape: Shape) -> Messages {
        match shape {
            Shape::Echo(message) => Messages::Echoes(message::frame_kind(message)),
            Shape::Broadcast(_) => Messages::Received,
            Shape::Connections { .. } | Shape::Request | Shape::Scenario => Messages::Ignored,
        }
    }
}

impl Talker {
    /// Queues unprompted output after the waiting bytes.
    pub fn send_unprompted(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let before = self.outbox.len();
        write(&mut self.outbox);
        self.own_bytes = self.own_bytes.min(before) + self.outbox.len() - before;
    }

    /// Lower bound of the waiting bytes that the peer caused.
    fn replies_bytes(&self) -> usize {
        self.outbox.len().saturating_sub(self.own_bytes)
    }
}

impl Protocol for WebSocket {
    type Client = Talker;

    const HAS_HANDSHAKE: bool = true;

    fn client(&mut self, index: usize) -> Talker {
        let mut outbox = Vec::new();
        let nonce = self.nonce();
        Talker {
            socket: Client::open(self.options, &self.opening, nonce, &mut outbox),
            index,
            has_begun: false,
            earlier_bytes: 0,
            outbox,
            own_bytes: 0,
        }
    }

    fn lost(&mut self, lost: Lost) {
        if self.messages == Messages::Received {
            self.gone.push(lost);
        }
    }

    fn is_open(talker: &Talker) -> bool {
        talker.socket.is_open()
    }

    fn outbox(talker: &mut Talker) -> Option<&mut Vec<u8>> {
        Some(&mut talker.outbox)
    }

    fn begin_close(talker: &mut Talker) {
        let close = Close {
            code: Some(CloseCode::NORMAL),
            reason: "",
        };
        // A connection that is not open, or is closing, needs no close.
        let _ = talker.socket.close(close, &mut talker.outbox);
    }

    fn expect(_: &mut Talker, _: ResponseKind) {}

    fn has_begun(talker: &Talker) -> bool {
        talker.has_begun
    }

    fn ahead(talker: &Talker) -> u64 {
        talker.socket.payload_ahead()
    }

    fn skip(talker: &mut Talker, bytes: u64) {
        talker.socket.skip(bytes);
        talker.earlier_bytes += bytes;
    }

    fn take(intake: &mut Intake<'_, WebSocket>, mut input: &[u8]) -> StreamState {
        let mut uncounted = input.len();
        loop {
            let slot = &mut *intake.slot;
            let is_hashing = slot.is_hashing();
            if slot.client.replies_bytes() > UNSENT_BYTES_MAX {
                intake.received((uncounted - input.len()) as u64);
                return StreamState::Broken(Outcome::Malformed);
            }
            let Talker { socket, outbox, .. } = &mut slot.client;
            let Some(event) = socket.receive(&mut input, outbox) else {
                break;
            };
            let parsed = match event {
                Event::Data { bytes, .. } => {
                    check::hash(is_hashing, &mut slot.hasher, intake.hashers, bytes);
                    slot.client.has_begun = true;
                    continue;
                }
                Event::Open => {
                    // The handshake's response belongs to no message.
                    uncounted = input.len();
                    continue;
                }
                Event::Ping(_) | Event::Pong(_) => continue,
                Event::Message(message) => {
                    let received = (uncounted - input.len()) as u64;
                    let after = intake.after_last(&mut input);
                    uncounted = input.len();
                    if after == Some(AfterLast::Message) {
                        // Unrequested bytes came after the echo, so it is not correct.
                        StreamState::Broken(Outcome::Malformed)
                    } else if let Err(outcome) = intake.message(&message, received) {
                        StreamState::Broken(outcome)
                    } else if let Some(AfterLast::End(outcome)) = after {
                        StreamState::Broken(outcome)
                    } else {
                        continue;
                    }
                }
                Event::Close(_) => StreamState::Broken(Outcome::EarlyClose),
                Event::Failed(fault) => StreamState::Broken(fault_outcome(fault)),
            };
            intake.received(uncounted as u64);
            return parsed;
        }
        intake.received(uncounted as u64);
        intake.slot.client.earlier_bytes += uncounted as u64;
        intake.note_first_byte(&[]);
        StreamState::More
    }

    fn end(_: &mut Intake<'_, WebSocket>) -> StreamState {
        StreamState::Broken(Outcome::EarlyClose)
    }
}

/// The event after the echo of the last message in flight, in the same bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AfterLast {
    /// An unrequested message, or its beginning.
    Message,
    End(Outcome),
}

impl Intake<'_, WebSocket> {
    /// The event after a received message, if that is the last awaited echo. Pings and pongs do
    /// not matter.
    fn after_last(&mut self, input: &mut &[u8]) -> Option<AfterLast> {
        let is_echo = matches!(self.protocol.messages, Messages::Echoes(_));
        if input.is_empty() || !is_echo || self.slot.flights.len() != 1 {
            return None;
        }
        let Talker { socket, outbox, .. } = &mut self.slot.client;
        loop {
            return Some(match socket.receive(input, outbox)? {
                Event::Open | Event::Ping(_) | Event::Pong(_) => continue,
                Event::Data { .. } | Event::Message(_) => AfterLast::Message,
                Event::Close(_) => AfterLast::End(Outcome::EarlyClose),
                Event::Failed(fault) => AfterLast::End(fault_outcome(fault)),
            });
        }
    }

    /// Handles a whole message, whose last `received` bytes came now.
    ///
    /// # Errors
    /// The outcome of the connection if no sent message awaits this echo.
    fn message(&mut self, message: &Message, received: u64) -> Result<(), Outcome> {
        self.slot.client.has_begun = false;
        let earlier_bytes = std::mem::take(&mut self.slot.client.earlier_bytes);
        match self.protocol.messages {
            Messages::Ignored => Ok(()),
            Messages::Received => {
                let Some(number) = message::number(message.beginning()) else {
                    // The speaker sends no such message. Kept until the end of the turn,
                    // messages of two bytes would take many times their size.
                    self.tally.out_of_order += 1;
                    return Ok(());
                };
                self.protocol.received.push(ReceivedMessage {
                    listener: self.slot.client.index,
                    number,
                    kind: message.kind,
                    bytes: message.bytes,
                    received: earlier_bytes + received,
                });
                Ok(())
            }
            Messages::Echoes(kind) => {
                self.received(received);
                self.echo(message, kind)
            }
        }
    }

    /// Handles the echo of the first message in flight.
    fn echo(&mut self, message: &Message, kind: MessageKind) -> Result<(), Outcome> {
        let bytes = self.encoded[self.slot.sending].bytes;
        let was_sent = self.slot.handed > 0
            && (self.slot.unsent_bytes == 0 || self.slot.has_sent_first(bytes));
        if self.slot.flights.is_empty() {
            return Err(Outcome::Unsolicited);
        }
        if !was_sent {
            return Err(Outcome::Malformed);
        }
        self.whole(message.bytes, &[], |expect, hash, _| {
            if message.kind == kind {
                check::body(expect, message.bytes, hash)
            } else {
                // A text message and a binary message with the same bytes differ.
                Outcome::WrongBody
            }
        });
        Ok(())
    }
}

fn fault_outcome(fault: Fault) -> Outcome {
    match fault {
        Fault::Refused(_) => Outcome::WrongStatus,
        Fault::ClosedEarly => Outcome::EarlyClose,
        Fault::HeadTooLarge => Outcome::HeadTooLarge,
        Fault::OtherProtocol(_) => Outcome::OtherProtocol,
        _ => Outcome::Malformed,
    }
}
