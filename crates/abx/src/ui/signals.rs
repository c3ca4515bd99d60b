//! Ctrl-C, SIGTERM and a closed terminal stop the current work; a second one ends abx at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use abx_engine::Stopper;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

/// The exit code after a second signal.
const INTERRUPTED: i32 = 130;

/// Makes signals stop the engine. Keepers end their servers even if abx ends at once, because
/// their pipes close.
pub fn stop_on_signals(stopper: &Stopper) {
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let stopped = stopper.flag();
        // The order matters: the first handler checks whether this is the second signal.
        let _ = flag::register_conditional_shutdown(signal, INTERRUPTED, Arc::clone(&stopped));
        let _ = flag::register(signal, stopped);
    }
}

/// Passes signals on to several engines that run one after the other. A stopped engine stays
/// stopped, so the engines cannot share one stopper.
pub struct Interruption(Arc<AtomicBool>);

impl Interruption {
    /// Starts to watch for signals; a second one ends abx at once.
    pub fn by_signals() -> Interruption {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let _ = flag::register_conditional_shutdown(signal, INTERRUPTED, Arc::clone(&flag));
            let _ = flag::register(signal, Arc::clone(&flag));
        }
        Interruption(flag)
    }

    /// Whether a signal has come.
    pub fn has_come(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Makes signals stop this engine too, including a signal that came earlier.
    pub fn stops(&self, stopper: &Stopper) {
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let _ = flag::register(signal, stopper.flag());
        }
        if self.0.load(Ordering::Relaxed) {
            stopper.stop();
        }
    }
}
