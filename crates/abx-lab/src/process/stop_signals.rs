//! The signals that stop abx, and what they do while nobody handles them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

/// Ctrl-C, the request of another program, and a closed terminal.
pub const STOP_SIGNALS: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// While a value exists, a stop signal does not end abx at once: somebody handles it.
///
/// signal-hook never restores the default action. So after the last value is dropped, a handler that
/// is always there ends abx as the default action would.
#[derive(Debug)]
pub struct SignalGuard(());

static GUARDS: Mutex<usize> = Mutex::new(0);

/// Whether a stop signal ends abx.
static IS_FATAL: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| {
    let is_fatal = Arc::new(AtomicBool::new(true));
    for signal in STOP_SIGNALS {
        let _ = flag::register_conditional_default(signal, Arc::clone(&is_fatal));
    }
    is_fatal
});

impl SignalGuard {
    /// Keeps stop signals from ending abx.
    #[must_use]
    pub fn hold() -> SignalGuard {
        let mut guards = guards();
        *guards += 1;
        IS_FATAL.store(false, Ordering::Relaxed);
        SignalGuard(())
    }
}

impl Drop for SignalGuard {
    fn drop(&mut self) {
        let mut guards = guards();
        *guards -= 1;
        IS_FATAL.store(*guards == 0, Ordering::Relaxed);
    }
}

fn guards() -> MutexGuard<'static, usize> {
    GUARDS.lock().unwrap_or_else(PoisonError::into_inner)
}
