//! Ctrl-C, SIGTERM and a closed terminal stop what runs; a second one ends abx at once.

use std::sync::Arc;

use abx_engine::Stopper;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

/// What a second signal ends abx with.
const INTERRUPTED: i32 = 130;

/// From now on signals stop the engine. Its keepers end their servers also
/// when abx ends at once: their pipes close.
pub fn stop_on_signals(stopper: &Stopper) {
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let stopped = stopper.flag();
        // The order matters: the first handler looks whether this is the second signal.
        let _ = flag::register_conditional_shutdown(signal, INTERRUPTED, Arc::clone(&stopped));
        let _ = flag::register(signal, stopped);
    }
}
