//! Addresses that an agent may load.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// A network whose addresses may be loaded, written as `10.0.0.0/8` or as one address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AllowedTarget {
    network: IpAddr,
    /// The number of leading bits that must match.
    prefix: u8,
}

/// The error for a text that is not a network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a network: write an address such as 10.0.0.5, or a network such as 10.0.0.0/8"
)]
pub struct AllowedTargetError(String);

impl AllowedTarget {
    /// Whether an address is in the network. An IPv4-mapped IPv6 address counts as IPv4.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.network, address.to_canonical()) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                let difference = network.to_bits() ^ address.to_bits();
                difference.leading_zeros() >= u32::from(self.prefix)
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                let difference = network.to_bits() ^ address.to_bits();
                difference.leading_zeros() >= u32::from(self.prefix)
            }
            _ => false,
        }
    }
}

impl FromStr for AllowedTarget {
    type Err = AllowedTargetError;

    fn from_str(text: &str) -> Result<AllowedTarget, AllowedTargetError> {
        let wrong = || AllowedTargetError(text.to_owned());
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let network: IpAddr = address.parse().map_err(|_| wrong())?;
        let bits = if network.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            Some(prefix) => prefix.parse().map_err(|_| wrong())?,
            None => bits,
        };
        if prefix <= bits {
            Ok(AllowedTarget { network, prefix })
        } else {
            Err(wrong())
        }
    }
}

impl fmt::Display for AllowedTarget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.network, self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_contains_only_its_own_addresses() {
        // Method: first and last addresses of networks, and their neighbours outside.
        for (network, inside, outside) in [
            ("127.0.0.0/8", "127.255.255.255", "128.0.0.0"),
            ("10.1.2.3", "10.1.2.3", "10.1.2.4"),
            ("192.0.2.128/25", "192.0.2.128", "192.0.2.127"),
            ("::1", "::1", "::2"),
            ("2001:db8::/32", "2001:db8:ffff::1", "2001:db9::"),
            ("127.0.0.0/8", "::ffff:127.0.0.1", "::1"),
            ("::/0", "2001:db8::1", "127.0.0.1"),
        ] {
            let network: AllowedTarget = network.parse().unwrap();
            assert!(network.contains(inside.parse().unwrap()), "{network}");
            assert!(!network.contains(outside.parse().unwrap()), "{network}");
        }
        let any_ipv4: AllowedTarget = "0.0.0.0/0".parse().unwrap();
        assert!(any_ipv4.contains("203.0.113.9".parse().unwrap()));
    }

    #[test]
    fn invalid_networks_are_refused() {
        // Method: texts that resemble networks.
        for text in [
            "",
            "localhost",
            "10.0.0.0/33",
            "10.0.0/8",
            "::/129",
            "10.0.0.0/",
            "1.2.3.4/x",
        ] {
            assert!(text.parse::<AllowedTarget>().is_err(), "{text}");
        }
    }
}
