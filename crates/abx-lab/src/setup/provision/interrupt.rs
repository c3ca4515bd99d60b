//! Whether the user or the system stopped abx.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::SigId;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// Watches Ctrl-C, SIGTERM and a closed terminal while it exists.
///
/// Without it abx would end at once, and restore nothing. Other watchers of these signals receive
/// them too.
pub struct Interrupt {
    signalled: Arc<AtomicBool>,
    signals: Vec<SigId>,
}

impl Interrupt {
    /// Starts watching.
    ///
    /// # Errors
    /// The error of the system, which has not been seen to happen.
    pub fn watch() -> io::Result<Interrupt> {
        let mut interrupt = Interrupt {
            signalled: Arc::default(),
            signals: Vec::new(),
        };
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let flag = Arc::clone(&interrupt.signalled);
            interrupt
                .signals
                .push(signal_hook::flag::register(signal, flag)?);
        }
        Ok(interrupt)
    }

    /// Whether abx has received a stop signal since [`Interrupt::watch`].
    pub fn is_signalled(&self) -> bool {
        self.signalled.load(Ordering::Relaxed)
    }

    /// The flag that the signals set.
    #[cfg(test)]
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.signalled)
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        for signal in self.signals.drain(..) {
            signal_hook::low_level::unregister(signal);
        }
    }
}
