//! Lists of this machine's TCP sockets by the kernel's diagnostics: netlink, sock_diag(7).

use std::io;
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketFlags, SocketType, netlink, socket_with};

/// Which sockets to list. A port of 0 stands for any.
pub(crate) struct SocketQuery {
    pub(crate) family: AddressFamily,
    /// A bit per state of TCP.
    pub(crate) states: u32,
    pub(crate) local_port: u16,
    pub(crate) remote_port: u16,
    /// The attribute of each message after the socket's addresses, if any: an `INET_DIAG_…`, from 1
    /// to 8.
    pub(crate) attribute: Option<u16>,
}

impl SocketQuery {
    /// Shows the message of each socket: `inet_diag_msg`, then its attributes.
    ///
    /// # Errors
    /// ENOENT and the like if the kernel has no socket diagnostics.
    pub(crate) fn each(&self, mut show: impl FnMut(&[u8])) -> io::Result<()> {
        let (flags, protocol) = (SocketFlags::CLOEXEC, Some(netlink::SOCK_DIAG));
        let kernel = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, protocol)?;
        set_socket_timeout(&kernel, Timeout::Recv, Some(RESPONDS_WITHIN))?;
        rustix::io::write(&kernel, &self.request())?;
        let mut buffer = vec![0_u8; BUFFER_BYTES];
        loop {
            let length = rustix::io::read(&kernel, &mut *buffer)?;
            if length == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let mut rest = &buffer[..length];
            while let Some((kind, message, next)) = first_message(rest) {
                match kind {
                    DONE => return Ok(()),
                    ERROR => {
                        let errno = word(message, 0).unwrap_or_default();
                        let errno = errno.wrapping_neg().cast_signed();
                        return Err(io::Error::from_raw_os_error(errno));
                    }
                    SOCK_DIAG_BY_FAMILY => show(message),
                    _ => {}
                }
                rest = next;
            }
        }
    }

    /// `nlmsghdr` and `inet_diag_req_v2`.
    fn request(&self) -> Vec<u8> {
        let mut request = Vec::with_capacity(REQUEST_BYTES);
        request.extend((REQUEST_BYTES as u32).to_ne_bytes());
        request.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
        request.extend(REQUEST_DUMP.to_ne_bytes());
        // Sequence and sender.
        request.extend([0; 8]);
        let (family, protocol) = (self.family.as_raw() as u8, libc::IPPROTO_TCP as u8);
        let attributes = self
            .attribute
            .map_or(0, |attribute| 1_u8 << (attribute - 1));
        request.extend([family, protocol, attributes, 0]);
        request.extend(self.states.to_ne_bytes());
        request.extend(self.local_port.to_be_bytes());
        request.extend(self.remote_port.to_be_bytes());
        // Both addresses, the interface and the cookie may be any.
        request.resize(REQUEST_BYTES, 0);
        request
    }
}

/// The kind and the content of the first message, and what follows it.
fn first_message(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = word(bytes, 0)? as usize;
    let message = bytes.get(HEADER_BYTES..length)?;
    let next = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    Some((half(bytes, 4)?, message, next))
}

/// The content of this attribute of a socket.
pub(crate) fn attribute(message: &[u8], kind: u16) -> Option<&[u8]> {
    let mut rest = message.get(MESSAGE_BYTES..)?;
    loop {
        let length = usize::from(half(rest, 0)?);
        let content = rest.get(ATTRIBUTE_HEADER_BYTES..length)?;
        if half(rest, 2)? == kind {
            return Some(content);
        }
        rest = rest.get(length.next_multiple_of(4)..)?;
    }
}

/// Bytes of a message from this place on.
pub(crate) fn bytes<const N: usize>(message: &[u8], start: usize) -> Option<[u8; N]> {
    message.get(start..)?.first_chunk().copied()
}

fn half(bytes: &[u8], start: usize) -> Option<u16> {
    self::bytes(bytes, start).map(u16::from_ne_bytes)
}

pub(crate) fn word(bytes: &[u8], start: usize) -> Option<u32> {
    self::bytes(bytes, start).map(u32::from_ne_bytes)
}

pub(crate) fn double(bytes: &[u8], start: usize) -> Option<u64> {
    self::bytes(bytes, start).map(u64::from_ne_bytes)
}

// From include/uapi/linux/netlink.h, sock_diag.h and inet_diag.h.
const HEADER_BYTES: usize = 16;
const REQUEST_BYTES: usize = HEADER_BYTES + 56;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// `NLM_F_REQUEST | NLM_F_DUMP`.
const REQUEST_DUMP: u16 = 0x301;
const ERROR: u16 = 2;
const DONE: u16 = 3;
pub(crate) const MESSAGE_BYTES: usize = 72;
/// The place of a socket's inode in its message.
pub(crate) const INODE: usize = 68;
/// The set that has only the state `TCP_LISTEN`.
pub(crate) const LISTENING: u32 = 1 << 10;
const ATTRIBUTE_HEADER_BYTES: usize = 4;
/// The kernel sends up to 32 KiB at once.
const BUFFER_BYTES: usize = 64 << 10;
/// The kernel responds at once.
const RESPONDS_WITHIN: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            // Method: random bytes, as a response and as the message of one socket.
            let mut rest = &bytes[..];
            while let Some((_, message, next)) = first_message(rest) {
                let _ = attribute(message, 7);
                rest = next;
            }
            let _ = attribute(&bytes, 7);
        }
    }
}
