//! TCP segments that the connections of this machine to a server have got, by the kernel's
//! socket diagnostics.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, SocketFlags, SocketType, netlink, socket_with};

/// What each connection to a server has got so far.
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
    /// Looks at all connections from this machine to the server at this address. Every user may.
    ///
    /// # Errors
    /// ENOENT and the like if the kernel has no socket diagnostics.
    pub fn from_server(server: SocketAddr) -> io::Result<ReceivedSegments> {
        let flags = SocketFlags::CLOEXEC;
        let protocol = Some(netlink::SOCK_DIAG);
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, protocol)?;
        rustix::io::write(&socket, &request(server))?;
        let mut received = ReceivedSegments::default();
        let mut buffer = vec![0; BUFFER_BYTES];
        while received.read_messages(&socket, &mut buffer)? == Dump::GoesOn {}
        Ok(received)
    }

    /// What came since `earlier`, on the connections that are in both.
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

    fn read_messages(&mut self, socket: &OwnedFd, buffer: &mut [u8]) -> io::Result<Dump> {
        let length = rustix::io::read(socket, &mut *buffer)?;
        let mut rest = &buffer[..length];
        while let Some(length) = word(rest, 0).map(|length| length as usize) {
            let Some(message) = rest.get(..length).filter(|_| length >= HEADER_BYTES) else {
                return Err(io::ErrorKind::InvalidData.into());
            };
            match half(message, 4) {
                Some(DONE) => return Ok(Dump::Ended),
                Some(ERROR) => {
                    let errno = word(message, HEADER_BYTES).unwrap_or_default();
                    return Err(io::Error::from_raw_os_error(
                        errno.wrapping_neg().cast_signed(),
                    ));
                }
                _ => self.0.extend(connection(&message[HEADER_BYTES..])),
            }
            rest = rest.get(aligned(length)..).unwrap_or_default();
        }
        Ok(Dump::GoesOn)
    }
}

/// Whether more messages come.
#[derive(Debug, PartialEq, Eq)]
enum Dump {
    GoesOn,
    Ended,
}

/// Asks for every established TCP connection to this port, with what TCP knows of it.
fn request(server: SocketAddr) -> Vec<u8> {
    let family = match server {
        SocketAddr::V4(_) => libc::AF_INET,
        SocketAddr::V6(_) => libc::AF_INET6,
    };
    let mut request = Vec::with_capacity(REQUEST_BYTES);
    request.extend((REQUEST_BYTES as u32).to_ne_bytes());
    request.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    request.extend(REQUEST_DUMP.to_ne_bytes());
    // Sequence and sender.
    request.extend([0; 8]);
    request.extend([family as u8, libc::IPPROTO_TCP as u8, WITH_TCP_INFO, 0]);
    request.extend(ESTABLISHED.to_ne_bytes());
    // The local port may be any.
    request.extend([0; 2]);
    request.extend(server.port().to_be_bytes());
    // So may be both addresses, the interface and the cookie.
    request.resize(REQUEST_BYTES, 0);
    request
}

/// The cookie of a connection, which no other one has, and what it got.
fn connection(message: &[u8]) -> Option<(u64, SegmentSum)> {
    let cookie = double(message, COOKIE)?;
    let mut rest = message.get(MESSAGE_BYTES..)?;
    while let (Some(length), Some(kind)) = (half(rest, 0), half(rest, 2)) {
        let length = usize::from(length);
        if kind == TCP_INFO {
            let info = rest.get(ATTRIBUTE_HEADER_BYTES..length)?;
            let received = SegmentSum {
                segments: word(info, DATA_SEGMENTS_IN)?.into(),
                bytes: double(info, BYTES_RECEIVED)?,
            };
            return Some((cookie, received));
        }
        rest = rest.get(aligned(length).max(ATTRIBUTE_HEADER_BYTES)..)?;
    }
    None
}

/// Messages and attributes begin at multiples of four.
fn aligned(length: usize) -> usize {
    length.next_multiple_of(4)
}

fn take<const N: usize>(bytes: &[u8], start: usize) -> Option<[u8; N]> {
    bytes.get(start..)?.first_chunk().copied()
}

fn half(bytes: &[u8], start: usize) -> Option<u16> {
    take(bytes, start).map(u16::from_ne_bytes)
}

fn word(bytes: &[u8], start: usize) -> Option<u32> {
    take(bytes, start).map(u32::from_ne_bytes)
}

fn double(bytes: &[u8], start: usize) -> Option<u64> {
    take(bytes, start).map(u64::from_ne_bytes)
}

// From include/uapi/linux/netlink.h, sock_diag.h, inet_diag.h and tcp.h.
const HEADER_BYTES: usize = 16;
const REQUEST_BYTES: usize = HEADER_BYTES + 56;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// `NLM_F_REQUEST | NLM_F_DUMP`.
const REQUEST_DUMP: u16 = 0x301;
const ERROR: u16 = 2;
const DONE: u16 = 3;
/// The bit of `INET_DIAG_INFO`.
const WITH_TCP_INFO: u8 = 1 << (TCP_INFO - 1);
const TCP_INFO: u16 = 2;
/// The bit of `TCP_ESTABLISHED`.
const ESTABLISHED: u32 = 1 << 1;
const MESSAGE_BYTES: usize = 72;
/// In a message.
const COOKIE: usize = 44;
const ATTRIBUTE_HEADER_BYTES: usize = 4;
/// In `tcp_info`.
const BYTES_RECEIVED: usize = 128;
const DATA_SEGMENTS_IN: usize = 152;
/// The kernel sends up to 32 KiB at once.
const BUFFER_BYTES: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

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
