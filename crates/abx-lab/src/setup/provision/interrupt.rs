//! Whether the person, or the system, told abx to stop.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::SigId;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// Watches Ctrl-C, SIGTERM and a closed terminal while it lives.
///
/// Without it abx would end at once, and would leave undone what has to be put
/// back. Others that watch these signals hear them too.
pub struct Interrupt {
    told: Arc<AtomicBool>,
    signals: Vec<SigId>,
}

impl Interrupt {
    /// Starts watching.
    ///
    /// # Errors
    /// What the system says; not seen.
    pub fn watch() -> io::Result<Interrupt> {
        let mut interrupt = Interrupt {
            told: Arc::default(),
            signals: Vec::new(),
        };
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let flag = Arc::clone(&interrupt.told);
            interrupt
                .signals
                .push(signal_hook::flag::register(signal, flag)?);
        }
        Ok(interrupt)
    }

    /// Whether abx was told to stop since then.
    pub fn is_told(&self) -> bool {
        self.told.load(Ordering::Relaxed)
    }

    /// What the signals set.
    #[cfg(test)]
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.told)
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        for signal in self.signals.drain(..) {
            signal_hook::low_level::unregister(signal);
        }
    }
}
