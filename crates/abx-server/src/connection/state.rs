//! The phases, waits and steps of a connection.

use abx_sys::Nanos;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionPhase {
    Open,
    /// Only sending remains.
    Closing,
    /// All is sent and the end is announced; later bytes are discarded. A plain close would respond
    /// to them with a reset, which may destroy the response.
    DrainingClose,
}

/// What a connection waits for if no step is possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConnectionWait {
    Bytes,
    Room,
    Time(Nanos),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TurnStep {
    Continue,
    Wait,
    Close,
}

/// The state of a connection's file in the ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RingTransfer {
    /// The ring has no file of this connection.
    None,
    /// The ring reads or sends. The connection waits, and is not closed, because the ring
    /// identifies it by its number.
    UnderWay,
    /// The ring waits for room in the socket.
    Full,
}
