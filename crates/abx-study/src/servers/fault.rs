//! Faults of a study: actions on its subjects on purpose while they are under load.

use std::time::Duration;

use abx_evidence::record::{FaultAction, FaultRecord, Whom};
use abx_sys::Nanos;
use abx_sys::process::Signal;

/// One fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Its name; no load and no other fault has it.
    pub name: String,
    /// The name of the load that is offered meanwhile: one with a fixed rate.
    pub load: String,
    pub strike: Strike,
    /// When, from the start of the slice.
    pub at: Duration,
    /// The length of the slice.
    pub within: Duration,
    /// A request whose correct response took longer than this was delayed.
    pub delayed_after: Duration,
}

/// The action of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strike {
    Signal(Signal, Whom),
    /// The main process gets the subject's own signal to reload its configuration.
    Reload,
    /// It is stopped and started again on the same port.
    Restart,
}

impl Fault {
    /// The usual time after which a response is late.
    pub const DELAYED_AFTER: Duration = Duration::from_millis(100);

    /// Its entry in the record before anything is measured.
    #[must_use]
    pub fn record(&self) -> FaultRecord {
        let ns = |span: Duration| Nanos::from(span).0;
        FaultRecord {
            name: self.name.clone(),
            load: self.load.clone(),
            action: match self.strike {
                Strike::Signal(signal, whom) => FaultAction::Signal {
                    signal: signal.name().to_owned(),
                    whom,
                },
                Strike::Reload => FaultAction::Reload,
                Strike::Restart => FaultAction::Restart,
            },
            at_ns: ns(self.at),
            within_ns: ns(self.within),
            delayed_after_ns: ns(self.delayed_after),
            left_out: Vec::new(),
        }
    }
}
