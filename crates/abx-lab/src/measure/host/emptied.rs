//! Empties the buffers of samplers while load continues.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use abx_sys::perf::CpuSampler;

/// How often buffers are emptied: samples of at most 1,100 bytes fill a sixth of them meanwhile.
const BUFFER_EMPTIED: Duration = Duration::from_millis(20);

/// Runs `load` while a thread keeps the sampler's buffers from filling.
pub(super) fn emptied<T>(sampler: &mut CpuSampler, load: impl FnOnce() -> T) -> T {
    let (end, ended) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let emptying = thread::Builder::new().spawn_scoped(scope, move || {
            while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(BUFFER_EMPTIED) {
                sampler.take();
            }
        });
        // Without a thread, samples that find no room are counted as lost.
        drop(emptying);
        let result = load();
        drop(end);
        result
    })
}
