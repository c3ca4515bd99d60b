//! One thread watches all connections with epoll, and a pool of threads responds.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

use abx_sys::ServerAddress;

use crate::config::{ServeError, ServerConfig};
use crate::connection::Context;
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
    let shared_context = Context::new(config, site, listener.ending.clone(), READ_BYTES)?;
    let (watch, admission) = IdleWatch::new(listener)?;
    let queue = Arc::new(Queue::default());
    for number in 1..=u64::from(config.threads()) {
        let (watch, queue) = (Arc::clone(&watch), Arc::clone(&queue));
        let mut context = shared_context.for_thread(number);
        let builder = thread::Builder::new().stack_size(STACK_BYTES);
        builder
            .spawn(move || {
                loop {
                    watch.visit(queue.take(), Visit::Requests, &mut context);
                }
            })
            .map_err(ServeError::Thread)?;
    }
    on_ready(address);
    watch.run(admission, |ready| queue.put(ready), on_refusal)
}

/// Connections that wait for a thread, in order.
#[derive(Default)]
struct Queue {
    ready: Mutex<VecDeque<ReadyConnection>>,
    is_filled: Condvar,
}

impl Queue {
    fn put(&self, ready: ReadyConnection) {
        let mut queue = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        queue.push_back(ready);
        drop(queue);
        self.is_filled.notify_one();
    }

    fn take(&self) -> ReadyConnection {
        let mut queue = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match queue.pop_front() {
                Some(ready) => return ready,
                None => {
                    let woken = self.is_filled.wait(queue);
                    queue = woken.unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }
}
