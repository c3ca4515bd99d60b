//! The server end of simulated WebSocket connections.

use abx_engine::testing::Token;
use abx_sys::Nanos;

use crate::hub::Act;
use crate::inbox::TcpSegment;
use crate::sim::{NetworkEventKind, Sim};

impl Sim {
    /// Handles bytes of the client at the server.
    pub(crate) fn hub_receives(&mut self, token: Token, bytes: &[u8]) {
        let alive: Vec<Option<Token>> = (0..self.connections.len())
            .map(|place| self.token_at(place))
            .collect();
        let hub = self.hub.as_mut().expect("this is a server of WebSockets");
        hub.forget_all_but(&alive);
        let now = self.now;
        for act in hub.take(token, bytes, now) {
            match act {
                Act::Send(to, bytes, after) if !bytes.is_empty() => {
                    if let Some(token) = self.token_at(to) {
                        let at = now.plus(after);
                        self.cause(at, token, NetworkEventKind::SendsUnprompted(bytes));
                    }
                }
                Act::Send(..) => {}
                Act::Flood(to, bytes) => self.hub_floods(to, bytes),
                Act::Close(to, after) => {
                    if let Some(token) = self.token_at(to) {
                        self.cause(now.plus(after), token, NetworkEventKind::IdleClose);
                    }
                }
            }
        }
    }

    fn token_at(&self, place: usize) -> Option<Token> {
        let connection = self.connections.get(place)?.as_ref()?;
        Some(Token {
            slot: u32::try_from(place).ok()?,
            generation: connection.generation,
        })
    }

    /// Has the server send bytes unprompted on the connection at this place.
    pub fn hub_sends(&mut self, place: usize, bytes: Vec<u8>) {
        let token = self.token_at(place).expect("the connection is open");
        self.cause(self.now, token, NetworkEventKind::SendsUnprompted(bytes));
    }

    /// Has the server send these bytes endlessly on the connection at this place, after everything
    /// that it sends now.
    pub fn hub_floods(&mut self, place: usize, bytes: &[u8]) {
        let token = self.token_at(place).expect("the connection is open");
        let bytes = bytes.into();
        let at = self.now.plus(self.network.delay).plus(Nanos(1));
        let endless = TcpSegment::Endless { bytes, place: 0 };
        self.cause(at, token, NetworkEventKind::Arrives(endless));
    }

    /// Has the server close the connection at this place.
    pub fn hub_closes(&mut self, place: usize) {
        let token = self.token_at(place).expect("the connection is open");
        self.peer_closes(token);
    }
}
