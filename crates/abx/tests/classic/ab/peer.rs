//! A server whose behaviour depends on a request's path, and that records what it receives.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The server; it ends when dropped.
pub struct AbPeer {
    address: SocketAddr,
    state: Arc<PeerState>,
    acceptor: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct PeerState {
    requests: Mutex<Vec<String>>,
    responded: AtomicUsize,
    is_ending: AtomicBool,
}

impl AbPeer {
    pub fn start() -> AbPeer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(PeerState::default());
        let shared = Arc::clone(&state);
        let acceptor = thread::spawn(move || {
            for stream in listener.incoming() {
                if shared.is_ending.load(Ordering::SeqCst) {
                    return;
                }
                let state = Arc::clone(&shared);
                // The thread ends when its client does, or with the server.
                thread::spawn(move || serve(stream.unwrap(), &state));
            }
        });
        AbPeer {
            address,
            state,
            acceptor: Some(acceptor),
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The head and body of each request so far.
    pub fn seen(&self) -> Vec<String> {
        self.state.requests.lock().unwrap().clone()
    }

    /// Forgets all requests so far.
    pub fn forget(&self) {
        self.state.responded.store(0, Ordering::SeqCst);
        self.state.requests.lock().unwrap().clear();
    }
}

impl Drop for AbPeer {
    fn drop(&mut self) {
        self.state.is_ending.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        let _ = self.acceptor.take().map(JoinHandle::join);
    }
}

/// Responds to one connection's requests; `None` when there are no more.
fn serve(stream: TcpStream, state: &PeerState) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    loop {
        let head = read_head(&mut reader)?;
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("Content-length: "));
        let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
        reader.read_exact(&mut body).ok()?;
        let body = String::from_utf8(body).unwrap();
        state.requests.lock().unwrap().push(format!("{head}{body}"));
        let number = state.responded.fetch_add(1, Ordering::SeqCst);
        let is_kept = head.contains("Connection: Keep-Alive");
        respond(&stream, head.split(' ').nth(1)?, number, is_kept, state)?;
        if !is_kept {
            return None;
        }
    }
}

fn read_head(reader: &mut BufReader<TcpStream>) -> Option<String> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    Some(head)
}

/// Responds to the request of this number; `None` ends the connection.
fn respond(
    mut stream: &TcpStream,
    path: &str,
    number: usize,
    is_kept: bool,
    state: &PeerState,
) -> Option<()> {
    let (mut status, mut body) = ("200 OK", "hello world\n");
    match path {
        "/404" => status = "404 Not Found",
        "/vary" if number % 2 == 1 => body = "hello\n",
        "/reset" if number % 3 == 2 => {
            let at_once = Some(Duration::ZERO);
            rustix::net::sockopt::set_socket_linger(stream, at_once).unwrap();
            return None;
        }
        "/silent" => {
            while !state.is_ending.load(Ordering::SeqCst) {
                thread::sleep(Duration::from_millis(10));
            }
            return None;
        }
        _ => {}
    }
    let field = if is_kept {
        "Connection: keep-alive\r\n"
    } else {
        ""
    };
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\nServer: peer/1 x\r\nContent-Length: {length}\r\n{field}\r\n");
    stream.write_all(format!("{head}{body}").as_bytes()).ok()
}
