//! Connections that listeners did not take, each counted by its own socket: the counters of
//! a whole machine do not tell whose they were.
//!
//! The kernel tells of sockets over netlink (sock_diag(7)); it counts for a listener
//! whatever a full queue made it drop.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with,
};

use super::sockets::listeners_at;
use crate::net::server_address::ServerAddress;

/// `SOCK_DIAG_BY_FAMILY`, a request's type and that of its responses.
const BY_FAMILY: u16 = 20;
/// `NLM_F_REQUEST | NLM_F_DUMP`.
const DUMP: u16 = 0x301;
/// `NLMSG_ERROR` and `NLMSG_DONE`.
const ERROR: u16 = 2;
const DONE: u16 = 3;
const TCP: u8 = 6;
/// The set that has only the state `TCP_LISTEN`.
const LISTENING: u32 = 1 << 10;
/// `INET_DIAG_SKMEMINFO`, an attribute of a socket, and the place of its drops.
const MEMORY: u16 = 7;
const DROPS: usize = 8;
/// The length of a message's head (`nlmsghdr`), of what is said of a socket
/// (`inet_diag_msg`) and of the head of an attribute.
const HEAD_BYTES: usize = 16;
const SOCKET_BYTES: usize = 72;
const ATTRIBUTE_BYTES: usize = 4;
/// Where a socket's inode stands in a message.
const INODE_AT: usize = HEAD_BYTES + 68;
/// The kernel sends parts of at most that length.
const PART_BYTES_MAX: usize = 32 * 1024;
/// It answers at once.
const RESPONDS_WITHIN: Duration = Duration::from_secs(1);

/// What each listener at one address has dropped so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListenDrops(BTreeMap<u64, u32>);

impl ListenDrops {
    /// What was dropped since an earlier moment; of a listener that was not there then, all.
    #[must_use]
    pub fn since(&self, earlier: &ListenDrops) -> u64 {
        let each = self.0.iter().map(|(inode, drops)| {
            let before = earlier.0.get(inode).copied().unwrap_or_default();
            u64::from(drops.saturating_sub(before))
        });
        each.sum()
    }
}

/// What the listeners at an address of this machine have dropped so far; nothing where none
/// is here, and of a Unix socket, which refuses what it has no room for.
///
/// # Errors
/// The kernel does not tell of sockets, or one was closed meanwhile.
pub fn listen_drops(address: ServerAddress) -> io::Result<ListenDrops> {
    let ServerAddress::Tcp(_) = address else {
        return Ok(ListenDrops::default());
    };
    let numbers = listeners_at(address)?;
    let mut drops = BTreeMap::new();
    for family in [AddressFamily::INET, AddressFamily::INET6] {
        if drops.len() < numbers.len() {
            let pairs = dump(family, address.port())?.into_iter();
            drops.extend(pairs.filter(|(inode, _)| numbers.contains(inode)));
        }
    }
    if drops.len() == numbers.len() {
        Ok(ListenDrops(drops))
    } else {
        Err(io::Error::from(io::ErrorKind::NotFound))
    }
}

/// The inodes and drops of all listeners of a family at this port.
fn dump(family: AddressFamily, port: u16) -> io::Result<Vec<(u64, u32)>> {
    let flags = SocketFlags::CLOEXEC;
    let kernel = socket_with(
        AddressFamily::NETLINK,
        SocketType::DGRAM,
        flags,
        Some(netlink::SOCK_DIAG),
    )?;
    set_socket_timeout(&kernel, Timeout::Recv, Some(RESPONDS_WITHIN))?;
    let everybody = SocketAddrNetlink::new(0, 0);
    sendto(
        &kernel,
        &request(family, port),
        SendFlags::empty(),
        &everybody,
    )?;
    let mut pairs = Vec::new();
    while take_part(&kernel, &mut pairs)? {}
    Ok(pairs)
}

