//! What the models with epoll share: a listener and the connections it accepted.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;

use abx_sys::{Epoll, Events, Interest, ListenOptions, Nanos, Socket};
use rustix::net::sockopt::set_tcp_nodelay;

use crate::config::{Nagle, ServeError, ServerConfig};

/// A listener, the connections with their numbers, and the wait for all of them.
#[derive(Debug)]
pub(crate) struct ConnectionTable<T> {
    listener: Socket,
    nagle: Nagle,
    epoll: Epoll,
    connections: Vec<Option<T>>,
    /// Numbers that may be given out again.
    free: Vec<usize>,
    /// When to accept again after the kernel refused to.
    retry_at: Option<Nanos>,
    /// Why it refused, until somebody asks.
    refusal: Option<io::Error>,
}

impl<T> ConnectionTable<T> {
    /// Listens as told and gives the address that it became.
    pub(crate) fn open(
        config: &ServerConfig,
    ) -> Result<(ConnectionTable<T>, SocketAddr), ServeError> {
        let address = config.address;
        let options = ListenOptions {
            backlog: config.backlog(),
            shares_port: config.shares_port,
        };
        let listen = || {
            let listener = Socket::listen(address, options)?;
            let bound = listener.local_address()?;
            Ok((listener, bound))
        };
        let (listener, bound) =
            listen().map_err(|source| ServeError::Listen { address, source })?;
        let epoll = Epoll::new().map_err(ServeError::Wait)?;
        epoll
            .add(&listener, LISTENER, Interest::all())
            .map_err(ServeError::Wait)?;
        let table = ConnectionTable {
            listener,
            nagle: config.nagle,
            epoll,
            connections: Vec::new(),
            free: Vec::new(),
            retry_at: None,
            refusal: None,
        };
        Ok((table, bound))
    }

    /// Has the wait end also when this becomes readable; its event is of no connection.
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
        let first = match (deadline, self.retry_at) {
            (Some(deadline), Some(retry_at)) => Some(deadline.min(retry_at)),
            (deadline, retry_at) => deadline.or(retry_at),
        };
        let timeout = first.map(|first| first.since(Nanos::now()));
        self.epoll.wait(events, timeout).map_err(ServeError::Wait)
    }

    /// Accepts all that wait, each as what `make` makes of its socket.
    ///
    /// Where the kernel refuses, for want of descriptors above all, it is
    /// tried again after a while or when a connection has been closed.
    pub(crate) fn accept(&mut self, make: impl Fn(Socket) -> T) {
        self.retry_at = None;
        loop {
            match self.listener.accept() {
                Ok(socket) => self.admit(socket, &make),
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

    /// Accepts again, if it is time to.
    pub(crate) fn retry(&mut self, make: impl Fn(Socket) -> T) {
        if self.retry_at.is_some_and(|at| at <= Nanos::now()) {
            self.accept(make);
        }
    }

    /// Why the kernel refused a connection since the last time this was asked.
    pub(crate) fn take_refusal(&mut self) -> Option<io::Error> {
        self.refusal.take()
    }

    /// The connection with this number, if it is still there.
    pub(crate) fn connection(&mut self, number: usize) -> Option<&mut T> {
        self.connections.get_mut(number)?.as_mut()
    }

    /// Ends a connection; its number may be given out again.
    pub(crate) fn close(&mut self, number: usize) {
        self.connections[number] = None;
        self.free.push(number);
        if let Some(retry_at) = &mut self.retry_at {
            *retry_at = Nanos(0);
        }
    }

    fn admit(&mut self, socket: Socket, make: impl Fn(Socket) -> T) {
        let number = self.free.pop().unwrap_or_else(|| {
            self.connections.push(None);
            self.connections.len() - 1
        });
        // Trouble here means that the client is gone, which the first read tells.
        if self.nagle == Nagle::On {
            let _ = set_tcp_nodelay(&socket, false);
        }
        match self.epoll.add(&socket, number as u64, Interest::all()) {
            Ok(()) => self.connections[number] = Some(make(socket)),
            // Without a watch the connection would hang: better that it is closed.
            Err(_) => self.free.push(number),
        }
    }
}

/// What an event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventSource {
    /// A connection waits to be accepted.
    Listener,
    /// The connection of this number.
    Connection(usize),
    /// What else is waited for ([`ConnectionTable::watch`]).
    Other,
}

/// What an event is about.
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
const OTHER: u64 = u64::MAX - 1;

/// How long accepting rests after the kernel refused it.
pub(crate) const RETRY_AFTER: Nanos = Nanos(50_000_000);

#[cfg(test)]
mod tests {
    use std::net::TcpStream;

    use rustix::net::sockopt::tcp_nodelay;

    use super::*;
    use crate::{Content, Faults, Model, WebSocketSupport};

    #[test]
    fn small_segments_wait_where_they_are_told_to() {
        // Method: one connection with each setting; what the kernel says of it.
        for nagle in [Nagle::Off, Nagle::On] {
            let config = ServerConfig {
                address: SocketAddr::from(([127, 0, 0, 1], 0)),
                model: Model::Event,
                content: Content::Page { bytes: None },
                websocket: WebSocketSupport::Off,
                backlog: crate::BACKLOG,
                shares_port: false,
                nagle,
                faults: Faults::default(),
                seed: 1,
            };
            let (mut table, address) = ConnectionTable::open(&config).unwrap();
            let _client = TcpStream::connect(address).unwrap();
            let mut events = Events::with_capacity(1);
            table.wait(&mut events, None).unwrap();
            table.accept(|socket| socket);
            let socket = table.connection(0).unwrap();
            assert_eq!(tcp_nodelay(&*socket).unwrap(), nagle == Nagle::Off);
        }
    }
}
