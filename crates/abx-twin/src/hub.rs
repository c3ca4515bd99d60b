//! A simulated WebSocket server: a rule decides how it reacts to each message.

use abx_engine::testing::Token;
use abx_sys::Nanos;
use abx_wire::http1::{self, ServerEvent};
use abx_wire::websocket::{Event, MessageKind, Offer, Server, SizeLimits};

/// A message that the server got.
pub struct HubMessage {
    /// The place of the connection that it came on.
    pub from: usize,
    pub kind: MessageKind,
    pub payload: Vec<u8>,
    /// Which message of all it is, from 0.
    pub number: usize,
    pub at: Nanos,
    /// The places of all connections that are open, in their order.
    pub open: Vec<usize>,
}

/// A reaction to a message.
pub enum Act {
    /// Sends bytes on the connection at this place, after a while.
    Send(usize, Vec<u8>, Nanos),
    /// Sends bytes again and again on the connection at this place.
    Flood(usize, &'static [u8]),
    /// Closes the connection at this place, after a while.
    Close(usize, Nanos),
}

pub type Rule = Box<dyn FnMut(HubMessage) -> Vec<Act>>;

/// The server's end of all connections.
pub struct Hub {
    rule: Rule,
    /// The response to a handshake in place of accepting it.
    refusal: Option<Vec<u8>>,
    connections: Vec<Option<HubConnection>>,
    messages: usize,
    pub pongs: usize,
}

/// The server's end of one connection.
struct HubConnection {
    generation: u32,
    /// `None` until the handshake is done.
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
        Hub::new(|hub_message| vec![Act::Send(hub_message.from, frame(&hub_message), Nanos(0))])
    }

    /// A server that sends each message to every connection.
    pub fn broadcasting() -> Hub {
        Hub::new(|hub_message| to_all(&hub_message))
    }

    fn connection(&mut self, token: Token) -> &mut HubConnection {
        let place = token.slot as usize;
        if place >= self.connections.len() {
            self.connections.resize_with(place + 1, || None);
        }
        let connection = &mut self.connections[place];
        if connection
            .as_ref()
            .is_none_or(|hub_connection| hub_connection.generation != token.generation)
        {
            *connection = Some(HubConnection {
                generation: token.generation,
                server: None,
                head: Vec::new(),
                payload: Vec::new(),
            });
        }
        connection.as_mut().expect("it was just made")
    }

    /// Forgets connections that are closed.
    pub(crate) fn forget_all_but(&mut self, alive: &[Option<Token>]) {
        for (connection, token) in self.connections.iter_mut().zip(alive) {
            let is_same = |hub_connection: &mut HubConnection| {
                token.is_some_and(|token| token.generation == hub_connection.generation)
            };
            connection.take_if(|hub_connection| !is_same(hub_connection));
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
        let (mut whole, mut pongs) = (Vec::new(), 0);
        while let Some(event) = server.receive(&mut input, &mut out) {
            match event {
                Event::Data { bytes, .. } => connection.payload.extend_from_slice(bytes),
                Event::Message(message) => {
                    whole.push((message.kind, std::mem::take(&mut connection.payload)));
                }
                Event::Pong(_) => pongs += 1,
                Event::Failed(fault) => panic!("the engine is correct: {fault}"),
                Event::Open | Event::Ping(_) | Event::Close(_) => {}
            }
        }
        self.pongs += pongs;
        let mut acts = vec![Act::Send(place, out, Nanos(0))];
        for (kind, payload) in whole {
            let connections = self.connections.iter().enumerate();
            let is_open = |connection: &Option<HubConnection>| {
                connection
                    .as_ref()
                    .is_some_and(|hub_connection| hub_connection.server.is_some())
            };
            let hub_message = HubMessage {
                from: place,
                kind,
                payload,
                number: self.messages,
                at,
                open: connections
                    .filter(|(_, connection)| is_open(connection))
                    .map(|(at, _)| at)
                    .collect(),
            };
            self.messages += 1;
            acts.extend((self.rule)(hub_message));
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
pub fn frame(hub_message: &HubMessage) -> Vec<u8> {
    let mut frame = Vec::new();
    abx_wire::websocket::message_frame(hub_message.kind, &hub_message.payload, &mut frame);
    frame
}

/// Sends a message to every open connection.
pub fn to_all(hub_message: &HubMessage) -> Vec<Act> {
    let frame = frame(hub_message);
    let open = hub_message.open.iter();
    open.map(|to| Act::Send(*to, frame.clone(), Nanos(0)))
        .collect()
}
