//! Settings of a socket before it connects.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::sockopt;

/// Settings of a socket before it connects; none by default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SocketTuning {
    /// The size of the send buffer; the kernel caps it, and doubles it for its own
    /// needs (socket(7)). `None` lets it choose.
    pub send_bytes: Option<usize>,
    /// The size of the receive buffer.
    pub receive_bytes: Option<usize>,
    /// Whether it closes with a reset at once, and drops bytes that are not sent by then.
    pub closes_with_reset: bool,
}

impl SocketTuning {
    /// Send and receive buffers of this size.
    #[must_use]
    pub fn of_buffers(bytes: Option<usize>) -> SocketTuning {
        SocketTuning {
            send_bytes: bytes,
            receive_bytes: bytes,
            closes_with_reset: false,
        }
    }

    /// SUBTLE: before it connects, because the window's scale is announced then (tcp(7)).
    pub(super) fn set(self, socket: &OwnedFd) -> io::Result<()> {
        if let Some(bytes) = self.send_bytes {
            sockopt::set_socket_send_buffer_size(socket, bytes)?;
        }
        if let Some(bytes) = self.receive_bytes {
            sockopt::set_socket_recv_buffer_size(socket, bytes)?;
        }
        if self.closes_with_reset {
            sockopt::set_socket_linger(socket, Some(Duration::ZERO))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;

    use super::*;
    use crate::Socket;

    #[test]
    fn buffers_have_the_requested_size() {
        // Method: the values that the kernel reports of both; it doubles them.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().into();
        let tuning = SocketTuning {
            receive_bytes: Some(30_000),
            ..SocketTuning::of_buffers(Some(20_000))
        };
        let socket = Socket::connect_tuned(address, None, tuning).unwrap();
        assert_eq!(sockopt::socket_send_buffer_size(&socket).unwrap(), 40_000);
        assert_eq!(sockopt::socket_recv_buffer_size(&socket).unwrap(), 60_000);
    }

    #[test]
    fn a_socket_closes_with_a_reset_if_it_is_set_to() {
        // Method: what the peer reads when the socket was closed, with the setting and without.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().into();
        let read_behind = |closes_with_reset| {
            let tuning = SocketTuning {
                closes_with_reset,
                ..SocketTuning::default()
            };
            let socket = Socket::connect_tuned(address, None, tuning).unwrap();
            let (mut peer, _) = listener.accept().unwrap();
            drop(socket);
            peer.read(&mut [0]).map_err(|error| error.kind())
        };
        assert_eq!(read_behind(false), Ok(0));
        assert_eq!(read_behind(true), Err(io::ErrorKind::ConnectionReset));
    }
}
