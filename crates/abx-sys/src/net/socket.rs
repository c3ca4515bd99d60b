//! Non-blocking stream sockets of TCP and Unix, as few calls per request as the kernel allows.

use std::io;
use std::mem::MaybeUninit;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, accept_with, bind, connect,
    getsockname, ipproto, listen, recv, send, socket_with, sockopt,
};

use crate::net::server_address::{ServerAddress, SocketPath};
use crate::net::socket_tuning::SocketTuning;

/// A stream socket, closed when dropped; non-blocking, unless [`Socket::block`] was called.
///
/// Every call returns at once; [`io::ErrorKind::WouldBlock`] means "wait for
/// the next [`crate::SocketEvent`]".
#[derive(Debug)]
pub struct Socket {
    descriptor: OwnedFd,
    /// Whether it is of TCP; else it is a Unix socket.
    is_tcp: bool,
}

/// The kernel takes no larger length in one call.
const DISCARD_MAX: usize = 1 << 30;
/// How much is read at once in order to discard it, if the kernel does not discard it itself.
const UNIX_DISCARD_MAX: usize = 32 << 10;

/// How a listening socket is made.
#[derive(Debug, Clone, Copy)]
pub struct ListenOptions {
    /// How many connections may wait to be accepted; the kernel caps it at `somaxconn`.
    pub backlog: i32,
    /// Whether other sockets with this setting may listen on the same port, of this process
    /// or of others: the kernel deals connections out among them (`SO_REUSEPORT`).
    pub shares_port: bool,
}

impl Socket {
    /// Starts to connect to `address`, from `source` when one is given and it is TCP.
    ///
    /// The result comes later as a writable event, and
    /// [`Socket::pending_error`] then returns it. Nagle's algorithm is
    /// off. The source's port is chosen when the connection is made, so one
    /// port may serve several destinations.
    ///
    /// # Errors
    /// The kernel's error at once: no descriptor, no port, refused (loopback
    /// may respond without delay), no route. A Unix socket refuses when its queue is full, too.
    pub fn connect(address: ServerAddress, source: Option<IpAddr>) -> io::Result<Socket> {
        Socket::connect_tuned(address, source, SocketTuning::default())
    }

    /// Like [`Socket::connect`], with settings that are made before.
    ///
    /// # Errors
    /// As [`Socket::connect`].
    pub fn connect_tuned(
        address: ServerAddress,
        source: Option<IpAddr>,
        tuning: SocketTuning,
    ) -> io::Result<Socket> {
        match address {
            ServerAddress::Tcp(address) => Socket::connect_tcp(address, source, tuning),
            ServerAddress::Unix(path) => Socket::connect_unix(&path, tuning),
        }
    }

    fn connect_tcp(
        address: SocketAddr,
        source: Option<IpAddr>,
        tuning: SocketTuning,
    ) -> io::Result<Socket> {
        let socket = new_socket(&address)?;
        tuning.set(&socket)?;
        sockopt::set_tcp_nodelay(&socket, true)?;
        if let Some(source) = source {
            set_bind_address_no_port(&socket)?;
            bind(&socket, &SocketAddr::new(source, 0))?;
        }
        match connect(&socket, &address) {
            Ok(()) | Err(rustix::io::Errno::INPROGRESS) => Ok(Socket::of_tcp(socket)),
            Err(error) => Err(error.into()),
        }
    }

    fn connect_unix(path: &SocketPath, tuning: SocketTuning) -> io::Result<Socket> {
        let socket = new_unix_socket()?;
        tuning.set(&socket)?;
        match connect(&socket, &path.address()?) {
            Ok(()) => Ok(Socket::of_unix(socket)),
            // SUBTLE: its queue is full (unix(7)). No event reports when that is over, and
            // a wait for one would be in vain.
            Err(rustix::io::Errno::AGAIN) => Err(io::ErrorKind::ConnectionRefused.into()),
            Err(error) => Err(error.into()),
        }
    }

    fn of_tcp(descriptor: OwnedFd) -> Socket {
        Socket {
            descriptor,
            is_tcp: true,
        }
    }

    fn of_unix(descriptor: OwnedFd) -> Socket {
        Socket {
            descriptor,
            is_tcp: false,
        }
    }

