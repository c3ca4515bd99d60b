//! Connections that an epoll watches while no thread serves them.
//!
//! Each connection is watched for one event. Then it belongs to a thread, which returns it when
//! there is nothing more to do, so that no thread waits for a client.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use abx_sys::{Epoll, Events, Interest, Nanos, SocketEvent};

use crate::admission::{Admission, EVENTS_MAX, EventSource, event_source};
use crate::config::ServeError;
use crate::connection::{Connection, ConnectionWait, Context, TurnStep};
use crate::listener::{AcceptedConnection, ListeningSocket};
use crate::models::thread::wait_for_time;

/// The connections of a server whose threads take turns with them.
pub(crate) struct IdleWatch {
    epoll: Epoll,
    watched: Mutex<Watched>,
}

/// The waiting connections by number.
#[derive(Default)]
struct Watched {
    waiting: Vec<Option<Box<Connection>>>,
    /// Numbers that may be given out again.
    free: Vec<usize>,
}

/// A connection that a thread can serve.
pub(crate) struct ReadyConnection {
    pub(crate) number: usize,
    connection: Box<Connection>,
}

/// How many requests a thread handles before it returns a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Visit {
    Requests,
    OneRequest,
}

impl IdleWatch {
    /// A watch of the listener, without connections.
    pub(crate) fn new(
        listener: ListeningSocket,
    ) -> Result<(Arc<IdleWatch>, Admission), ServeError> {
        let open = || {
            let epoll = Epoll::new()?;
            let admission = Admission::watched_by(&epoll, listener)?;
            let watched = Mutex::default();
            Ok((Arc::new(IdleWatch { epoll, watched }), admission))
        };
        open().map_err(ServeError::Wait)
    }

    /// Accepts connections and has ready ones served, until the process must end.
    pub(crate) fn run(
        &self,
        mut admission: Admission,
        mut serve: impl FnMut(ReadyConnection),
        on_refusal: impl Fn(&io::Error),
    ) -> Result<(), ServeError> {
        let mut events = Events::with_capacity(EVENTS_MAX);
        loop {
            let is_ending = admission.is_ending(&self.epoll, |accepted| self.admit(accepted));
            if is_ending && self.is_empty() {
                return Ok(());
            }
            let timeout = if is_ending {
                Some(LOOK_EVERY)
            } else {
                admission.timeout(None)
            };
            let waited = self.epoll.wait(&mut events, timeout);
            waited.map_err(ServeError::Wait)?;
            for event in events.iter() {
                match event_source(event) {
                    EventSource::Listener => admission.accept(|accepted| self.admit(accepted)),
                    // The signal to end, which is checked above.
                    EventSource::Other => {}
                    EventSource::Connection(number) => serve(self.take(number, event)),
                }
            }
            if admission.is_to_retry() {
                admission.accept(|accepted| self.admit(accepted));
            }
            if let Some(error) = admission.take_refusal() {
                on_refusal(&error);
            }
        }
    }

    /// Serves a connection as far as possible, and watches it again.
    pub(crate) fn visit(&self, ready: ReadyConnection, visit: Visit, context: &mut Context) {
        let ReadyConnection {
            number,
            mut connection,
        } = ready;
        context.injector.stall();
        let responded = context.responded;
        for _ in 0..STEPS_PER_VISIT {
            match connection.step(number, context) {
                TurnStep::Continue => {
                    let is_done = visit == Visit::OneRequest && context.responded > responded;
                    if is_done && connection.is_between_requests() {
                        break;
                    }
                }
                TurnStep::Close => {
                    drop(connection);
                    return self.release(number);
                }
                TurnStep::Wait => match connection.awaited() {
                    ConnectionWait::Time(at) => wait_for_time(&mut connection, number, at, context),
                    ConnectionWait::Bytes => {
                        return self.watch(number, connection, Interest::read_once());
                    }
                    ConnectionWait::Room => {
                        return self.watch(number, connection, Interest::write_once());
                    }
                },
            }
        }
        let interest = if connection.is_between_requests() && !connection.has_more() {
            Interest::read_once()
        } else {
            // SUBTLE: The socket has room, so this event occurs at once, but after those of others.
            Interest::write_once()
        };
        self.watch(number, connection, interest);
    }

    fn watch(&self, number: usize, connection: Box<Connection>, interest: Interest) {
        let socket = Arc::clone(&connection.socket);
        self.lock().waiting[number] = Some(connection);
        // SUBTLE: From here on, another thread may serve the connection, close it, and reuse its
        // number. This descriptor stays correct, and at worst belongs to no connection.
        let watched = self.epoll.watch_again(&*socket, number as u64, interest);
        debug_assert!(watched.is_ok(), "it was watched before: {watched:?}");
    }

    fn admit(&self, accepted: AcceptedConnection) {
        let mut watched = self.lock();
        let number = watched.free.pop().unwrap_or_else(|| {
            watched.waiting.push(None);
            watched.waiting.len() - 1
        });
        let connection = Box::new(Connection::new(accepted));
        let once = Interest::read_once();
        let added = self.epoll.add(&*connection.socket, number as u64, once);
        match added {
            Ok(()) => watched.waiting[number] = Some(connection),
            // An unwatched connection would hang, so it is closed.
            Err(_) => watched.free.push(number),
        }
    }

    /// Makes the number of a closed connection available again.
    pub(crate) fn release(&self, number: usize) {
        self.lock().free.push(number);
    }

    fn take(&self, number: usize, event: SocketEvent) -> ReadyConnection {
        let connection = self.lock().waiting[number].take();
        let mut connection = connection.expect("a watched connection waits for its event");
        connection.note(event);
        ReadyConnection { number, connection }
    }

    fn is_empty(&self) -> bool {
        let watched = self.lock();
        watched.free.len() == watched.waiting.len()
    }

    fn lock(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The number of steps of one connection before others have their turn.
const STEPS_PER_VISIT: usize = 16;

/// How often to check whether the last connection has closed, at the end.
const LOOK_EVERY: Nanos = Nanos(5_000_000);