/// Receives one part of a response; whether others follow.
fn take_part(kernel: &OwnedFd, pairs: &mut Vec<(u64, u32)>) -> io::Result<bool> {
    let mut buffer = vec![0; PART_BYTES_MAX];
    let (count, _) = recv(kernel, &mut buffer[..], RecvFlags::empty())?;
    let mut rest = &buffer[..count];
    while let Some((kind, message, next)) = first_message(rest) {
        match kind {
            DONE => return Ok(false),
            ERROR => return Err(io::Error::from(io::ErrorKind::Unsupported)),
            BY_FAMILY => pairs.extend(listener(message)),
            _ => {}
        }
        rest = next;
    }
    // Nothing that can be read is no response, of which nothing more will come.
    match count {
        0 => Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
        _ => Ok(true),
    }
}

/// `nlmsghdr` and `inet_diag_req_v2`.
fn request(family: AddressFamily, port: u16) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEAD_BYTES + 56);
    bytes.extend(72_u32.to_ne_bytes());
    bytes.extend(BY_FAMILY.to_ne_bytes());
    bytes.extend(DUMP.to_ne_bytes());
    // Number and sender, which nobody needs.
    bytes.extend([0; 8]);
    let family = u8::try_from(family.as_raw()).unwrap_or_default();
    bytes.extend([family, TCP, 1 << (MEMORY - 1), 0]);
    bytes.extend(LISTENING.to_ne_bytes());
    bytes.extend(port.to_be_bytes());
    // Any peer, addresses and interface; no cookie.
    bytes.resize(HEAD_BYTES + 56, 0);
    bytes
}

/// The kind and the bytes of the first message, and what is behind it.
fn first_message(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = u32_at(bytes, 0)? as usize;
    let kind = u16_at(bytes, 4)?;
    let message = bytes.get(..length).filter(|_| length >= HEAD_BYTES)?;
    let next = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    Some((kind, message, next))
}

/// A listener's inode and what it dropped.
fn listener(message: &[u8]) -> Option<(u64, u32)> {
    let inode = u32_at(message, INODE_AT)?;
    let mut rest = message.get(HEAD_BYTES + SOCKET_BYTES..)?;
    loop {
        let length = usize::from(u16_at(rest, 0)?);
        let attribute = rest.get(ATTRIBUTE_BYTES..length)?;
        if u16_at(rest, 2)? == MEMORY {
            return Some((inode.into(), u32_at(attribute, DROPS * 4)?));
        }
        rest = rest.get(length.next_multiple_of(4)..)?;
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..at + 2)?;
    Some(u16::from_ne_bytes(bytes.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?;
    Some(u32::from_ne_bytes(bytes.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, TcpListener, TcpStream};

    use proptest::prelude::*;
    use rustix::net::listen;

    use super::*;

    #[test]
    fn a_listener_counts_what_it_drops_and_its_neighbour_does_not() {
        // Method: two listeners of one port on two addresses, one with a queue of one that
        // nobody empties; more connections than that are tried at it, each for a moment.
        let full = TcpListener::bind("127.0.0.1:0").unwrap();
        listen(&full, 1).unwrap();
        let address = full.local_addr().unwrap();
        let neighbour = SocketAddr::new([127, 0, 0, 2].into(), address.port());
        let _empty = TcpListener::bind(neighbour).unwrap();
        let before = [address, neighbour].map(|addr| listen_drops(addr.into()).unwrap());
        let moment = Duration::from_millis(50);
        let _tried: Vec<_> = (0..6)
            .map(|_| TcpStream::connect_timeout(&address, moment))
            .collect();
        let after = [address, neighbour].map(|addr| listen_drops(addr.into()).unwrap());
        assert!(after[0].since(&before[0]) > 0, "{after:?}");
        assert_eq!(after[1].since(&before[1]), 0);
        assert_eq!(listen_drops(neighbour.into()).unwrap(), after[1]);
    }

    #[test]
    fn where_nobody_listens_nothing_is_dropped() {
        // Method: the port of a listener that is gone.
        let gone = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = gone.local_addr().unwrap();
        drop(gone);
        assert_eq!(
            listen_drops(address.into()).unwrap(),
            ListenDrops::default()
        );
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            // Method: any bytes, as a response and as what is said of one socket.
            let mut rest = &bytes[..];
            while let Some((_, message, next)) = first_message(rest) {
                let _ = listener(message);
                rest = next;
            }
            let _ = listener(&bytes);
        }
    }
}
