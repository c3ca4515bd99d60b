//! How the models with epoll accept connections, and what their events are about.

use std::io;

use abx_sys::{Epoll, Interest, Nanos};

use crate::listener::{AcceptedConnection, ListeningSocket};

/// A listener that an epoll watches.
#[derive(Debug)]
pub(crate) struct Admission {
    listener: ListeningSocket,
    accepts: bool,
    /// When to accept again after the kernel refused to.
    retry_at: Option<Nanos>,
    /// Why the kernel refused a connection, until the caller takes it.
    refusal: Option<io::Error>,
}

impl Admission {
    /// Watches the listener and, if there may be one, for the end.
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

    /// Whether the end has come; from then on no connection is accepted, except one that waits.
    ///
    /// SUBTLE: A connection wakes one worker. If that is this one, it must be accepted here:
    /// the others were not woken, and would leave it until the next one comes.
    pub(crate) fn is_ending(
        &mut self,
        epoll: &Epoll,
        admit: impl FnOnce(AcceptedConnection),
    ) -> bool {
        if self.accepts && self.listener.ending.has_come() {
            // All that can be wrong is that it is not watched.
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

    /// Accepts all that wait; one of several workers accepts one.
    ///
    /// Where the kernel refuses, for want of descriptors above all, it is
    /// tried again after a while or when a connection has been closed.
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

    /// A connection was closed: there may be a descriptor again.
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
    /// What else is waited for: the end, or what the model watches.
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

/// The failed accept used up the connection; the next one may be well.
pub(crate) fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::Interrupted
    )
}

const LISTENER: u64 = u64::MAX;

/// The number of what a model watches that is neither listener nor connection.
pub(crate) const OTHER: u64 = u64::MAX - 1;

/// The events of one wait.
pub(crate) const EVENTS_MAX: usize = 512;

/// How long accepting rests after the kernel refused it.
pub(crate) const RETRY_AFTER: Nanos = Nanos(50_000_000);
