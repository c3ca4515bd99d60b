//! The listening socket, opened here or inherited from the supervisor; the connections accepted
//! from it; and the end of accepting.

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

/// A listening socket, and whether processes share it.
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
    /// TLS between the socket and the protocol; `None` for plain text.
    pub(crate) tls: Option<Box<TlsStream>>,
}

/// Whether the process must end after its last connection.
#[derive(Debug, Clone)]
pub(crate) struct Ending {
    has_come: Arc<AtomicBool>,
    /// Receives a byte, which is never read, when the process must end; `None` if it never must.
    event: Option<Arc<UnixStream>>,
}

impl ListeningSocket {
    /// Listens as configured, or uses the socket of the supervisor.
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

    /// TLS for accepted connections, if it is configured.
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
    /// Otherwise, one worker would accept all simultaneous connections before the others are awake.
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
        // An error here means that the client is gone, which the first read reports.
        if self.nagle == Nagle::On {
            let _ = set_tcp_nodelay(&socket, false);
        }
        AcceptedConnection {
            socket,
            tls: self.tls.as_ref().map(TlsAcceptor::accept),
        }
    }
}

/// The address on which a socket listens, with the port that the kernel chose for port 0.
pub(crate) fn listening_address(
    config: &ServerConfig,
    socket: &Socket,
) -> io::Result<ServerAddress> {
    match config.address {
        ServerAddress::Tcp(_) => socket.local_address().map(ServerAddress::from),
        unix @ ServerAddress::Unix(_) => Ok(unix),
    }
}

/// Waits for connections, one after another, for models that wait for nothing else.
#[derive(Debug)]
pub(crate) struct Acceptor {
    pub(crate) listener: ListeningSocket,
    /// Waits for connections, unless accepting itself blocks.
    epoll: Option<Epoll>,
}

impl Acceptor {
    /// An acceptor whose accepting call blocks, unless other processes share the listener.
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

    /// An acceptor whose accepting call never blocks.
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

    /// The next connection, accepted by `accept`; `None` at the end.
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

    /// Accepts a connection that already waits, once, at the end.
    ///
    /// SUBTLE: A connection wakes one worker. If it woke this one, it must be accepted here:
    /// the other workers were not woken, and would leave it until the next connection.
    fn last(
        &self,
        accept: impl Fn(&ListeningSocket) -> io::Result<AcceptedConnection>,
    ) -> Option<AcceptedConnection> {
        let epoll = self.epoll.as_ref()?;
        // The listener is watched until the first call of this function.
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

    /// The stream that becomes readable for good when the process must end.
    pub(crate) fn event(&self) -> Option<&UnixStream> {
        self.event.as_deref()
    }
}
