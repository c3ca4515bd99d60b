//! A listener and its accepted connections, which the single-threaded models with epoll share.

use std::io;
use std::os::fd::AsFd;

use abx_sys::{Epoll, Events, Interest, Nanos};

use crate::admission::{Admission, OTHER};
use crate::config::ServeError;
use crate::listener::{AcceptedConnection, ListeningSocket};

/// A listener, the connections with their numbers, and the wait for all of them.
#[derive(Debug)]
pub(crate) struct ConnectionTable<T> {
    admission: Admission,
    epoll: Epoll,
    places: Places<T>,
}

/// The connections by number.
#[derive(Debug)]
struct Places<T> {
    connections: Vec<Option<T>>,
    /// Numbers that may be given out again.
    free: Vec<usize>,
}

impl<T> Places<T> {
    fn admit(
        &mut self,
        epoll: &Epoll,
        accepted: AcceptedConnection,
        make: impl Fn(AcceptedConnection) -> T,
    ) {
        let number = self.free.pop().unwrap_or_else(|| {
            self.connections.push(None);
            self.connections.len() - 1
        });
        match epoll.add(&accepted.socket, number as u64, Interest::all()) {
            Ok(()) => self.connections[number] = Some(make(accepted)),
            // An unwatched connection would hang, so it is closed.
            Err(_) => self.free.push(number),
        }
    }
}

impl<T> ConnectionTable<T> {
    /// Watches the listener and, for a worker, the signal to end.
    pub(crate) fn new(listener: ListeningSocket) -> Result<ConnectionTable<T>, ServeError> {
        let epoll = Epoll::new().map_err(ServeError::Wait)?;
        let admission = Admission::watched_by(&epoll, listener).map_err(ServeError::Wait)?;
        Ok(ConnectionTable {
            admission,
            epoll,
            places: Places {
                connections: Vec::new(),
                free: Vec::new(),
            },
        })
    }

    /// Whether the server must end. From then on, only a connection that already waits is accepted.
    pub(crate) fn is_ending(&mut self, make: impl Fn(AcceptedConnection) -> T) -> bool {
        let places = &mut self.places;
        let admit = |accepted| places.admit(&self.epoll, accepted, make);
        self.admission.is_ending(&self.epoll, admit)
    }

    /// Whether no connection is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.places.free.len() == self.places.connections.len()
    }

    /// Also ends a wait when `other` becomes readable; the event belongs to no connection.
    pub(crate) fn watch(&self, other: impl AsFd) -> Result<(), ServeError> {
        let added = self.epoll.add(other, OTHER, Interest::all());
        added.map_err(ServeError::Wait)
    }

    /// Waits for events, at most until `deadline`.
    pub(crate) fn wait(
        &self,
        events: &mut Events,
        deadline: Option<Nanos>,
    ) -> Result<(), ServeError> {
        let timeout = self.admission.timeout(deadline);
        self.epoll.wait(events, timeout).map_err(ServeError::Wait)
    }

    /// Accepts the connections that wait, each as the result of `make`.
    pub(crate) fn accept(&mut self, make: impl Fn(AcceptedConnection) -> T) {
        let places = &mut self.places;
        self.admission
            .accept(|accepted| places.admit(&self.epoll, accepted, &make));
    }

    /// Accepts again if it is time to retry.
    pub(crate) fn retry(&mut self, make: impl Fn(AcceptedConnection) -> T) {
        if self.admission.is_to_retry() {
            self.accept(make);
        }
    }

    /// Why the kernel refused a connection since the last call.
    pub(crate) fn take_refusal(&mut self) -> Option<io::Error> {
        self.admission.take_refusal()
    }

    /// The connection with this number, if it is still there.
    pub(crate) fn connection(&mut self, number: usize) -> Option<&mut T> {
        self.places.connections.get_mut(number)?.as_mut()
    }

    /// Ends a connection; its number may be given out again.
    pub(crate) fn close(&mut self, number: usize) {
        self.places.connections[number] = None;
        self.places.free.push(number);
        self.admission.retry_now();
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;

    use rustix::net::sockopt::tcp_nodelay;

    use super::*;
    use crate::{Model, Nagle, ServerConfig};

    #[test]
    fn small_segments_wait_only_if_configured() {
        // Method: a connection with each setting, and the socket option that the kernel reports.
        for nagle in [Nagle::Off, Nagle::On] {
            let config = ServerConfig {
                nagle,
                ..ServerConfig::new(Model::Event)
            };
            let listener = ListeningSocket::open(&config).unwrap();
            let address = listener.address.tcp().unwrap();
            let mut table = ConnectionTable::new(listener).unwrap();
            let _client = TcpStream::connect(address).unwrap();
            let mut events = Events::with_capacity(1);
            table.wait(&mut events, None).unwrap();
            table.accept(|accepted| accepted.socket);
            let socket = table.connection(0).unwrap();
            assert_eq!(tcp_nodelay(&*socket).unwrap(), nagle == Nagle::Off);
        }
    }
}
