//! TCP segments that connections of this machine have received from a server, by the kernel's
//! socket diagnostics.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;

use rustix::net::AddressFamily;

use super::socket_diagnostics::{SocketQuery, attribute, double, word};

/// The segments that each connection to a server has received so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReceivedSegments(HashMap<u64, SegmentSum>);

/// Segments with data, and their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SegmentSum {
    pub segments: u64,
    /// As TCP carries them: over TLS, encrypted.
    pub bytes: u64,
}

impl ReceivedSegments {
    /// Reads all connections from this machine to the server at this address. Every user may do so.
    ///
    /// # Errors
    /// ENOENT and the like if the kernel has no socket diagnostics.
    pub fn from_server(server: SocketAddr) -> io::Result<ReceivedSegments> {
        let query = SocketQuery {
            family: match server {
                SocketAddr::V4(_) => AddressFamily::INET,
                SocketAddr::V6(_) => AddressFamily::INET6,
            },
            states: ESTABLISHED,
            local_port: 0,
            remote_port: server.port(),
            attribute: Some(TCP_INFO),
        };
        let mut received = ReceivedSegments::default();
        query.each(|message| received.0.extend(connection(message)))?;
        Ok(received)
    }

    /// The segments received since `earlier`, on the connections that are in both.
    #[must_use]
    pub fn since(&self, earlier: &ReceivedSegments) -> SegmentSum {
        let mut sum = SegmentSum::default();
        for (connection, now) in &self.0 {
            if let Some(then) = earlier.0.get(connection) {
                // The kernel counts segments in 32 bits.
                let segments = (now.segments as u32).wrapping_sub(then.segments as u32);
                sum.segments += u64::from(segments);
                sum.bytes += now.bytes.saturating_sub(then.bytes);
            }
        }
        sum
    }
}

/// The unique cookie of a connection, and the segments that it received.
fn connection(message: &[u8]) -> Option<(u64, SegmentSum)> {
    let info = attribute(message, TCP_INFO)?;
    let received = SegmentSum {
        segments: word(info, DATA_SEGMENTS_IN)?.into(),
        bytes: double(info, BYTES_RECEIVED)?,
    };
    Some((double(message, COOKIE)?, received))
}

// From include/uapi/linux/inet_diag.h and tcp.h.
/// `INET_DIAG_INFO`.
const TCP_INFO: u16 = 2;
/// The bit of `TCP_ESTABLISHED`.
const ESTABLISHED: u32 = 1 << 1;
/// In a message.
const COOKIE: usize = 44;
/// In `tcp_info`.
const BYTES_RECEIVED: usize = 128;
const DATA_SEGMENTS_IN: usize = 152;

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;
    use crate::net::socket_diagnostics::MESSAGE_BYTES;

    #[test]
    fn segments_of_both_families_are_counted() {
        // Method: three writes of 10 bytes, each read before the next one, to a connection that
        // stood before, and one to a connection that did not.
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else {
                continue;
            };
            let server = listener.local_addr().unwrap();
            let connected = || {
                let client = TcpStream::connect(server).unwrap();
                let (accepted, _) = listener.accept().unwrap();
                (client, accepted)
            };
            let send = |(client, accepted): &mut (TcpStream, TcpStream)| {
                accepted.write_all(&[0; 10]).unwrap();
                client.read_exact(&mut [0; 10]).unwrap();
            };
            let mut old = connected();
            send(&mut old);
            let before = match ReceivedSegments::from_server(server) {
                Ok(before) => before,
                // A filter of system calls, or a kernel without diagnostics.
                Err(_) => return,
            };
            (0..3).for_each(|_| send(&mut old));
            let mut new = connected();
            send(&mut new);
            let after = ReceivedSegments::from_server(server).unwrap();
            let expected = SegmentSum {
                segments: 3,
                bytes: 30,
            };
            assert_eq!(after.since(&before), expected, "{address}");
            assert_eq!((before.0.len(), after.0.len()), (1, 2));
        }
    }

    #[test]
    fn messages_that_end_early_are_no_connections() {
        // Method: a message of every length, with an attribute that claims more than there is.
        let mut message = vec![0; MESSAGE_BYTES];
        message.extend(500_u16.to_ne_bytes());
        message.extend(TCP_INFO.to_ne_bytes());
        message.extend([0; 100]);
        for length in 0..=message.len() {
            assert_eq!(connection(&message[..length]), None);
        }
    }
}
