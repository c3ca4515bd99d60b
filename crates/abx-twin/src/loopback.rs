//! A peer on this machine that follows a script over real sockets.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use abx_sys::ServerAddress;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::script::{PeerScript, PeerStep};

/// How soon a reading step notices that the peer ends.
const POLL: Duration = Duration::from_millis(100);

/// A peer on a port of 127.0.0.1 or on a Unix socket, with a thread per connection. Dropping
/// it ends the threads.
pub struct Loopback {
    address: ServerAddress,
    stopping: Arc<AtomicBool>,
    acceptor: Option<JoinHandle<()>>,
}

impl Loopback {
    pub fn start(script: PeerScript) -> Loopback {
        Loopback::start_on(PeerListener::tcp(), None, script)
    }

    pub fn start_unix(script: PeerScript) -> Loopback {
        Loopback::start_on(PeerListener::unix(), None, script)
    }

    /// A peer that follows its script inside TLS.
    pub fn start_tls(config: Arc<ServerConfig>, script: PeerScript) -> Loopback {
        Loopback::start_on(PeerListener::tcp(), Some(config), script)
    }

    fn start_on(
        (listener, address): (PeerListener, ServerAddress),
        tls: Option<Arc<ServerConfig>>,
        script: PeerScript,
    ) -> Loopback {
        let stopping = Arc::new(AtomicBool::new(false));
        let is_stopping = Arc::clone(&stopping);
        let acceptor =
            std::thread::spawn(move || accept(&listener, tls.as_ref(), &script, &is_stopping));
        Loopback {
            address,
            stopping,
            acceptor: Some(acceptor),
        }
    }

    /// The address of a peer on a port.
    pub fn address(&self) -> SocketAddr {
        self.address.tcp().unwrap()
    }

    pub fn server_address(&self) -> ServerAddress {
        self.address
    }
}

enum PeerListener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl PeerListener {
    fn tcp() -> (PeerListener, ServerAddress) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        (PeerListener::Tcp(listener), address.into())
    }

    fn unix() -> (PeerListener, ServerAddress) {
        static STARTED: AtomicUsize = AtomicUsize::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let name = format!("abx-peer-{}-{number}.sock", std::process::id());
        let path = std::env::temp_dir().join(name);
        let listener = UnixListener::bind(&path).unwrap();
        let address = format!("unix:{}", path.display()).parse().unwrap();
        (PeerListener::Unix(listener), address)
    }

    /// Accepts a connection. The calls for reading and writing are those of a TCP stream in any
    /// case.
    fn accept(&self) -> TcpStream {
        match self {
            PeerListener::Tcp(listener) => {
                let (stream, _) = listener.accept().unwrap();
                stream.set_nodelay(true).unwrap();
                stream
            }
            PeerListener::Unix(listener) => {
                let (stream, _) = listener.accept().unwrap();
                TcpStream::from(OwnedFd::from(stream))
            }
        }
    }
}

impl Drop for Loopback {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::SeqCst);
        // Only a connection wakes the acceptor.
        match self.address {
            ServerAddress::Tcp(address) => drop(TcpStream::connect(address)),
            ServerAddress::Unix(path) => {
                drop(UnixStream::connect(path.as_path()));
                let _ = std::fs::remove_file(path.as_path());
            }
        }
        if let Some(acceptor) = self.acceptor.take() {
            let ended = acceptor.join();
            assert!(ended.is_ok() || std::thread::panicking(), "a peer panicked");
        }
    }
}

fn accept(
    listener: &PeerListener,
    tls: Option<&Arc<ServerConfig>>,
    script: &PeerScript,
    stopping: &AtomicBool,
) {
    std::thread::scope(|scope| {
        for number in 0.. {
            let stream = listener.accept();
            if stopping.load(Ordering::SeqCst) {
                return;
            }
            let steps = script(number);
            scope.spawn(move || {
                stream.set_read_timeout(Some(POLL)).unwrap();
                let Some(tls) = tls else {
                    return follow(stream, &steps, stopping);
                };
                let session = ServerConnection::new(Arc::clone(tls)).unwrap();
                follow(StreamOwned::new(session, stream), &steps, stopping)
            });
        }
    });
}

/// A stream on which a script is followed.
trait PeerStream: Read + Write {
    fn socket(&self) -> &TcpStream;

    /// Announces the end of the stream, if the protocol can.
    fn send_close_notify(&mut self) {}
}

impl PeerStream for TcpStream {
    fn socket(&self) -> &TcpStream {
        self
    }
}

impl PeerStream for StreamOwned<ServerConnection, TcpStream> {
    fn socket(&self) -> &TcpStream {
        &self.sock
    }

    fn send_close_notify(&mut self) {
        self.conn.send_close_notify();
        // A client that has gone does not receive it.
        let _ = self.flush();
    }
}

/// Follows a script. `None` if the client or the test ends the connection before the last step.
fn follow(mut stream: impl PeerStream, steps: &[PeerStep], stopping: &AtomicBool) -> Option<()> {
    let mut place = 0;
    while let Some(step) = steps.get(place) {
        place += 1;
        match step {
            PeerStep::Await(count) => drop(read(&mut stream, *count, stopping)?),
            PeerStep::Echo(count) => {
                let bytes = read(&mut stream, *count, stopping)?;
                stream.write_all(&bytes).ok()?;
            }
            PeerStep::Choose(choices) => {
                let mut bytes = Vec::new();
                let response = loop {
                    bytes.extend(read(&mut stream, 1, stopping)?);
                    let choice = choices.iter().find(|(request, _)| *request == bytes);
                    if let Some((_, response)) = choice {
                        break response;
                    }
                };
                stream.write_all(response).ok()?;
            }
            PeerStep::Work => {}
            PeerStep::Send(bytes) => stream.write_all(bytes).ok()?,
            PeerStep::Flood(bytes) => {
                while !stopping.load(Ordering::SeqCst) {
                    stream.write_all(bytes).ok()?;
                }
            }
            PeerStep::Close => {
                stream.send_close_notify();
                return Some(());
            }
            PeerStep::Reset => {
                return rustix::net::sockopt::set_socket_linger(
                    stream.socket(),
                    Some(Duration::ZERO),
                )
                .ok();
            }
            PeerStep::Again => place = 0,
        }
    }
    read(&mut stream, usize::MAX, stopping).map(|_| ())
}

/// Reads this many bytes; `None` if they do not come.
fn read(stream: &mut impl PeerStream, count: usize, stopping: &AtomicBool) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 64 * 1024];
    while bytes.len() < count && !stopping.load(Ordering::SeqCst) {
        let room = buffer.len().min(count - bytes.len());
        match stream.read(&mut buffer[..room]) {
            Ok(0) => return None,
            Ok(got) => bytes.extend_from_slice(&buffer[..got]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => return None,
        }
    }
    (bytes.len() == count).then_some(bytes)
}
