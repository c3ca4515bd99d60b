//! Addresses in the kernel's form, at places where it finds them.

use std::net::SocketAddr;

/// Addresses that were connected to: few, and none is ever moved or dropped
/// before the ring, since an entry that waits to be submitted points at one.
#[derive(Default)]
pub(super) struct Destinations(Vec<(SocketAddr, Box<RawAddress>)>);

/// An address as the kernel reads it.
#[derive(Clone, Copy)]
enum RawAddress {
    V4(libc::sockaddr_in),
    V6(libc::sockaddr_in6),
}

impl Destinations {
    /// Where `address` stands, and how many bytes long it is.
    pub(super) fn find(&mut self, address: SocketAddr) -> (*const libc::sockaddr, libc::socklen_t) {
        let known = self.0.iter().position(|(known, _)| *known == address);
        let at = known.unwrap_or_else(|| {
            self.0.push((address, Box::new(RawAddress::new(address))));
            self.0.len() - 1
        });
        match &*self.0[at].1 {
            RawAddress::V4(raw) => ((&raw const *raw).cast(), length::<libc::sockaddr_in>()),
            RawAddress::V6(raw) => ((&raw const *raw).cast(), length::<libc::sockaddr_in6>()),
        }
    }
}

impl RawAddress {
    fn new(address: SocketAddr) -> RawAddress {
        match address {
            SocketAddr::V4(v4) => RawAddress::V4(libc::sockaddr_in {
                sin_family: family(libc::AF_INET),
                sin_port: v4.port().to_be(),
                sin_addr: libc::in_addr {
                    s_addr: u32::from_ne_bytes(v4.ip().octets()),
                },
                sin_zero: [0; 8],
            }),
            SocketAddr::V6(v6) => RawAddress::V6(libc::sockaddr_in6 {
                sin6_family: family(libc::AF_INET6),
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: v6.flowinfo(),
                sin6_addr: libc::in6_addr {
                    s6_addr: v6.ip().octets(),
                },
                sin6_scope_id: v6.scope_id(),
            }),
        }
    }
}

fn family(number: i32) -> libc::sa_family_t {
    libc::sa_family_t::try_from(number).expect("address families are small numbers")
}

fn length<T>() -> libc::socklen_t {
    libc::socklen_t::try_from(size_of::<T>()).expect("an address is short")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_stays_where_it_was_found() {
        // Method: the place of the first address before and after many others.
        let mut all = Destinations::default();
        let first = "127.0.0.1:80".parse().unwrap();
        let (place, length) = all.find(first);
        for port in 1..1000 {
            all.find(SocketAddr::new("::1".parse().unwrap(), port));
        }
        assert_eq!(all.find(first), (place, length));
        assert_eq!(length, 16);
    }
}
