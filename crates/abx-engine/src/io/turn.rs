//! How many bytes one connection may bring before it is the others' turn.
//!
//! A peer that sends faster than its bytes are parsed always has more. If one connection were
//! pulled until it is empty, the loop would check no clock, no stop flag and no other connection.

use super::contract::{Ready, Token};

/// A turn ends with the pull that reaches this many bytes: one full buffer of `epoll.rs`.
/// Parsing them takes milliseconds at most, even if each event is two bytes long.
pub const TURN_BYTES: usize = 256 * 1024;

/// The rest of one connection's turn.
pub struct Turn {
    bytes: usize,
}

impl Turn {
    pub fn whole() -> Turn {
        Turn { bytes: TURN_BYTES }
    }

    /// Notes a pull of this many bytes. Returns whether the turn is over.
    pub fn spend(&mut self, bytes: usize) -> bool {
        self.bytes = self.bytes.saturating_sub(bytes);
        self.bytes == 0
    }
}

/// Connections whose turn ended with bytes left. Readiness is edge-triggered, so the kernel has no
/// further event for them: the next wait lists them, and does not sleep.
#[derive(Default)]
pub struct CutTurns {
    tokens: Vec<Token>,
}

impl CutTurns {
    pub fn add(&mut self, token: Token) {
        self.tokens.push(token);
    }

    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Lists the connections for which `begins` starts the next turn.
    pub fn list(&mut self, ready: &mut Vec<Ready>, mut begins: impl FnMut(Token) -> bool) {
        let tokens = self.tokens.drain(..).filter(|token| begins(*token));
        ready.extend(tokens.map(Ready::Receivable));
    }
}
