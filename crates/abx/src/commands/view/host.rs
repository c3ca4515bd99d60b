//! The names by which a browser may reach this server.
//!
//! Another site can let its name resolve to our address (DNS rebinding); its scripts could then
//! read our pages as its own. `Host` has that name, so only names that cannot be rebound are
//! admitted.

use std::net::{IpAddr, Ipv6Addr};

/// The names under which this server accepts requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostNames {
    listening: IpAddr,
}

impl HostNames {
    /// The names of a server that listens on this address.
    pub fn of(listening: IpAddr) -> HostNames {
        HostNames { listening }
    }

    /// Whether the value of a `Host` header is one of the names. Any port is accepted, since ports
    /// may be forwarded.
    pub fn admit(&self, host: &str) -> bool {
        let Some(name) = without_port(host) else {
            return false;
        };
        if name.eq_ignore_ascii_case("localhost") {
            return true;
        }
        let Some(address) = address(name) else {
            return false;
        };
        // An address cannot be rebound. If the server listens on all addresses of the machine, it
        // is not known which of them clients use.
        address.is_loopback() || self.listening.is_unspecified() || address == self.listening
    }
}

/// The part before the port; `None` if the rest is not a port.
fn without_port(host: &str) -> Option<&str> {
    let end = match host.strip_prefix('[') {
        Some(rest) => rest.find(']')? + 2,
        None => host.find(':').unwrap_or(host.len()),
    };
    let (name, port) = host.split_at(end);
    let is_port = match port.strip_prefix(':') {
        Some(digits) => digits.bytes().all(|byte| byte.is_ascii_digit()),
        None => port.is_empty(),
    };
    is_port.then_some(name)
}

fn address(name: &str) -> Option<IpAddr> {
    let address = match name.strip_prefix('[') {
        Some(rest) => IpAddr::V6(rest.strip_suffix(']')?.parse::<Ipv6Addr>().ok()?),
        None => IpAddr::V4(name.parse().ok()?),
    };
    Some(address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_cannot_be_rebound_are_admitted() {
        // Method: names as browsers and attackers send them, for servers on loopback addresses, on
        // another address and on all addresses.
        let always = [
            "localhost",
            "LocalHost:80",
            "127.0.0.1:8000",
            "127.9.9.9",
            "[::1]:8000",
            "[::ffff:127.0.0.1]",
        ];
        let never = [
            "",
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "127.0.0.1:80:evil",
            "127.0.0.1:evil",
            "[::1",
            "[::1]evil",
            "::1",
            "0x7f.1",
            "2130706433",
            "localhost@evil.example",
            " localhost",
        ];
        let on = |text: &str| HostNames::of(text.parse().unwrap());
        let host_names = [on("127.0.0.1"), on("::1"), on("192.0.2.7"), on("0.0.0.0")];
        for names in host_names {
            assert!(always.iter().all(|name| names.admit(name)), "{names:?}");
            let admitted: Vec<_> = never.iter().filter(|name| names.admit(name)).collect();
            assert!(admitted.is_empty(), "{names:?}: {admitted:?}");
        }
        assert_eq!(
            host_names.map(|names| names.admit("192.0.2.7:80")),
            [false, false, true, true]
        );
    }
}
