//! Codes for the reason why a connection is closed (RFC 6455, section 7.4).

/// A code that may be sent in a close: 1000 to 1003, 1007 to 1014, 3000 to 4999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CloseCode(u16);

impl CloseCode {
    /// The connection has served its purpose.
    pub const NORMAL: CloseCode = CloseCode(1000);
    /// The endpoint goes away.
    pub const GOING_AWAY: CloseCode = CloseCode(1001);
    /// The peer breaks the protocol.
    pub const PROTOCOL_ERROR: CloseCode = CloseCode(1002);
    /// The peer sent data that contradict their kind: text that is not UTF-8.
    pub const INVALID_DATA: CloseCode = CloseCode(1007);
    /// The peer breaks a rule of this endpoint.
    pub const POLICY: CloseCode = CloseCode(1008);
    /// The message is too big.
    pub const TOO_BIG: CloseCode = CloseCode(1009);

    /// The code with this number; `None` if it must not be sent.
    #[must_use]
    pub fn new(number: u16) -> Option<CloseCode> {
        matches!(number, 1000..=1003 | 1007..=1014 | 3000..=4999).then_some(CloseCode(number))
    }

    #[must_use]
    pub fn number(self) -> u16 {
        self.0
    }
}