    /// Listens on `address`. A Unix socket that no process listens on any more is replaced.
    ///
    /// # Errors
    /// The kernel's error, above all `AddrInUse`.
    pub fn listen(address: ServerAddress, options: ListenOptions) -> io::Result<Socket> {
        match address {
            ServerAddress::Tcp(address) => Socket::listen_tcp(address, options),
            ServerAddress::Unix(path) => Socket::listen_unix(&path, options),
        }
    }

    fn listen_tcp(address: SocketAddr, options: ListenOptions) -> io::Result<Socket> {
        let socket = new_socket(&address)?;
        sockopt::set_socket_reuseaddr(&socket, true)?;
        if options.shares_port {
            sockopt::set_socket_reuseport(&socket, true)?;
        }
        bind(&socket, &address)?;
        listen(&socket, options.backlog)?;
        Ok(Socket::of_tcp(socket))
    }

    fn listen_unix(path: &SocketPath, options: ListenOptions) -> io::Result<Socket> {
        let (socket, address) = (new_unix_socket()?, path.address()?);
        match bind(&socket, &address) {
            Err(rustix::io::Errno::ADDRINUSE) if is_left_behind(path) => {
                std::fs::remove_file(path.as_path())?;
                bind(&socket, &address)?;
            }
            bound => bound?,
        }
        listen(&socket, options.backlog)?;
        Ok(Socket::of_unix(socket))
    }

    /// Takes over a listening socket that was made elsewhere, for example by the parent process.
    ///
    /// # Errors
    /// `InvalidInput` for anything but a listening socket of TCP or Unix.
    pub fn from_listener(descriptor: OwnedFd) -> io::Result<Socket> {
        let protocol = sockopt::socket_protocol(&descriptor);
        let is_tcp = matches!(protocol, Ok(Some(ipproto::TCP)));
        let is_unix = matches!(sockopt::socket_domain(&descriptor), Ok(AddressFamily::UNIX));
        let listens = sockopt::socket_acceptconn(&descriptor).unwrap_or(false);
        if (is_tcp || is_unix) && listens {
            Ok(Socket { descriptor, is_tcp })
        } else {
            Err(io::ErrorKind::InvalidInput.into())
        }
    }

    /// From now on every call on this socket blocks until it has a result, and so do those of
    /// other processes that have the same socket.
    ///
    /// # Errors
    /// The kernel's error; not seen.
    pub fn block(&self) -> io::Result<()> {
        Ok(rustix::io::ioctl_fionbio(&self.descriptor, false)?)
    }

    /// Accepts one waiting connection, non-blocking and without Nagle's algorithm.
    ///
    /// # Errors
    /// `WouldBlock` when none waits; otherwise the kernel's error.
    pub fn accept(&self) -> io::Result<Socket> {
        self.accept_as(SocketFlags::NONBLOCK)
    }

    /// Accepts one waiting connection, on which every call blocks until it has a result.
    ///
    /// # Errors
    /// As [`Socket::accept`].
    pub fn accept_blocking(&self) -> io::Result<Socket> {
        self.accept_as(SocketFlags::empty())
    }

    fn accept_as(&self, flags: SocketFlags) -> io::Result<Socket> {
        let descriptor = accept_with(&self.descriptor, flags | SocketFlags::CLOEXEC)?;
        let is_tcp = self.is_tcp;
        if is_tcp {
            sockopt::set_tcp_nodelay(&descriptor, true)?;
        }
        Ok(Socket { descriptor, is_tcp })
    }

