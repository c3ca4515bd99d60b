//! Blocking peers: one thread for each listener, and one for each connection.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread::JoinHandle;

/// Listens on a free port and serves `count` connections, each in a thread, which
/// end with their connections.
pub(crate) fn serve<Served>(
    count: usize,
    served: impl Fn(TcpStream) -> Served + Send + Sync + Clone + 'static,
) -> (SocketAddr, JoinHandle<Vec<Served>>)
where
    Served: Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let thread = std::thread::spawn(move || {
        let threads: Vec<_> = (0..count)
            .map(|_| {
                let (stream, _) = listener.accept().unwrap();
                let served = served.clone();
                std::thread::spawn(move || served(stream))
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    (address, thread)
}

/// Sends everything back until the end; answers how many bytes that were.
pub(crate) fn echo(mut stream: TcpStream) -> usize {
    let mut buffer = vec![0; 64 * 1024];
    let mut total = 0;
    loop {
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return total,
            Ok(count) => {
                total += count;
                if stream.write_all(&buffer[..count]).is_err() {
                    return total;
                }
            }
        }
    }
}

/// Answers each request of 8 bytes, a number, with so many bytes of `pattern`
/// from 0 on.
pub(crate) fn giver(mut stream: TcpStream) {
    let mut request = [0; 8];
    while stream.read_exact(&mut request).is_ok() {
        let count = usize::try_from(u64::from_le_bytes(request)).unwrap();
        if stream.write_all(&pattern(0, count)).is_err() {
            return;
        }
    }
}

/// Bytes `from..from + count` of a stream in which every place is recognisable.
pub(crate) fn pattern(from: u64, count: usize) -> Vec<u8> {
    (from..from + count as u64)
        .map(|place| (place.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8)
        .collect()
}

/// An address where nobody listens: bound a moment ago.
pub(crate) fn nobody() -> SocketAddr {
    let gone = TcpListener::bind("127.0.0.1:0").unwrap();
    gone.local_addr().unwrap()
}
