//! A peer that follows a test's script, correct or not.
//!
//! One thread per connection runs the test's script. The peer checks nothing:
//! tests can query its counts. Start at [`Peer::start`].

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// More connections at a time are closed at once.
const CONNECTIONS_MAX: usize = 64;
/// How soon a reading script notices that the peer ends.
const POLL: Duration = Duration::from_millis(20);

/// A listening peer. Dropping it ends its threads.
pub struct Peer {
    address: SocketAddr,
    seen: Arc<Seen>,
    acceptor: Option<JoinHandle<()>>,
}

/// The counts so far.
#[derive(Default)]
struct Seen {
    requests: AtomicUsize,
    connections: AtomicUsize,
    finished: AtomicUsize,
    sources: Mutex<Vec<IpAddr>>,
    stopping: AtomicBool,
}

/// One accepted connection, closed when the script drops it.
pub struct Connection {
    stream: TcpStream,
    number: usize,
    seen: Arc<Seen>,
    unread: Vec<u8>,
}

impl Peer {
    /// Listens on a free port of 127.0.0.1 and runs `script` on each connection.
    pub fn start(script: impl Fn(Connection) + Send + Sync + 'static) -> Peer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Seen::default());
        let for_acceptor = Arc::clone(&seen);
        let acceptor = std::thread::spawn(move || accept(listener, &for_acceptor, &script));
        Peer {
            address,
            seen,
            acceptor: Some(acceptor),
        }
    }

    /// Gives the same response to every request, for as long as the client sends requests.
    pub fn responding(response: &[u8]) -> Peer {
        let response = response.to_vec();
        Peer::start(move |mut connection| {
            while connection.read_request() {
                connection.send(&response);
            }
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whole requests that were read.
    pub fn requests(&self) -> usize {
        self.seen.requests.load(Ordering::SeqCst)
    }

    /// Connections that were accepted.
    pub fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::SeqCst)
    }

    /// Connections that this side has closed.
    pub fn finished(&self) -> usize {
        self.seen.finished.load(Ordering::SeqCst)
    }

    /// The addresses that the connections came from, in no particular order.
    pub fn sources(&self) -> Vec<IpAddr> {
        self.seen.sources.lock().unwrap().clone()
    }

    /// Closes the listener and, as soon as their scripts read, the connections.
    pub fn stop(&mut self) {
        self.seen.stopping.store(true, Ordering::SeqCst);
        if let Some(acceptor) = self.acceptor.take() {
            // Only a connection wakes the acceptor; when it is gone already, none is needed.
            let _ = TcpStream::connect(self.address);
            let ended = acceptor.join();
            // A failing test drops its peer as well, and must not panic twice.
            assert!(
                ended.is_ok() || std::thread::panicking(),
                "a script panicked"
            );
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Connection {
    /// Which connection of the peer this is, from 0.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Reads one whole request; `false` when there will be none.
    pub fn read_request(&mut self) -> bool {
        self.read_body().is_some()
    }

    /// Reads one whole request and returns its body.
    pub fn read_body(&mut self) -> Option<Vec<u8>> {
        let length = self.read_head()?;
        while self.unread.len() < length {
            self.read_more()?;
        }
        let rest = self.unread.split_off(length);
        self.seen.requests.fetch_add(1, Ordering::SeqCst);
        Some(std::mem::replace(&mut self.unread, rest))
    }

    /// Waits until bytes have come, shuts the connection down without reading them, and
    /// lingers until the client closes too: an idle timeout that is only noticed then.
    pub fn end_unread(mut self) {
        self.await_unread();
        let _ = self.stream.shutdown(std::net::Shutdown::Write);
        while self.read_more().is_some() {}
    }

    /// Waits until bytes have come, and leaves them to the kernel.
    pub fn await_unread(&mut self) {
        while !self.seen.stopping.load(Ordering::SeqCst) {
            match self.stream.peek(&mut [0]) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                _ => return,
            }
        }
    }

    /// Reads one head and returns the length of the body that it announces.
    pub fn read_head(&mut self) -> Option<usize> {
        let head = self.read_head_text()?;
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            (name == "Content-Length").then(|| value.parse().expect("the length is a number"))
        });
        Some(length.unwrap_or(0))
    }

    /// Reads one head and returns its text.
    pub fn read_head_text(&mut self) -> Option<String> {
        let end = loop {
            if let Some(place) = self.unread.windows(4).position(|four| four == b"\r\n\r\n") {
                break place + 4;
            }
            self.read_more()?;
        };
        let rest = self.unread.split_off(end);
        let head = std::mem::replace(&mut self.unread, rest);
        Some(String::from_utf8(head).expect("the engine sends text"))
    }

    /// Reads the next bytes; `None` if none will come.
    pub fn read(&mut self) -> Option<Vec<u8>> {
        if self.unread.is_empty() {
            self.read_more()?;
        }
        Some(std::mem::take(&mut self.unread))
    }

    /// Another end to send by, for another thread that sends on this connection.
    pub fn sender(&self) -> TcpStream {
        self.stream.try_clone().unwrap()
    }

    /// Sends in one piece. A client that has gone is noticed by the next read.
    pub fn send(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes);
    }

    /// Sends two pieces that the client most likely receives one by one.
    pub fn send_split(&mut self, bytes: &[u8], place: usize) {
        self.send(&bytes[..place]);
        wait_ms(1);
        self.send(&bytes[place..]);
    }

    /// Keeps the connection without sending until the client closes it.
    pub fn hold(&mut self) {
        while self.read_more().is_some() {}
    }

    /// Ends the connection with a reset in place of an orderly close.
    pub fn reset(self) {
        rustix::net::sockopt::set_socket_linger(&self.stream, Some(Duration::ZERO)).unwrap();
    }

    /// Waits for bytes; `None` when the client has gone or the peer is to end.
    fn read_more(&mut self) -> Option<()> {
        let mut buffer = [0; 64 * 1024];
        while !self.seen.stopping.load(Ordering::SeqCst) {
            match self.stream.read(&mut buffer) {
                Ok(0) => return None,
                Ok(count) => {
                    self.unread.extend_from_slice(&buffer[..count]);
                    return Some(());
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return None,
            }
        }
        None
    }
}

/// A delay that belongs to a script.
pub fn wait_ms(span: u64) {
    std::thread::sleep(Duration::from_millis(span));
}

fn accept(listener: TcpListener, seen: &Arc<Seen>, script: &(dyn Fn(Connection) + Sync)) {
    std::thread::scope(|scope| {
        let listener = listener;
        loop {
            let accepted = listener.accept();
            if seen.stopping.load(Ordering::SeqCst) {
                return;
            }
            let (stream, source) = accepted.expect("the peer has descriptors enough");
            let number = seen.connections.fetch_add(1, Ordering::SeqCst);
            if number - seen.finished.load(Ordering::SeqCst) >= CONNECTIONS_MAX {
                seen.finished.fetch_add(1, Ordering::SeqCst);
                continue;
            }
            stream.set_nodelay(true).unwrap();
            stream.set_read_timeout(Some(POLL)).unwrap();
            seen.sources.lock().unwrap().push(source.ip());
            let connection = Connection {
                stream,
                number,
                seen: Arc::clone(seen),
                unread: Vec::new(),
            };
            scope.spawn(move || {
                script(connection);
                seen.finished.fetch_add(1, Ordering::SeqCst);
            });
        }
    });
}
