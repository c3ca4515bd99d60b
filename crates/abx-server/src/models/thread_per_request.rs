//! A thread starts for each request, and ends after its response.
//!
//! Another thread watches all connections with epoll. When the largest number of threads is busy,
//! it waits for one of them, and so do requests and connections.

use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

use abx_sys::ServerAddress;

use crate::config::{ServeError, ServerConfig};
use crate::connection::{Batch, Context};
use crate::content::ServedContent;
use crate::listener::ListeningSocket;
use crate::models::idle_watch::{IdleWatch, ReadyConnection, Visit};
use crate::models::thread::{READ_BYTES, STACK_BYTES};

/// Serves until the process must end, or until waiting fails.
pub(crate) fn run(
    config: &ServerConfig,
    site: ServedContent,
    on_ready: impl FnOnce(ServerAddress),
    on_refusal: impl Fn(&io::Error),
) -> Result<(), ServeError> {
    let listener = ListeningSocket::open(config)?;
    let address = listener.address;
    let mut shared_context = Context::new(config, site, listener.ending.clone(), READ_BYTES)?;
    shared_context.batch = Batch::One;
    let (watch, admission) = IdleWatch::new(listener)?;
    let threads = Arc::new(Threads {
        spare: Mutex::new(config.threads()),
        has_spare: Condvar::new(),
    });
    let mut number = 0;
    on_ready(address);
    let serve = |ready: ReadyConnection| {
        number += 1;
        let connection = ready.number;
        let spare = Threads::take_one(&threads);
        let mut context = shared_context.for_thread(number);
        let watching = Arc::clone(&watch);
        // A thread that cannot be started closes the connection.
        let builder = thread::Builder::new().stack_size(STACK_BYTES);
        let started = builder.spawn(move || {
            watching.visit(ready, Visit::OneRequest, &mut context);
            drop(spare);
        });
        if let Err(error) = started {
            watch.release(connection);
            on_refusal(&error);
        }
    };
    watch.run(admission, serve, &on_refusal)
}

/// The number of threads that may still start.
#[derive(Debug)]
struct Threads {
    spare: Mutex<u32>,
    has_spare: Condvar,
}

/// The permission to run a thread, returned when it is dropped.
struct OneThread(Arc<Threads>);

impl Threads {
    /// Waits until one more thread may start.
    fn take_one(threads: &Arc<Threads>) -> OneThread {
        let spare = threads.spare.lock().unwrap_or_else(PoisonError::into_inner);
        let spare = threads.has_spare.wait_while(spare, |spare| *spare == 0);
        *spare.unwrap_or_else(PoisonError::into_inner) -= 1;
        OneThread(Arc::clone(threads))
    }
}

impl Drop for OneThread {
    fn drop(&mut self) {
        let spare = self.0.spare.lock();
        *spare.unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.has_spare.notify_one();
    }
}
