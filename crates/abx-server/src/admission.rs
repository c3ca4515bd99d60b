//! How the models with epoll accept connections, and the sources of their events.

use std::io;

use abx_sys::{Epoll, Interest, Nanos};

use crate::listener::{AcceptedConnection, ListeningSocket};

/// A listener that an epoll watches.
#[derive(Debug)]
pub(crate) struct Admission {
    listener: ListeningSocket,
    accepts: bool,
    /// When to accept again after the kernel refused a connection.
    retry_at: Option<Nanos>,
    /// Why the kernel refused a connection, until the caller takes the error.
    refusal: Option<io::Error>,
}

impl Admission {
    /// Watches the listener and, for a worker, the signal to end.
    pub(crate) fn watched_by(epoll: &Epoll, listener: ListeningSocket) -> io::Result<Admission> {
        epoll.add(&listener.socket, LISTENER, listener.interest())?;
        if let Some(event) = listener.ending.event() {
            epoll.add(event, OTHER, Interest::all())?;
        }
        Ok(Admission {
            listener,
            accepts: true,
            retry_at: None,
            refusal: None,
        })
    }

    /// Whether the server must end. From then on, only a connection that already waits is accepted.
    ///
    /// SUBTLE: A connection wakes one worker. If it woke this one, it must be accepted here:
    /// the other workers were not woken, and would leave it until the next connection.
    pub(crate) fn is_ending(
        &mut self,
        epoll: &Epoll,
        admit: impl FnOnce(AcceptedConnection),
    ) -> bool {
        if self.accepts && self.listener.ending.has_come() {
            // The only possible error is that the listener is not watched.
            let _ = epoll.forget(&self.listener.socket);
            self.accepts = false;
            self.retry_at = None;
            if let Ok(accepted) = self.listener.accept() {
                admit(accepted);
            }
        }
        !self.accepts
    }

    /// How long to wait for events, at most until `deadline`.
    pub(crate) fn timeout(&self, deadline: Option<Nanos>) -> Option<Nanos> {
        let first = match (deadline, self.retry_at) {
            (Some(deadline), Some(retry_at)) => Some(deadline.min(retry_at)),
            (deadline, retry_at) => deadline.or(retry_at),
        };
        first.map(|first| first.since(Nanos::now()))
    }

    /// Accepts all connections that wait; one of several workers accepts only one.
    ///
    /// If the kernel refuses a connection, mainly because descriptors ran out, accepting is
    /// retried after a while or after a connection has closed.
    pub(crate) fn accept(&mut self, mut admit: impl FnMut(AcceptedConnection)) {
        self.retry_at = None;
        while self.accepts {
            match self.listener.accept() {
                Ok(accepted) => {
                    admit(accepted);
                    if self.listener.give_way() {
                        return;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if is_of_one_connection(&error) => {}
                Err(error) => {
                    self.retry_at = Some(Nanos::now().plus(RETRY_AFTER));
                    self.refusal = Some(error);
                    return;
                }
            }
        }
    }

    /// Whether it is time to accept again.
    pub(crate) fn is_to_retry(&self) -> bool {
        self.retry_at.is_some_and(|at| at <= Nanos::now())
    }

    /// Retries soon after a connection was closed, because a descriptor may be free.
    pub(crate) fn retry_now(&mut self) {
        if let Some(retry_at) = &mut self.retry_at {
            *retry_at = Nanos(0);
        }
    }

    /// Why the kernel refused a connection since the last call.
    pub(crate) fn take_refusal(&mut self) -> Option<io::Error> {
        self.refusal.take()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventSource {
    /// A connection waits to be accepted.
    Listener,
    Connection(usize),
    /// The signal to end, or an event source of the model.
    Other,
}

pub(crate) fn event_source(event: abx_sys::SocketEvent) -> EventSource {
    match event.token() {
        LISTENER => EventSource::Listener,
        OTHER => EventSource::Other,
        token => {
            EventSource::Connection(usize::try_from(token).expect("numbers are made from an index"))
        }
    }
}

/// Whether the error only concerns the connection that was to be accepted.
pub(crate) fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::Interrupted
    )
}

const LISTENER: u64 = u64::MAX;

/// The token of event sources other than the listener and connections.
pub(crate) const OTHER: u64 = u64::MAX - 1;

/// The largest number of events per wait.
pub(crate) const EVENTS_MAX: usize = 512;

/// How long accepting pauses after the kernel refused a connection.
pub(crate) const RETRY_AFTER: Nanos = Nanos(50_000_000);
