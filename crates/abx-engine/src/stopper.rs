//! The handle that ends a load from elsewhere.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Stops every slice that runs, from a signal handler's thread or any other.
#[derive(Debug, Clone, Default)]
pub struct Stopper(Arc<AtomicBool>);

impl Stopper {
    pub fn of(flag: &Arc<AtomicBool>) -> Stopper {
        Stopper(Arc::clone(flag))
    }

    pub(crate) fn as_flag(&self) -> &AtomicBool {
        &self.0
    }

    /// Ends the running slice and every later one at once.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether [`Stopper::stop`] was called.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// The flag itself, for handlers that can only store to one.
    #[must_use]
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }
}