    /// Sends what fits and returns how many bytes that was.
    ///
    /// # Errors
    /// `WouldBlock` when nothing fits; `ConnectionReset` or `BrokenPipe` when
    /// the peer is gone. Never raises SIGPIPE.
    pub fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        Ok(send(&self.descriptor, bytes, SendFlags::NOSIGNAL)?)
    }

    /// Receives what is there and returns how many bytes that was; zero is the peer's end.
    ///
    /// # Errors
    /// `WouldBlock` when nothing is there; `ConnectionReset` when the peer is gone.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let (received, _) = recv(&self.descriptor, buffer, RecvFlags::empty())?;
        Ok(received)
    }

    /// The most that one [`Socket::discard`] takes.
    #[must_use]
    pub fn discard_max(&self) -> usize {
        if self.is_tcp {
            DISCARD_MAX
        } else {
            UNIX_DISCARD_MAX
        }
    }

    /// Discards at most `bytes` of what is there, up to [`Socket::discard_max`], and returns
    /// how many bytes that was; zero is the peer's end.
    ///
    /// For TCP, the kernel frees them without copying them anywhere (`MSG_TRUNC`, tcp(7)); from
    /// a Unix socket they are copied.
    ///
    /// # Errors
    /// As [`Socket::receive`].
    pub fn discard(&self, bytes: usize) -> io::Result<usize> {
        if self.is_tcp {
            return self.discard_unseen(bytes);
        }
        let mut scratch = [const { MaybeUninit::<u8>::uninit() }; UNIX_DISCARD_MAX];
        let scratch = &mut scratch[..bytes.min(UNIX_DISCARD_MAX)];
        let (_, count) = recv(&self.descriptor, scratch, RecvFlags::empty())?;
        Ok(count)
    }

    #[allow(unsafe_code)]
    fn discard_unseen(&self, bytes: usize) -> io::Result<usize> {
        // SAFETY: The descriptor is open for as long as `self` is borrowed. With
        // MSG_TRUNC a TCP socket writes nothing, so no memory is needed behind
        // the pointer, and the only caller asks this of TCP sockets alone.
        let count = unsafe {
            libc::recv(
                self.descriptor.as_raw_fd(),
                std::ptr::null_mut(),
                bytes.min(DISCARD_MAX),
                libc::MSG_TRUNC,
            )
        };
        usize::try_from(count).map_err(|_| io::Error::last_os_error())
    }

    /// How many bytes were sent that the peer's kernel has not acknowledged (tcp(7),
    /// `SIOCOUTQ`). Bytes that a closed connection never received stay unacknowledged.
    ///
    /// # Errors
    /// The kernel's error; not seen on an open TCP socket.
    #[allow(unsafe_code)]
    pub fn unacknowledged(&self) -> io::Result<usize> {
        let mut bytes: libc::c_int = 0;
        // SAFETY: The descriptor is open for as long as `self` is, and this request
        // writes one `c_int`, to which the pointer leads. TIOCOUTQ is SIOCOUTQ.
        let done =
            unsafe { libc::ioctl(self.descriptor.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
        match done {
            0 => Ok(usize::try_from(bytes).unwrap_or(0)),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// The error that a connect or a send left behind, which this call clears.
    ///
    /// # Errors
    /// That error, for instance `ConnectionRefused`.
    pub fn pending_error(&self) -> io::Result<()> {
        match sockopt::socket_error(&self.descriptor)? {
            Ok(()) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The address on this side.
    ///
    /// # Errors
    /// `Unsupported` for a Unix socket; the kernel's error, not seen on an open TCP socket.
    pub fn local_address(&self) -> io::Result<SocketAddr> {
        let address = getsockname(&self.descriptor)?;
        SocketAddr::try_from(address).map_err(|_| io::ErrorKind::Unsupported.into())
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

fn new_socket(address: &SocketAddr) -> io::Result<OwnedFd> {
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    Ok(socket_with(
        family,
        SocketType::STREAM,
        flags,
        Some(ipproto::TCP),
    )?)
}

fn new_unix_socket() -> io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let (family, kind) = (AddressFamily::UNIX, SocketType::STREAM);
    Ok(socket_with(family, kind, flags, None)?)
}

/// Whether a path is a socket without a listener: its process has ended without removing
/// it. Any other file stays. Does not wait, as for a listener whose queue is full.
fn is_left_behind(path: &SocketPath) -> bool {
    let result = std::fs::symlink_metadata(path.as_path());
    let refuses = || {
        let socket = new_unix_socket().ok()?;
        connect(&socket, &path.address().ok()?).err()
    };
    result.is_ok_and(|metadata| metadata.file_type().is_socket())
        && refuses() == Some(rustix::io::Errno::CONNREFUSED)
}

/// Whether a call failed because this process or the machine has no file descriptor left.
#[must_use]
pub fn is_out_of_descriptors(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

/// Whether the whole machine has no file descriptor left.
#[must_use]
pub fn is_file_table_full(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ENFILE)
}

/// Whether a call failed because the kernel has no memory left for a socket, or may not
/// watch one more (`fs.epoll.max_user_watches`).
#[must_use]
pub fn is_out_of_memory(error: &io::Error) -> bool {
    let codes = [libc::ENOBUFS, libc::ENOMEM, libc::ENOSPC];
    error
        .raw_os_error()
        .is_some_and(|code| codes.contains(&code))
}

/// Leaves the choice of the source port to `connect`, which knows the destination.
///
/// Without it the kernel reserves a port at `bind`, for all destinations, and
/// 28,000 connections use up the machine.
#[allow(unsafe_code)]
pub(crate) fn set_bind_address_no_port(socket: &OwnedFd) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: The descriptor is open for as long as `socket` is borrowed, and
    // the pointer and length describe one live `c_int`, which the kernel only reads.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_IP,
            libc::IP_BIND_ADDRESS_NO_PORT,
            (&raw const on).cast(),
            libc::socklen_t::try_from(size_of_val(&on)).expect("an int's size fits"),
        )
    };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::{Epoll, Events, Interest, Nanos};

    fn wait_writable(socket: &Socket) {
        let epoll = Epoll::new().unwrap();
        epoll.add(socket, 1, Interest::all()).unwrap();
        let mut events = Events::with_capacity(1);
        epoll.wait(&mut events, Some(Nanos(5_000_000_000))).unwrap();
        assert!(events.iter().next().is_some_and(|event| event.writable()));
    }

    #[test]
    fn sent_bytes_are_echoed() {
        // Method: a blocking peer of the standard library echoes one message.
        let peer = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = peer.local_addr().unwrap();
        let echo = std::thread::spawn(move || {
            let (mut stream, from) = peer.accept().unwrap();
            let mut bytes = [0; 4];
            stream.read_exact(&mut bytes).unwrap();
            stream.write_all(&bytes).unwrap();
            from
        });
        let source: IpAddr = "127.0.0.9".parse().unwrap();
        let socket = Socket::connect(address.into(), Some(source)).unwrap();
        wait_writable(&socket);
        socket.pending_error().unwrap();
        assert_eq!(socket.send(b"ping").unwrap(), 4);
        let from = echo.join().unwrap();
        assert_eq!(from.ip(), source);
        assert_eq!(from, socket.local_address().unwrap());
        let mut buffer = [0; 16];
        assert_eq!(socket.receive(&mut buffer).unwrap(), 4);
        assert_eq!(&buffer[..4], b"ping");
        assert_eq!(socket.receive(&mut buffer).unwrap(), 0);
    }

    #[test]
    fn exactly_the_requested_bytes_are_discarded() {
        // Method: 300,000 bytes; parts of them are discarded in uneven pieces, and
        // what is received between must lie at the place that the count gives.
        let peer = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = peer.local_addr().unwrap();
        let bytes: Vec<u8> = (0..300_000_u32).map(|place| (place % 251) as u8).collect();
        let sent = bytes.clone();
        let sender = std::thread::spawn(move || {
            peer.accept().unwrap().0.write_all(&sent).unwrap();
        });
        let socket = Socket::connect(address.into(), None).unwrap();
        wait_writable(&socket);
        let (mut place, mut step) = (0, 1);
        let mut buffer = [0; 1000];
        let deadline = Nanos::now().plus(Nanos(20_000_000_000));
        loop {
            let (got, is_read) = match step % 2 {
                0 => (socket.receive(&mut buffer), true),
                _ => (socket.discard(step * 37), false),
            };
            match got {
                Ok(0) => break,
                Ok(count) if is_read => assert_eq!(buffer[..count], bytes[place..place + count]),
                Ok(count) => assert!(count <= step * 37),
                Err(ref error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
            }
            assert!(Nanos::now() < deadline);
            place += got.unwrap_or(0);
            step += 1;
        }
        assert_eq!(place, bytes.len());
        sender.join().unwrap();
    }

    #[test]
    fn a_listener_is_taken_over_and_nothing_else() {
        // Method: the same listener by another descriptor; then a connection, and a pipe.
        let options = ListenOptions {
            backlog: 8,
            shares_port: false,
        };
        let listener = Socket::listen("127.0.0.1:0".parse().unwrap(), options).unwrap();
        let address = listener.local_address().unwrap();
        let other = listener.as_fd().try_clone_to_owned().unwrap();
        let other = Socket::from_listener(other).unwrap();
        drop(listener);
        let client = std::net::TcpStream::connect(address).unwrap();
        other.block().unwrap();
        other.accept().unwrap();
        let (reader, _writer) = rustix::pipe::pipe().unwrap();
        for none in [OwnedFd::from(client), reader] {
            let error = Socket::from_listener(none).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        }
    }

    #[test]
    fn a_unix_socket_takes_the_same_calls() {
        // Method: a listener of ours with room for one, which another one only looks at; a peer
        // of the standard library, bytes there and back, some of them discarded; then more
        // connections than there is room for.
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.sock");
        let address: ServerAddress = format!("unix:{}", path.display()).parse().unwrap();
        let options = ListenOptions {
            backlog: 1,
            shares_port: false,
        };
        let listener = Socket::listen(address, options).unwrap();
        let in_use = Socket::listen(address, options).unwrap_err();
        assert_eq!(in_use.kind(), io::ErrorKind::AddrInUse);
        drop(listener.accept().unwrap());
        let mut peer = UnixStream::connect(&path).unwrap();
        let socket = listener.accept().unwrap();
        peer.write_all(&[7; 70_000]).unwrap();
        let mut discarded = 0;
        while discarded < 70_000 {
            let more = socket.discard(70_000 - discarded).unwrap();
            assert_ne!(more, 0, "the peer has not ended");
            discarded += more;
        }
        let nothing = socket.discard(1).unwrap_err();
        assert_eq!(nothing.kind(), io::ErrorKind::WouldBlock);
        assert_eq!(socket.send(b"pong").unwrap(), 4);
        let mut response = [0; 4];
        peer.read_exact(&mut response).unwrap();
        assert_eq!(&response, b"pong");
        drop(peer);
        assert_eq!(socket.receive(&mut response).unwrap(), 0);
        let connected: Vec<_> = ((0..8).map(|_| Socket::connect(address, None))).collect();
        let refused = connected.into_iter().find_map(Result::err).unwrap();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    }

    #[test]
    fn only_a_socket_that_was_left_behind_is_replaced() {
        // Method: the file of a listener that is gone, and a file that is none.
        let folder = tempfile::tempdir().unwrap();
        let [socket, other] = ["x.sock", "other"].map(|name| folder.path().join(name));
        drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
        std::fs::write(&other, "kept").unwrap();
        let options = ListenOptions {
            backlog: 1,
            shares_port: false,
        };
        let listen = |path: &std::path::Path| {
            let address = format!("unix:{}", path.display());
            Socket::listen(address.parse().unwrap(), options)
        };
        let listener = listen(&socket).unwrap();
        UnixStream::connect(&socket).unwrap();
        drop(listener);
        assert_eq!(listen(&other).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        assert_eq!(std::fs::read(&other).unwrap(), b"kept");
    }

    #[test]
    fn a_port_without_a_listener_refuses() {
        // Method: a port that was bound a moment ago and is free again.
        let address = {
            let gone = TcpListener::bind("127.0.0.1:0").unwrap();
            gone.local_addr().unwrap()
        };
        let refused = match Socket::connect(address.into(), None) {
            Err(error) => error,
            Ok(socket) => {
                wait_writable(&socket);
                socket.pending_error().unwrap_err()
            }
        };
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    }

    #[test]
    fn a_port_is_shared_if_both_listeners_allow_it() {
        // Method: a second listener on the port of the first, each of them sharing or not.
        for (first, second) in [(true, true), (true, false), (false, true)] {
            let options = |shares_port| ListenOptions {
                backlog: 8,
                shares_port,
            };
            let any = "127.0.0.1:0".parse().unwrap();
            let listener = Socket::listen(any, options(first)).unwrap();
            let address = listener.local_address().unwrap();
            let other = Socket::listen(address.into(), options(second));
            assert_eq!(other.is_ok(), first && second, "{first} {second}");
        }
    }

    #[test]
    fn a_listener_accepts_and_then_would_block() {
        // Method: one standard client, two accepts.
        let options = ListenOptions {
            backlog: 8,
            shares_port: false,
        };
        let listener = Socket::listen("127.0.0.1:0".parse().unwrap(), options).unwrap();
        let epoll = Epoll::new().unwrap();
        epoll.add(&listener, 7, Interest::all()).unwrap();
        let _client = std::net::TcpStream::connect(listener.local_address().unwrap()).unwrap();
        let mut events = Events::with_capacity(1);
        epoll.wait(&mut events, Some(Nanos(5_000_000_000))).unwrap();
        assert_eq!(events.iter().next().map(|event| event.token()), Some(7));
        listener.accept().unwrap();
        assert_eq!(
            listener.accept().unwrap_err().kind(),
            io::ErrorKind::WouldBlock
        );
    }
}
