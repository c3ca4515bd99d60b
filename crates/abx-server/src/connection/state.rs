//! What a connection is about, and what it does next.

use abx_sys::Nanos;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionPhase {
    Open,
    /// All but what is to be sent is over.
    Closing,
    /// All is sent and the end announced; bytes still coming are discarded. A plain
    /// close would respond to them with a reset, which may destroy the response.
    DrainingClose,
}

/// What a connection waits for that can take no step.
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

/// How a connection's file fares in the ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RingTransfer {
    /// The ring has nothing of this connection's.
    None,
    /// The ring reads or sends. The connection waits, and is not closed, since
    /// its number is the ring's name for it.
    UnderWay,
    /// The ring waits for room in the socket.
    Full,
}
