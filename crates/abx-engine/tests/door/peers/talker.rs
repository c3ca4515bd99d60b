//! A peer that uses WebSocket, correctly or not.

use std::io::Write;
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use abx_wire::http1::{self, ServerEvent};
use abx_wire::websocket::{Event, MessageKind, Offer, Server, SizeLimits, message_frame};

use crate::peers::peer::{Connection, Peer};

/// A received message.
pub struct ReceivedMessage {
    pub kind: MessageKind,
    pub payload: Vec<u8>,
    /// The number of the message on its connection, from 0.
    pub number: usize,
}

/// The reaction to a message: it writes the bytes to send, and returns whether the
/// connection continues.
pub trait Reply: Fn(&mut Server, ReceivedMessage, &mut Vec<u8>) -> bool {}

impl<F: Fn(&mut Server, ReceivedMessage, &mut Vec<u8>) -> bool> Reply for F {}

/// Sends each message back.
pub fn echo(server: &mut Server, message: ReceivedMessage, out: &mut Vec<u8>) -> bool {
    server.send(message.kind, &message.payload, out).is_ok()
}

/// Accepts every WebSocket and replies to each message.
pub fn talking(reply: impl Reply + Send + Sync + 'static) -> Peer {
    Peer::start(move |mut connection| {
        if let Some(server) = accept(&mut connection) {
            talk(&mut connection, server, &reply);
        }
    })
}

/// Accepts every WebSocket, and sends each message to all of them.
pub fn room() -> Peer {
    let members: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
    Peer::start(move |mut connection| {
        // Under the lock, so that each accepted connection is a member before any message is sent.
        let mut tcp_streams = members.lock().unwrap();
        let Some(server) = accept(&mut connection) else {
            return;
        };
        tcp_streams.push(connection.sender());
        drop(tcp_streams);
        talk(
            &mut connection,
            server,
            &|_: &mut Server, message: ReceivedMessage, _: &mut Vec<u8>| {
                let mut frame = Vec::new();
                message_frame(message.kind, &message.payload, &mut frame);
                // Under the lock, so that all have the messages in one order.
                let members = members.lock().unwrap();
                // A connection that has gone receives nothing.
                members
                    .iter()
                    .for_each(|mut member| drop(member.write_all(&frame)));
                true
            },
        );
    })
}

/// Reads a handshake and accepts it; `None` when the client has gone.
pub fn accept(connection: &mut Connection) -> Option<Server> {
    let head = connection.read_head_text()?;
    let mut out = Vec::new();
    let mut input = head.as_bytes();
    let mut parser = http1::Server::new();
    let Some(ServerEvent::Head(head)) = parser.receive(&mut input) else {
        panic!("a handshake is a request");
    };
    let offer = Offer::read(&head).unwrap().expect("it is a handshake");
    let server = Server::accept(&offer, SizeLimits::default(), &mut out);
    connection.send(&out);
    Some(server)
}

/// Replies until the client has gone or the reply ends the connection.
pub fn talk(connection: &mut Connection, mut server: Server, reply: &dyn Reply) {
    let (mut payload, mut out) = (Vec::new(), Vec::new());
    let mut number = 0;
    let mut goes_on = true;
    while goes_on && let Some(mut bytes) = connection.read() {
        let mut input = &mut bytes[..];
        while goes_on && let Some(event) = server.receive(&mut input, &mut out) {
            match event {
                Event::Data { bytes, .. } => payload.extend_from_slice(bytes),
                Event::Message(message) => {
                    let message = ReceivedMessage {
                        kind: message.kind,
                        payload: std::mem::take(&mut payload),
                        number,
                    };
                    number += 1;
                    goes_on = reply(&mut server, message, &mut out);
                }
                Event::Close(_) | Event::Failed(_) => goes_on = false,
                Event::Open | Event::Ping(_) | Event::Pong(_) => {}
            }
        }
        connection.send(&std::mem::take(&mut out));
    }
}
