//! Hosts in URLs: addresses of IPv6 in brackets, with a zone or without.

use std::fs;
use std::io;
use std::net::{Ipv6Addr, SocketAddr};

use abx_sys::names;

/// How a URL writes the separator between an address and its zone (RFC 6874).
const ZONE: &str = "%25";

/// A host and a port, as `Host` has them: without a zone, which means something on this machine
/// only.
pub(crate) fn without_zone(authority: &str) -> String {
    match (authority.find('%'), authority.find(']')) {
        (Some(zone), Some(end)) if zone < end => {
            format!("{}{}", &authority[..zone], &authority[end..])
        }
        _ => authority.to_owned(),
    }
}

/// The addresses of a host without brackets.
///
/// # Errors
/// The resolver's error, or that the zone is no network interface.
pub fn look_up(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let Some((address, zone)) = host.split_once('%') else {
        return names::look_up(host, port);
    };
    let zone = zone.strip_prefix(&ZONE[1..]).unwrap_or(zone);
    let scope = interface(zone)?;
    let mut socket_addrs = names::look_up(address, port)?;
    for address in &mut socket_addrs {
        if let SocketAddr::V6(address) = address {
            address.set_scope_id(scope);
        }
    }
    Ok(socket_addrs)
}

/// The number of a network interface, by its name or as a number.
fn interface(zone: &str) -> io::Result<u32> {
    if let Ok(number) = zone.parse() {
        return Ok(number);
    }
    let is_name = !zone.is_empty() && !zone.contains(['/', '\0']) && !zone.starts_with('.');
    let text = is_name.then(|| fs::read_to_string(format!("/sys/class/net/{zone}/ifindex")));
    let number = text
        .and_then(Result::ok)
        .and_then(|text| text.trim().parse().ok());
    number.ok_or_else(|| {
        io::Error::other(format!(
            "this machine has no network interface `{zone}`: `ip link` lists them"
        ))
    })
}

/// The correct form of an authority that is an IPv6 address without brackets, with its port;
/// `None` for any other authority.
pub(crate) fn with_brackets(authority: &str) -> Option<String> {
    let is_ipv6 = |text: &str| {
        text.split('%')
            .next()
            .is_some_and(|text| text.parse::<Ipv6Addr>().is_ok())
    };
    let (host, port) = authority.rsplit_once(':')?;
    if is_ipv6(host) && port.parse::<u16>().is_ok() {
        Some(format!("[{host}]:{port}"))
    } else {
        is_ipv6(authority).then(|| format!("[{authority}]"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_stays_on_this_machine() {
        // Method: authorities with a zone, without one, and a name that only looks like one.
        for (authority, host) in [
            ("[fe80::1%25eth0]:81", "[fe80::1]:81"),
            ("[::1%lo]", "[::1]"),
            ("[::1]:81", "[::1]:81"),
            ("a%25b:81", "a%25b:81"),
        ] {
            assert_eq!(without_zone(authority), host);
        }
    }

    #[test]
    fn a_zone_is_an_interface_of_this_machine() {
        // Method: the loopback interface by name and by number, and words that are no interface.
        for host in ["::1%25lo", "::1%lo", "::1%1", "::1%251"] {
            let socket_addrs = look_up(host, 81).unwrap();
            let SocketAddr::V6(address) = socket_addrs[0] else {
                panic!("{socket_addrs:?}");
            };
            assert_eq!(
                (address.ip(), address.port()),
                (&Ipv6Addr::LOCALHOST, 81),
                "{host}"
            );
            assert!(address.scope_id() > 0, "{host}");
        }
        for host in ["::1%25none0", "::1%25", "::1%25../lo", "::1%"] {
            let error = look_up(host, 81).unwrap_err().to_string();
            assert!(error.contains("no network interface"), "{host}: {error}");
        }
        assert_eq!(look_up("::1", 81).unwrap(), ["[::1]:81".parse().unwrap()]);
    }

    #[test]
    fn brackets_are_proposed_for_addresses_of_ipv6_only() {
        // Method: addresses with a port, without one and with a zone, and other hosts.
        for (authority, expected) in [
            ("::1:9002", Some("[::1]:9002")),
            ("::1", Some("[::1]")),
            ("fe80::1%25eth0:80", Some("[fe80::1%25eth0]:80")),
            ("2001:db8::ff", Some("[2001:db8::ff]")),
            ("127.0.0.1:80", None),
            ("localhost:80", None),
            ("[::1]:80", None),
            ("a:b:c", None),
        ] {
            assert_eq!(with_brackets(authority).as_deref(), expected, "{authority}");
        }
    }
}
