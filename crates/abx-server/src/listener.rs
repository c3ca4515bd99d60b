//! The listening socket: made here, or inherited from the supervisor that keeps it; what is
//! accepted from it; and the end of accepting.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use abx_sys::{Epoll, Events, Interest, ListenOptions, ServerAddress, Socket};
use rustix::net::sockopt::set_tcp_nodelay;
use signal_hook::consts::SIGTERM;

use crate::config::{Nagle, ProcessRole, ServeError, ServerConfig};
use crate::tls::{TlsAcceptor, TlsStream};

/// A listening socket and which processes share it.
#[derive(Debug)]
pub(crate) struct ListeningSocket {
    pub(crate) socket: Socket,
    pub(crate) address: ServerAddress,
    pub(crate) role: ProcessRole,
    pub(crate) nagle: Nagle,
    pub(crate) ending: Ending,
    tls: Option<TlsAcceptor>,
}

#[derive(Debug)]
pub(crate) struct AcceptedConnection {
    pub(crate) socket: Socket,
    /// What is between its socket and its protocol; `None` for nothing.
    pub(crate) tls: Option<Box<TlsStream>>,
}

/// Whether the process is to end when its last connection is closed.
#[derive(Debug, Clone)]
pub(crate) struct Ending {
    has_come: Arc<AtomicBool>,
    /// Gets a byte when it comes, which is never read; `None` if it never comes.
    event: Option<Arc<UnixStream>>,
}

impl ListeningSocket {
    /// Listens as configured, or takes the socket that the supervisor listens on.
    pub(crate) fn open(config: &ServerConfig) -> Result<ListeningSocket, ServeError> {
        let address = config.address;
        let tls = ListeningSocket::tls(config)?;
        let open = || {
            let socket = match config.role {
                ProcessRole::Alone => ListeningSocket::bind(config)?,
                ProcessRole::Worker { .. } => {
                    Socket::from_listener(io::stdin().as_fd().try_clone_to_owned()?)?
                }
            };
            Ok(ListeningSocket {
                address: listening_address(config, &socket)?,
                socket,
                role: config.role,
                nagle: config.nagle,
                ending: Ending::of(config.role)?,
                tls,
            })
        };
        let address = Box::new(address);
        open().map_err(|source| ServeError::Listen { address, source })
    }

    /// What encrypts its connections, if anything does.
    pub(crate) fn tls(config: &ServerConfig) -> Result<Option<TlsAcceptor>, ServeError> {
        let certificate = config.certificate.as_ref();
        let acceptor = certificate.map(|certificate| {
            TlsAcceptor::of(certificate, config.address.tcp().map(|tcp| tcp.ip()))
        });
        Ok(acceptor.transpose()?)
    }

    /// A socket that listens as configured.
    pub(crate) fn bind(config: &ServerConfig) -> io::Result<Socket> {
        let options = ListenOptions {
            backlog: config.backlog(),
            shares_port: config.shares_port,
        };
        Socket::listen(config.address, options)
    }

    /// How the listener is watched by an epoll.
    pub(crate) fn interest(&self) -> Interest {
        match self.role {
            ProcessRole::Alone => Interest::all(),
            ProcessRole::Worker { .. } => Interest::shared_listener(),
        }
    }

    /// Lets other workers accept, and returns whether there may be any.
    ///
    /// Otherwise one of them would take all connections that come together, before the others
    /// are awake.
    pub(crate) fn give_way(&self) -> bool {
        let is_shared = matches!(self.role, ProcessRole::Worker { .. });
        if is_shared {
            std::thread::yield_now();
        }
        is_shared
    }

    /// Accepts a connection whose calls do not wait.
    pub(crate) fn accept(&self) -> io::Result<AcceptedConnection> {
        Ok(self.prepare(self.socket.accept()?))
    }

    /// Accepts a connection whose calls wait.
    pub(crate) fn accept_blocking(&self) -> io::Result<AcceptedConnection> {
        Ok(self.prepare(self.socket.accept_blocking()?))
    }

