//! A simulated WebSocket server: a rule decides how it reacts to each message.

use abx_engine::testing::Token;
use abx_sys::Nanos;
use abx_wire::http1::{self, ServerEvent};
use abx_wire::websocket::{Event, MessageKind, Offer, Server, SizeLimits};

/// A message that the server received.
pub struct HubMessage {
    /// The place of its connection.
    pub from: usize,
    pub kind: MessageKind,
    pub payload: Vec<u8>,
    /// Its number among all messages, from 0.
    pub number: usize,
    pub at: Nanos,
    /// The places of all open connections, in order.
    pub open: Vec<usize>,
}

/// A reaction to a message.
pub enum Act {
    /// Sends bytes on the connection at this place, after a delay.
    Send(usize, Vec<u8>, Nanos),
    /// Sends bytes endlessly on the connection at this place.
    Flood(usize, &'static [u8]),
    /// Closes the connection at this place, after a delay.
    Close(usize, Nanos),
}

pub type Rule = Box<dyn FnMut(HubMessage) -> Vec<Act>>;

/// The server's end of all connections.
pub struct Hub {
    rule: Rule,
    /// The response to handshakes, if they are refused.
    refusal: Option<Vec<u8>>,
    connections: Vec<Option<HubConnection>>,
    messages: usize,
    pub pongs: usize,
}

/// The server's end of one connection.
struct HubConnection {
    generation: u32,
    /// `None` until the handshake is over.
    server: Option<Server>,
    head: Vec<u8>,
    payload: Vec<u8>,
}

impl Hub {
    /// A server that accepts every WebSocket.
    pub fn new(rule: impl FnMut(HubMessage) -> Vec<Act> + 'static) -> Hub {
        Hub {
            rule: Box::new(rule),
            refusal: None,
            connections: Vec::new(),
            messages: 0,
            pongs: 0,
        }
    }

    /// A server that responds to each handshake with these bytes.
    pub fn refusing(response: &[u8]) -> Hub {
        Hub {
            refusal: Some(response.to_vec()),
            ..Hub::new(|_| Vec::new())
        }
    }

    /// A server that sends each message back.
    pub fn echoing() -> Hub {
        Hub::new(|message| vec![Act::Send(message.from, frame(&message), Nanos(0))])
    }

    /// A server that sends each message to every connection.
    pub fn broadcasting() -> Hub {
        Hub::new(|message| to_all(&message))
    }

    fn connection(&mut self, token: Token) -> &mut HubConnection {
        let place = token.slot as usize;
        if place >= self.connections.len() {
            self.connections.resize_with(place + 1, || None);
        }
        let connection = &mut self.connections[place];
        connection.take_if(|connection| connection.generation != token.generation);
        connection.get_or_insert_with(|| HubConnection {
            generation: token.generation,
            server: None,
            head: Vec::new(),
            payload: Vec::new(),
        })
    }

    /// Forgets connections that are closed.
    pub(crate) fn forget_all_but(&mut self, alive: &[Option<Token>]) {
        for (connection, token) in self.connections.iter_mut().zip(alive) {
            let generation = token.map(|token| token.generation);
            connection.take_if(|connection| Some(connection.generation) != generation);
        }
    }

    /// Takes bytes of a connection and returns the reactions.
    pub(crate) fn take(&mut self, token: Token, bytes: &[u8], at: Nanos) -> Vec<Act> {
        let place = token.slot as usize;
        let refusal = self.refusal.clone();
        let mut out = Vec::new();
        let connection = self.connection(token);
        let Some(server) = &mut connection.server else {
            connection.head.extend_from_slice(bytes);
            if connection.head.ends_with(b"\r\n\r\n") {
                match refusal {
                    Some(refusal) => out = refusal,
                    None => connection.server = Some(accept(&connection.head, &mut out)),
                }
            }
            return vec![Act::Send(place, out, Nanos(0))];
        };
        let mut bytes = bytes.to_vec();
        let mut input = &mut bytes[..];
        let (mut messages, mut pongs) = (Vec::new(), 0);
        while let Some(event) = server.receive(&mut input, &mut out) {
            match event {
                Event::Data { bytes, .. } => connection.payload.extend_from_slice(bytes),
                Event::Message(message) => {
                    messages.push((message.kind, std::mem::take(&mut connection.payload)));
                }
                Event::Pong(_) => pongs += 1,
                Event::Failed(fault) => panic!("the engine is correct: {fault}"),
                Event::Open | Event::Ping(_) | Event::Close(_) => {}
            }
        }
        self.pongs += pongs;
        let mut acts = vec![Act::Send(place, out, Nanos(0))];
        let is_open = |connection: &Option<HubConnection>| {
            let connection = connection.as_ref();
            connection.is_some_and(|connection| connection.server.is_some())
        };
        for (kind, payload) in messages {
            let connections = self.connections.iter().enumerate();
            let message = HubMessage {
                from: place,
                kind,
                payload,
                number: self.messages,
                at,
                open: connections
                    .filter(|(_, connection)| is_open(connection))
                    .map(|(place, _)| place)
                    .collect(),
            };
            self.messages += 1;
            acts.extend((self.rule)(message));
        }
        acts
    }
}

fn accept(head: &[u8], out: &mut Vec<u8>) -> Server {
    let mut parser = http1::Server::new();
    let mut input = head;
    let Some(ServerEvent::Head(head)) = parser.receive(&mut input) else {
        panic!("a handshake is a request");
    };
    let offer = Offer::read(&head).unwrap().expect("it is a handshake");
    Server::accept(&offer, SizeLimits::default(), out)
}

/// The frame that sends a message back.
pub fn frame(message: &HubMessage) -> Vec<u8> {
    let mut frame = Vec::new();
    abx_wire::websocket::message_frame(message.kind, &message.payload, &mut frame);
    frame
}

/// Sends a message to every open connection.
pub fn to_all(message: &HubMessage) -> Vec<Act> {
    let frame = frame(message);
    let open = message.open.iter();
    open.map(|to| Act::Send(*to, frame.clone(), Nanos(0)))
        .collect()
}
