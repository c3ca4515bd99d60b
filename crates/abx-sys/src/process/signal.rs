//! The signals that abx sends.

use serde::{Deserialize, Serialize};

/// The signals that abx sends: to stop a server, or to test how it reacts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
#[allow(missing_docs, reason = "the names are the kernel's")]
pub enum Signal {
    Term,
    Int,
    Quit,
    Hup,
    Usr1,
    Usr2,
    Winch,
    Kill,
    Segv,
    Abrt,
    Stop,
    Cont,
}

impl Signal {
    /// Its name, without `SIG`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Signal::Term => "TERM",
            Signal::Int => "INT",
            Signal::Quit => "QUIT",
            Signal::Hup => "HUP",
            Signal::Usr1 => "USR1",
            Signal::Usr2 => "USR2",
            Signal::Winch => "WINCH",
            Signal::Kill => "KILL",
            Signal::Segv => "SEGV",
            Signal::Abrt => "ABRT",
            Signal::Stop => "STOP",
            Signal::Cont => "CONT",
        }
    }
}

impl From<Signal> for rustix::process::Signal {
    fn from(signal: Signal) -> rustix::process::Signal {
        use rustix::process::Signal as Kernel;
        match signal {
            Signal::Term => Kernel::TERM,
            Signal::Int => Kernel::INT,
            Signal::Quit => Kernel::QUIT,
            Signal::Hup => Kernel::HUP,
            Signal::Usr1 => Kernel::USR1,
            Signal::Usr2 => Kernel::USR2,
            Signal::Winch => Kernel::WINCH,
            Signal::Kill => Kernel::KILL,
            Signal::Segv => Kernel::SEGV,
            Signal::Abrt => Kernel::ABORT,
            Signal::Stop => Kernel::STOP,
            Signal::Cont => Kernel::CONT,
        }
    }
}
