//! Connections that listeners dropped, counted by each socket itself: the counters of
//! a whole machine do not show whose they were.
//!
//! The kernel counts for a listener whatever a full queue made it drop.

use std::collections::BTreeMap;
use std::io;

use rustix::net::AddressFamily;

use super::sockets::listeners_at;
use crate::net::server_address::ServerAddress;
use crate::net::socket_diagnostics::{INODE, LISTENING, SocketQuery, attribute, word};

/// `INET_DIAG_SKMEMINFO`, and the place of the drops in it.
const MEMORY: u16 = 7;
const DROPS: usize = 8;

/// The connections that each listener at one address has dropped so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListenDrops(BTreeMap<u64, u32>);

impl ListenDrops {
    /// The drops since an earlier moment; for a listener that did not exist then, all of its drops.
    #[must_use]
    pub fn since(&self, earlier: &ListenDrops) -> u64 {
        let drops = self.0.iter().map(|(inode, drops)| {
            let before = earlier.0.get(inode).copied().unwrap_or_default();
            u64::from(drops.saturating_sub(before))
        });
        drops.sum()
    }
}

/// The drops so far of the listeners at an address of this machine. Empty if there is no listener,
/// and for a Unix socket, which refuses connections that it has no room for.
///
/// # Errors
/// The kernel does not report sockets, or one was closed meanwhile.
pub fn listen_drops(address: ServerAddress) -> io::Result<ListenDrops> {
    let ServerAddress::Tcp(_) = address else {
        return Ok(ListenDrops::default());
    };
    let numbers = listeners_at(address)?;
    let mut drops: BTreeMap<u64, u32> = BTreeMap::new();
    for family in [AddressFamily::INET, AddressFamily::INET6] {
        if drops.len() < numbers.len() {
            let query = SocketQuery {
                family,
                states: LISTENING,
                local_port: address.port(),
                remote_port: 0,
                attribute: Some(MEMORY),
            };
            query.each(|message| {
                let pair = listener(message);
                drops.extend(pair.filter(|(inode, _)| numbers.contains(inode)));
            })?;
        }
    }
    if drops.len() == numbers.len() {
        Ok(ListenDrops(drops))
    } else {
        Err(io::Error::from(io::ErrorKind::NotFound))
    }
}

/// A listener's inode and its drops.
fn listener(message: &[u8]) -> Option<(u64, u32)> {
    let inode = word(message, INODE)?;
    let drops = word(attribute(message, MEMORY)?, DROPS * 4)?;
    Some((inode.into(), drops))
}

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, TcpListener, TcpStream};
    use std::time::Duration;

    use proptest::prelude::*;
    use rustix::net::listen;

    use super::*;

    #[test]
    fn a_listener_counts_its_own_drops_and_not_those_of_its_neighbour() {
        // Method: two listeners of one port on two addresses, one with a queue of one that
        // is never emptied; more connections than that are tried at it, each for a moment.
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
    fn without_a_listener_there_are_no_drops() {
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
            // Method: any bytes, as the message of a socket.
            let _ = listener(&bytes);
        }
    }
}
