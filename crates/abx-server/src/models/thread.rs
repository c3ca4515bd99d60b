//! One blocking thread per connection.

use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

use abx_sys::{Nanos, ServerAddress};

use crate::admission::{RETRY_AFTER, is_of_one_connection};
use crate::config::{ServeError, ServerConfig};
use crate::connection::{Connection, ConnectionWait, Context, TurnStep};
use crate::content::ServedContent;
use crate::listener::{Acceptor, ListeningSocket};

pub(crate) fn run(
    config: &ServerConfig,
    site: ServedContent,
    on_ready: impl FnOnce(ServerAddress),
    on_refusal: impl Fn(&io::Error),
) -> Result<(), ServeError> {
    let acceptor = Acceptor::blocking(ListeningSocket::open(config)?)?;
    let listener = &acceptor.listener;
    let shared_context = Context::new(config, site, listener.ending.clone(), READ_BYTES)?;
    let open = Arc::new(OpenConnections::default());
    on_ready(listener.address);
    for number in 1.. {
        let started = acceptor
            .next(ListeningSocket::accept_blocking)
            .and_then(|accepted| {
                let Some(accepted) = accepted else {
                    return Ok(false);
                };
                let opened = Opened::of(&open);
                let mut context = shared_context.for_thread(number);
                // A thread that cannot be started closes the connection.
                let builder = thread::Builder::new().stack_size(STACK_BYTES);
                builder.spawn(move || {
                    serve(&mut Connection::blocking(accepted), &mut context);
                    drop(opened);
                })?;
                Ok(true)
            });
        match started {
            Ok(true) => {
                listener.give_way();
            }
            Ok(false) => break,
            Err(error) if !is_of_one_connection(&error) => {
                on_refusal(&error);
                thread::sleep(RETRY_AFTER.into());
            }
            Err(_) => {}
        }
    }
    open.wait_for_none();
    Ok(())
}

/// Serves a connection to its end.
fn serve(connection: &mut Connection, context: &mut Context) {
    loop {
        match connection.step(ONLY, context) {
            TurnStep::Continue => {}
            TurnStep::Close => return,
            TurnStep::Wait => match connection.awaited() {
                ConnectionWait::Time(at) => wait_for_time(connection, ONLY, at, context),
                // The next call on the socket blocks.
                ConnectionWait::Bytes | ConnectionWait::Room => connection.wake(),
            },
        }
    }
}

/// Waits until a response is due, and sends it.
pub(crate) fn wait_for_time(
    connection: &mut Connection,
    number: usize,
    at: Nanos,
    context: &mut Context,
) {
    thread::sleep(at.since(Nanos::now()).into());
    context.due.clear();
    connection.response_due(number, context);
}

/// The number of connections with a thread.
#[derive(Debug, Default)]
struct OpenConnections {
    count: Mutex<usize>,
    changed: Condvar,
}

/// Counts a connection until it is dropped.
struct Opened(Arc<OpenConnections>);

impl OpenConnections {
    fn wait_for_none(&self) {
        let count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        let guard = self.changed.wait_while(count, |count| *count > 0);
        drop(guard);
    }
}

impl Opened {
    fn of(open_connections: &Arc<OpenConnections>) -> Opened {
        *open_connections
            .count
            .lock()
            .unwrap_or_else(PoisonError::into_inner) += 1;
        Opened(Arc::clone(open_connections))
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        let count = &self.0.count;
        *count.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.changed.notify_all();
    }
}

/// The number of the only connection of a thread or process.
pub(super) const ONLY: usize = 0;

/// Room for one read, in bytes.
pub(super) const READ_BYTES: usize = 16 * 1024;

/// Enough for a session, and small enough for thousands of threads.
pub(super) const STACK_BYTES: usize = 256 * 1024;
