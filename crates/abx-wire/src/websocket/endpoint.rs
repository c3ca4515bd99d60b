//! The common part of both sides after the handshake.

use super::bytes::Bytes;
use super::close::Close;
use super::event::{Event, MessageKind};
use super::fault::Fault;
use super::frame::{Opcode, Sender};
use super::inbound::{Inbound, InboundStep, SizeLimits};
use super::mask::Masking;
use super::outbound::{FragmentPlace, NotOpen, Outbound};

/// One side of a connection.
#[derive(Debug)]
pub(super) struct Endpoint {
    inbound: Inbound,
    outbound: Outbound,
    state: EndpointState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EndpointState {
    Open,
    /// We have sent a close and await the peer's.
    Closing,
    /// Both sides have sent a close.
    Closed,
    Broken,
}

impl Endpoint {
    pub(super) fn client(limits: SizeLimits, masking: Masking) -> Endpoint {
        Endpoint {
            inbound: Inbound::new(Sender::Server, limits),
            outbound: Outbound::Client {
                masking,
                is_inside_message: false,
            },
            state: EndpointState::Open,
        }
    }

    pub(super) fn server(limits: SizeLimits) -> Endpoint {
        Endpoint {
            inbound: Inbound::new(Sender::Client, limits),
            outbound: Outbound::Server {
                is_inside_message: false,
            },
            state: EndpointState::Open,
        }
    }

    pub(super) fn receive<'s, 'i: 's>(
        &'s mut self,
        bytes: &mut Bytes<'i>,
        out: &mut Vec<u8>,
    ) -> Option<Event<'s>> {
        if matches!(self.state, EndpointState::Closed | EndpointState::Broken) {
            bytes.clear();
            return None;
        }
        match self.inbound.next(bytes) {
            Ok(InboundStep::More) => None,
            Ok(InboundStep::Data { kind, bytes }) => Some(Event::Data { kind, bytes }),
            Ok(InboundStep::Message(message)) => Some(Event::Message(message)),
            Ok(InboundStep::Control(opcode)) => Some(self.control(opcode, out)),
            Err(fault) => Some(fail(&mut self.state, &mut self.outbound, fault, out)),
        }
    }

    fn control(&mut self, opcode: Opcode, out: &mut Vec<u8>) -> Event<'_> {
        let payload = self.inbound.control();
        match opcode {
            Opcode::Ping => {
                // After our close nothing may follow.
                if self.state == EndpointState::Open {
                    self.outbound.control(Opcode::Pong, payload, out);
                }
                Event::Ping(payload)
            }
            Opcode::Pong => Event::Pong(payload),
            Opcode::Close => match Close::read(payload) {
                Ok(close) => {
                    if self.state == EndpointState::Open {
                        let response = Close {
                            reason: "",
                            ..close
                        };
                        self.outbound.close(response, out);
                    }
                    self.state = EndpointState::Closed;
                    Event::Close(close)
                }
                Err(fault) => fail(&mut self.state, &mut self.outbound, fault, out),
            },
            Opcode::Continuation | Opcode::Data(_) => {
                unreachable!("only control frames come here")
            }
        }
    }

    pub(super) fn eof(&mut self) -> Option<Event<'static>> {
        match self.state {
            EndpointState::Closed | EndpointState::Broken => None,
            EndpointState::Open | EndpointState::Closing => {
                self.state = EndpointState::Broken;
                Some(Event::Failed(Fault::ClosedEarly))
            }
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.state == EndpointState::Open
    }

    pub(super) fn is_closed(&self) -> bool {
        self.state == EndpointState::Closed
    }

    pub(super) fn payload_ahead(&self) -> u64 {
        match self.state {
            EndpointState::Open | EndpointState::Closing => self.inbound.payload_ahead(),
            EndpointState::Closed | EndpointState::Broken => 0,
        }
    }

    pub(super) fn skip(&mut self, bytes: u64) {
        self.inbound.skip(bytes);
    }

    pub(super) fn send_fragment(
        &mut self,
        kind: MessageKind,
        payload: &[u8],
        place: FragmentPlace,
        out: &mut Vec<u8>,
    ) -> Result<(), NotOpen> {
        self.check_open()?;
        self.outbound.fragment(kind, payload, place, out);
        Ok(())
    }

    pub(super) fn ping(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<(), NotOpen> {
        self.check_open()?;
        self.outbound.control(Opcode::Ping, payload, out);
        Ok(())
    }

    pub(super) fn close(&mut self, close: Close<'_>, out: &mut Vec<u8>) -> Result<(), NotOpen> {
        self.check_open()?;
        self.outbound.close(close, out);
        self.state = EndpointState::Closing;
        Ok(())
    }

    fn check_open(&self) -> Result<(), NotOpen> {
        match self.state {
            EndpointState::Open => Ok(()),
            EndpointState::Closing | EndpointState::Closed | EndpointState::Broken => Err(NotOpen),
        }
    }
}

/// Ends the connection, and sends the peer the reason if that is still possible.
fn fail(
    state: &mut EndpointState,
    outbound: &mut Outbound,
    fault: Fault,
    out: &mut Vec<u8>,
) -> Event<'static> {
    if *state == EndpointState::Open && fault.close_code().is_some() {
        let code = fault.close_code();
        outbound.close(Close { code, reason: "" }, out);
    }
    *state = EndpointState::Broken;
    Event::Failed(fault)
}
