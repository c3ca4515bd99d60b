//! Free ports for subjects.
//!
//! They must lie below `ip_local_port_range`, or one of our own connections may
//! be given the port between two starts of a server.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::ops::RangeInclusive;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr as UnixAddr, UnixDatagram};
use std::time::Duration;

use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, ipproto, socket_with};

use crate::kernel_files::read_lossy;

const PORT_RANGE_PATH: &str = "/proc/sys/net/ipv4/ip_local_port_range";
const FIRST_CANDIDATE: u16 = 10_000;
/// Fewer candidates than this are soon all in TIME_WAIT.
const CANDIDATES_MIN: u16 = 1_000;
const RANDOM_TRIES: u32 = 64;
/// A listener on loopback that does not respond within this time has a full queue.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(200);

/// Why there is no port for a subject.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    #[error("cannot read {PORT_RANGE_PATH}: {0}; is /proc mounted?")]
    RangeUnreadable(io::Error),
    #[error(
        "ip_local_port_range starts at {low}, which leaves too few ports from {FIRST_CANDIDATE} \
         on for servers: raise it with `sysctl -w net.ipv4.ip_local_port_range=\"32768 60999\"`"
    )]
    RangeTooLow {
        /// The first outgoing port.
        low: u16,
    },
    #[error(
        "no free port from {first} to {last}: stop servers that listen there (`ss -ltn` shows them)"
    )]
    NoneFree { first: u16, last: u16 },
}

/// The ports that the kernel gives to outgoing connections.
///
/// # Errors
/// [`PortError::RangeUnreadable`].
pub fn local_port_range() -> Result<RangeInclusive<u16>, PortError> {
    let text = read_lossy(PORT_RANGE_PATH).map_err(PortError::RangeUnreadable)?;
    parse_range(&text).ok_or_else(|| PortError::RangeUnreadable(io::ErrorKind::InvalidData.into()))
}

/// The ports for subjects: from 10,000 up to the first outgoing one.
///
/// # Errors
/// [`PortError::RangeUnreadable`], [`PortError::RangeTooLow`].
pub fn candidates() -> Result<RangeInclusive<u16>, PortError> {
    candidates_below(*local_port_range()?.start())
}

/// A port that abx gives to no other process while this value exists.
#[derive(Debug)]
pub struct FreePort {
    number: u16,
    /// A socket whose name is bound in place of the port itself, which the server binds;
    /// `None` if no such socket can be made.
    _claim: Option<UnixDatagram>,
}

impl FreePort {
    /// The port.
    #[must_use]
    pub fn number(&self) -> u16 {
        self.number
    }

    /// `None` if a process listens there, or the port is already given out.
    fn claim(number: u16) -> Option<FreePort> {
        // Such a name holds in one network namespace, as a port does, and is gone
        // with the socket.
        let name = UnixAddr::from_abstract_name(format!("abx-port-{number}")).ok()?;
        let claim = match UnixDatagram::bind_addr(&name) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => return None,
            claim => claim.ok(),
        };
        is_free(number).then_some(FreePort {
            number,
            _claim: claim,
        })
    }
}

/// A port among `candidates` that no process listens on and that a server can bind
/// without SO_REUSEADDR, so also none with connections in TIME_WAIT. It is not given
/// out again from here until it is dropped.
///
/// `draw(n)` gives a random number below `n`. Tries some at random, then all in
/// order, so a free one is found if there is one.
///
/// # Errors
/// [`PortError::NoneFree`].
pub fn free_port(
    candidates: RangeInclusive<u16>,
    draw: &mut dyn FnMut(u32) -> u32,
) -> Result<FreePort, PortError> {
    let (first, last) = candidates.clone().into_inner();
    let count = u32::try_from(candidates.len()).expect("there are 65,536 ports");
    let random = (0..RANDOM_TRIES.min(count)).map(|_| {
        let step = u16::try_from(draw(count)).unwrap_or(u16::MAX);
        first.saturating_add(step).min(last)
    });
    random
        .chain(candidates)
        .find_map(FreePort::claim)
        .ok_or(PortError::NoneFree { first, last })
}

fn is_free(port: u16) -> bool {
    let is_refused = TcpStream::connect_timeout(
        &SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
        CONNECT_TIMEOUT,
    )
    .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
    is_refused && can_be_bound(port).is_ok()
}

/// The standard library would set SO_REUSEADDR, which a subject may not do.
fn can_be_bound(port: u16) -> io::Result<()> {
    let socket = socket_with(
        AddressFamily::INET,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        Some(ipproto::TCP),
    )?;
    Ok(bind(
        &socket,
        &SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)),
    )?)
}

fn parse_range(text: &str) -> Option<RangeInclusive<u16>> {
    let mut numbers = text.split_ascii_whitespace().map(str::parse);
    Some(numbers.next()?.ok()?..=numbers.next()?.ok()?)
}

fn candidates_below(low: u16) -> Result<RangeInclusive<u16>, PortError> {
    if low < FIRST_CANDIDATE + CANDIDATES_MIN {
        return Err(PortError::RangeTooLow { low });
    }
    Ok(FIRST_CANDIDATE..=low - 1)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_port_with_a_listener_is_not_free() {
        // Method: hold a free port; the same candidate alone must then be
        // refused with its range, and given again once let go.
        let mut state = std::process::id();
        let mut draw = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % below
        };
        let free = free_port(candidates().unwrap(), &mut draw).unwrap();
        let port = free.number();
        drop(free);
        let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
        let error = free_port(port..=port, &mut draw).unwrap_err();
        assert!(
            error
                .to_string()
                .contains(&format!("from {port} to {port}"))
        );
        drop(listener);
        assert_eq!(free_port(port..=port, &mut draw).unwrap().number(), port);
    }

    #[test]
    fn a_port_is_given_once_until_it_is_dropped() {
        // Method: all of ten candidates are taken, each a different one; then one
        // is let go.
        let candidates = candidates().unwrap();
        let ten = *candidates.end() - 9..=*candidates.end();
        let mut ports: Vec<FreePort> = Vec::new();
        while let Ok(port) = free_port(ten.clone(), &mut |_| 0) {
            assert!(ports.iter().all(|other| other.number() != port.number()));
            ports.push(port);
        }
        let last = ports.pop().expect("one of ten ports is free").number();
        assert_eq!(free_port(ten, &mut |_| 0).unwrap().number(), last);
    }

    #[test]
    fn a_port_that_is_bound_elsewhere_is_not_free() {
        // Method: a listener on another loopback address refuses nothing on 127.0.0.1.
        let listener = TcpListener::bind("127.0.0.77:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert!(free_port(port..=port, &mut |_| 0).is_err());
    }

    #[test]
    fn the_walk_finds_what_the_draw_misses() {
        // Method: a draw that always hits the same taken port, outside of its bounds too.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let taken = listener.local_addr().unwrap().port();
        let first = taken.saturating_sub(200);
        let free = free_port(first..=taken, &mut |_| u32::MAX).unwrap();
        assert!((first..taken).contains(&free.number()));
    }

    #[test]
    fn too_few_candidates_are_an_error_with_a_remedy() {
        // Method: ranges as sysctl may hold them.
        assert_eq!(candidates_below(32_768).unwrap(), 10_000..=32_767);
        let error = candidates_below(1_024).unwrap_err().to_string();
        assert!(error.contains("1024") && error.contains("sysctl"));
        assert_eq!(parse_range("32768\t60999\n"), Some(32_768..=60_999));
        assert_eq!(parse_range("32768"), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in any::<String>()) {
            // Method: any text at all.
            let _ = parse_range(&text);
        }
    }
}