    fn prepare(&self, socket: Socket) -> AcceptedConnection {
        // Trouble here means that the client is gone, which the first read reports.
        if self.nagle == Nagle::On {
            let _ = set_tcp_nodelay(&socket, false);
        }
        AcceptedConnection {
            socket,
            tls: self.tls.as_ref().map(TlsAcceptor::accept),
        }
    }
}

/// Where a socket listens, once the kernel has chosen the port where it was to.
pub(crate) fn listening_address(
    config: &ServerConfig,
    socket: &Socket,
) -> io::Result<ServerAddress> {
    match config.address {
        ServerAddress::Tcp(_) => socket.local_address().map(ServerAddress::from),
        unix @ ServerAddress::Unix(_) => Ok(unix),
    }
}

/// Waits for connections, one after another, where nothing else is waited for.
#[derive(Debug)]
pub(crate) struct Acceptor {
    pub(crate) listener: ListeningSocket,
    /// What to wait with, where accepting does not wait by itself.
    epoll: Option<Epoll>,
}

impl Acceptor {
    /// One that waits in the call that accepts, if no other process has the listener.
    pub(crate) fn blocking(listener: ListeningSocket) -> Result<Acceptor, ServeError> {
        match listener.role {
            ProcessRole::Alone => {
                listener.socket.block().map_err(ServeError::Wait)?;
                let epoll = None;
                Ok(Acceptor { listener, epoll })
            }
            ProcessRole::Worker { .. } => Acceptor::polling(listener),
        }
    }

    /// One whose listener never waits.
    pub(crate) fn polling(listener: ListeningSocket) -> Result<Acceptor, ServeError> {
        let open = || {
            let epoll = Epoll::new()?;
            epoll.add(&listener.socket, 0, Interest::shared_listener())?;
            if let Some(event) = listener.ending.event() {
                epoll.add(event, 1, Interest::all())?;
            }
            Ok(Some(epoll))
        };
        let epoll = open().map_err(ServeError::Wait)?;
        Ok(Acceptor { listener, epoll })
    }

    /// The next connection, as `accept` takes it; `None` at the end.
    pub(crate) fn next(
        &self,
        accept: impl Fn(&ListeningSocket) -> io::Result<AcceptedConnection>,
    ) -> io::Result<Option<AcceptedConnection>> {
        loop {
            let ending = &self.listener.ending;
            if let Some(epoll) = &self.epoll
                && !ending.has_come()
            {
                epoll.wait(&mut Events::with_capacity(2), None)?;
            }
            if ending.has_come() {
                return Ok(self.last(accept));
            }
            match accept(&self.listener) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                accepted => return accepted.map(Some),
            }
        }
    }

    /// At the end: accepts a connection that waits, once.
    ///
    /// SUBTLE: A connection wakes one worker. If that is this one, it must be accepted here:
    /// the others were not woken, and would leave it until the next one comes.
    fn last(
        &self,
        accept: impl Fn(&ListeningSocket) -> io::Result<AcceptedConnection>,
    ) -> Option<AcceptedConnection> {
        let epoll = self.epoll.as_ref()?;
        // It is watched until this was done once.
        epoll.forget(&self.listener.socket).ok()?;
        accept(&self.listener).ok()
    }
}

impl Ending {
    fn of(role: ProcessRole) -> io::Result<Ending> {
        let has_come = Arc::new(AtomicBool::new(false));
        let event = match role {
            ProcessRole::Alone => None,
            ProcessRole::Worker { .. } => {
                let (receiver, sender) = UnixStream::pair()?;
                // The order matters: a thread that wakes finds the flag set.
                signal_hook::flag::register(SIGTERM, Arc::clone(&has_come))?;
                signal_hook::low_level::pipe::register(SIGTERM, sender)?;
                Some(Arc::new(receiver))
            }
        };
        Ok(Ending { has_come, event })
    }

    pub(crate) fn has_come(&self) -> bool {
        self.has_come.load(Ordering::Relaxed)
    }

    /// What becomes readable when it comes, and stays so.
    pub(crate) fn event(&self) -> Option<&UnixStream> {
        self.event.as_deref()
    }
}
