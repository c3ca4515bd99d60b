//! Ctrl-C, SIGTERM and a closed terminal stop the current work; a second one ends abx at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use abx_engine::Stopper;
use abx_lab::{STOP_SIGNALS, SignalGuard};
use signal_hook::flag;

/// The exit code after a second signal.
const INTERRUPTED: i32 = 130;

/// Passes signals on to engines, of which several may run one after the other. A stopped engine stays
/// stopped, so they cannot share one stopper. Keepers end their servers even if abx ends at once,
/// because their pipes close.
pub struct Interruption {
    has_come: Arc<AtomicBool>,
    _guard: SignalGuard,
}

impl Interruption {
    /// Starts to watch for signals; a second one ends abx at once.
    pub fn by_signals() -> Interruption {
        let flag = Arc::new(AtomicBool::new(false));
        let guard = SignalGuard::hold();
        for signal in STOP_SIGNALS {
            let _ = flag::register_conditional_shutdown(signal, INTERRUPTED, Arc::clone(&flag));
            let _ = flag::register(signal, Arc::clone(&flag));
        }
        Interruption {
            has_come: flag,
            _guard: guard,
        }
    }

    /// Whether a signal has come.
    pub fn has_come(&self) -> bool {
        self.has_come.load(Ordering::Relaxed)
    }

    /// Makes signals stop this engine too, including a signal that came earlier.
    pub fn stops(&self, stopper: &Stopper) {
        for signal in STOP_SIGNALS {
            let _ = flag::register(signal, stopper.flag());
        }
        if self.has_come.load(Ordering::Relaxed) {
            stopper.stop();
        }
    }
}
