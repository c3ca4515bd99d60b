//! Which process holds a listening socket.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use rustix::net::AddressFamily;

use crate::kernel_files::if_there;
use crate::net::server_address::{ServerAddress, SocketPath};
use crate::net::socket_diagnostics::{INODE, LISTENING, SocketQuery, bytes, word};

/// The state of a listener in /proc/net/tcp.
const LISTENS: &str = "0A";

/// The flag of a listener in /proc/net/unix (`__SO_ACCEPTCON`).
const UNIX_LISTENS: u32 = 1 << 16;

/// Places in an `inet_diag_msg`. The receive queue of a listener holds connections.
const LOCAL_PORT: usize = 4;
const LOCAL_ADDRESS: usize = 8;
const RECEIVE_QUEUE: usize = 56;

/// Bytes of one read: the kernel then stops soon after the last listener.
const READ_BYTES: usize = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Listener {
    address: SocketAddr,
    inode: u64,
    /// Connections that are not accepted yet.
    queued: u64,
}

/// How many connections to `address` wait in the queues of its listeners on this machine; 0
/// without a listener, and for a Unix socket, whose table does not have the queue.
///
/// # Errors
/// The error of a read of the kernel's tables.
pub fn accept_queue(address: ServerAddress) -> io::Result<u64> {
    let Some(address) = address.tcp() else {
        return Ok(0);
    };
    let here = listeners_of(address)?;
    Ok(here.iter().map(|listener| listener.queued).sum())
}

/// The inodes of the sockets that take connections to `address`. For TCP, those bound to
/// that very address; else those bound to all addresses of its family; else, for IPv4,
/// those bound to all addresses of IPv6, which takes IPv4 too unless set otherwise. For a Unix
/// socket, those bound to that very path.
pub(super) fn listeners_at(address: ServerAddress) -> io::Result<HashSet<u64>> {
    match address {
        ServerAddress::Tcp(address) => {
            let here = listeners_of(address)?;
            Ok(here.iter().map(|listener| listener.inode).collect())
        }
        ServerAddress::Unix(path) => listeners_on(&path),
    }
}

/// The inodes of the Unix sockets that listen on a path. One whose file was made again
/// leads nowhere, and is in the table as long as a process has it open.
fn listeners_on(path: &SocketPath) -> io::Result<HashSet<u64>> {
    let text = std::fs::read("/proc/net/unix")?;
    let lines = text.split(|byte| *byte == b'\n');
    let lines = lines.filter_map(|line| std::str::from_utf8(line).ok());
    Ok(lines
        .filter_map(|line| unix_listener(line, path.as_str()))
        .collect())
}

/// The inode in one line of /proc/net/unix, if it is of a listener on this path.
fn unix_listener(line: &str, path: &str) -> Option<u64> {
    let line = line.strip_suffix(path)?.strip_suffix(' ')?;
    let mut fields = line.split_ascii_whitespace();
    let flags = u32::from_str_radix(fields.nth(3)?, 16).ok()?;
    let inode = fields.nth(2)?.parse().ok()?;
    let is_all = fields.next().is_none();
    (is_all && flags & UNIX_LISTENS != 0).then_some(inode)
}

fn listeners_of(address: SocketAddr) -> io::Result<Vec<Listener>> {
    // Some kernels have no socket diagnostics.
    let all_listeners = listeners_on_port(address.port()).or_else(|_| listeners())?;
    // `::ffff:127.0.0.1` is 127.0.0.1.
    let ip_addr = address.ip().to_canonical();
    let every_v4 = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
    let every_v6 = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
    let bound_to = match ip_addr {
        IpAddr::V4(_) => vec![ip_addr, every_v4, every_v6],
        IpAddr::V6(_) => vec![ip_addr, every_v6],
    };
    let result = bound_to.into_iter().map(|ip| {
        let takes = |listener: &&Listener| listener.address == SocketAddr::new(ip, address.port());
        all_listeners.iter().filter(takes).copied().collect()
    });
    let mut outcome = result.filter(|some: &Vec<Listener>| !some.is_empty());
    Ok(outcome.next().unwrap_or_default())
}

/// The listeners on a port, by the kernel's diagnostics. /proc/net/tcp takes milliseconds where few
/// connections are open: after the last listener, the kernel searches its whole table for one.
fn listeners_on_port(port: u16) -> io::Result<Vec<Listener>> {
    let mut listeners = Vec::new();
    for family in [AddressFamily::INET, AddressFamily::INET6] {
        let query = SocketQuery {
            family,
            states: LISTENING,
            local_port: port,
            remote_port: 0,
            attribute: None,
        };
        query.each(|message| listeners.extend(diagnosed_listener(message)))?;
    }
    Ok(listeners)
}

/// The listener of one `inet_diag_msg`.
fn diagnosed_listener(message: &[u8]) -> Option<Listener> {
    let ip = match AddressFamily::from_raw(u16::from(*message.first()?)) {
        AddressFamily::INET => IpAddr::from(bytes::<4>(message, LOCAL_ADDRESS)?),
        _ => IpAddr::from(bytes::<16>(message, LOCAL_ADDRESS)?).to_canonical(),
    };
    let port = u16::from_be_bytes(bytes(message, LOCAL_PORT)?);
    Some(Listener {
        address: SocketAddr::new(ip, port),
        inode: word(message, INODE)?.into(),
        queued: word(message, RECEIVE_QUEUE)?.into(),
    })
}

fn listeners() -> io::Result<Vec<Listener>> {
    let mut listeners = Vec::new();
    for path in ["/proc/net/tcp", "/proc/net/tcp6"] {
        // The second one is missing if IPv6 is switched off.
        let Some(file) = if_there(File::open(path))? else {
            continue;
        };
        let lines = BufReader::with_capacity(READ_BYTES, file).lines();
        // After the head come all listeners, and only then the connections, of
        // which there may be tens of thousands, closed ones included.
        for line in lines.skip(1) {
            let line = line?;
            if line.split_ascii_whitespace().nth(3) != Some(LISTENS) {
                break;
            }
            listeners.extend(listener(&line));
        }
    }
    Ok(listeners)
}

/// Which of these sockets a process has open. One that may not be looked into holds
/// none that we know of.
pub(super) fn held_by(pid: u32, inodes: &HashSet<u64>) -> io::Result<HashSet<u64>> {
    match find_held(pid, inodes) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(HashSet::new()),
        result => result,
    }
}

/// The ports that a process listens on.
pub(super) fn ports_of(pid: u32) -> io::Result<Vec<u16>> {
    let all_listeners = listeners()?;
    let held = held_by(
        pid,
        &all_listeners
            .iter()
            .map(|listener| listener.inode)
            .collect(),
    )?;
    let held = all_listeners
        .iter()
        .filter(|listener| held.contains(&listener.inode));
    Ok(held.map(|listener| listener.address.port()).collect())
}

fn find_held(pid: u32, inodes: &HashSet<u64>) -> io::Result<HashSet<u64>> {
    let mut held = HashSet::new();
    let Some(descriptors) = if_there(std::fs::read_dir(format!("/proc/{pid}/fd")))? else {
        return Ok(held);
    };
    for descriptor in descriptors {
        let Some(descriptor) = if_there(descriptor)? else {
            break;
        };
        let target = if_there(std::fs::read_link(descriptor.path()))?;
        let inode = target.and_then(|target| socket_inode(target.to_str()?));
        held.extend(inode.filter(|inode| inodes.contains(inode)));
        if held.len() == inodes.len() {
            break;
        }
    }
    Ok(held)
}

/// The listener in one line of /proc/net/tcp or tcp6; `None` for any other line.
fn listener(line: &str) -> Option<Listener> {
    let mut fields = line.split_ascii_whitespace();
    let local = fields.nth(1)?;
    let state = fields.nth(1)?;
    // The receive queue of a listener holds connections.
    let (_, queued) = fields.next()?.split_once(':')?;
    let inode = fields.nth(4)?;
    if state != LISTENS {
        return None;
    }
    let (ip, port) = local.rsplit_once(':')?;
    let address = SocketAddr::new(address(ip)?, u16::from_str_radix(port, 16).ok()?);
    let inode = inode.parse().ok()?;
    let queued = u64::from_str_radix(queued, 16).ok()?;
    Some(Listener {
        address,
        inode,
        queued,
    })
}

/// An address as the kernel prints it: words of 32 bits in hexadecimal, each in the
/// byte order of this machine.
fn address(hex: &str) -> Option<IpAddr> {
    let word = |at: usize| {
        let word = u32::from_str_radix(hex.get(at..at + 8)?, 16).ok()?;
        Some(word.to_ne_bytes())
    };
    match hex.len() {
        8 => Some(IpAddr::from(word(0)?)),
        32 => {
            let mut bytes = [0; 16];
            for (part, at) in bytes.chunks_exact_mut(4).zip((0..32).step_by(8)) {
                part.copy_from_slice(&word(at)?);
            }
            Some(IpAddr::from(bytes).to_canonical())
        }
        _ => None,
    }
}

/// The inode of a descriptor's target such as `socket:[1065]`.
fn socket_inode(target: &str) -> Option<u64> {
    let inode = target.strip_prefix("socket:[")?.strip_suffix(']')?;
    inode.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use proptest::prelude::*;

    use super::*;

    const LINE: &str = "   0: 0100007F:07E8 00000000:0000 0A 00000000:00000000 00:00000000 \
        00000000     0        0 1065 1 0000000091ea00c7 100 0 0 10 0";

    #[test]
    #[cfg(target_endian = "little")]
    fn lines_of_the_kernel_are_read() {
        // Method: one line, then the same of another state, in IPv6, mapped, and a head.
        let read = |line: &str| {
            listener(line).map(|listener| (listener.address.to_string(), listener.inode))
        };
        let result = |address: &str| Some((address.to_owned(), 1065));
        assert_eq!(read(LINE), result("127.0.0.1:2024"));
        assert_eq!(read(&LINE.replace(" 0A ", " 01 ")), None);
        let version_6 = LINE.replace("0100007F:", "00000000000000000000000001000000:");
        assert_eq!(read(&version_6), result("[::1]:2024"));
        let mapped = LINE.replace("0100007F:", "0000000000000000FFFF00000100007F:");
        assert_eq!(read(&mapped), result("127.0.0.1:2024"));
        let queued = LINE.replace(" 00000000:00000000 00:", " 00000000:00000F7B 00:");
        assert_eq!(
            listener(&queued).map(|listener| listener.queued),
            Some(3_963)
        );
        assert_eq!(read("  sl  local_address rem_address   st"), None);
        assert_eq!(socket_inode("socket:[1065]"), Some(1065));
        assert_eq!(socket_inode("pipe:[1065]"), None);
    }

    #[test]
    fn diagnostics_and_proc_show_the_same_listeners() {
        // Method: listeners of both families, one with a connection in its queue.
        let version_4 = TcpListener::bind("127.0.0.1:0").unwrap();
        let version_6 = TcpListener::bind("[::1]:0").unwrap();
        let address_4 = version_4.local_addr().unwrap();
        let _queued = TcpStream::connect(address_4).unwrap();
        // The last packet of the handshake may arrive a moment later.
        while accept_queue(address_4.into()).unwrap() == 0 {
            std::thread::yield_now();
        }
        for (listener, queued) in [(&version_4, 1), (&version_6, 0)] {
            let address = listener.local_addr().unwrap();
            let is_there = |listener: &Listener| listener.address == address;
            let diagnosed = listeners_on_port(address.port()).unwrap();
            let diagnosed: Vec<_> = diagnosed.into_iter().filter(is_there).collect();
            // /proc lists a socket twice if others come and go meanwhile.
            let by_proc = listeners().unwrap();
            let mut by_proc: Vec<_> = by_proc.into_iter().filter(is_there).collect();
            by_proc.dedup();
            assert_eq!(diagnosed, by_proc);
            assert_eq!(diagnosed[0].queued, queued);
        }
    }

    #[test]
    fn lines_of_unix_sockets_are_read() {
        // Method: a listener's line, then the same of a connection, of other paths, and a head.
        let line = "0000000000000000: 00000002 00000000 00010000 0001 01 26311 /run/a b.sock";
        assert_eq!(unix_listener(line, "/run/a b.sock"), Some(26_311));
        assert_eq!(
            unix_listener(&line.replace("00010000", "00000000"), "/run/a b.sock"),
            None
        );
        for other in ["/run/a", "b.sock", "/run/a b.soc", "/x"] {
            assert_eq!(unix_listener(line, other), None, "{other}");
        }
        let head = "Num       RefCount Protocol Flags    Type St Inode Path";
        assert_eq!(unix_listener(head, "Path"), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in any::<String>(), cut in 0..LINE.len()) {
            // Method: any text, and the real line cut anywhere.
            let _ = listener(&text);
            let _ = diagnosed_listener(text.as_bytes());
            let _ = listener(&LINE[..cut]);
            let _ = unix_listener(&format!("{text} /x"), "/x");
            let _ = address(&text);
            let _ = socket_inode(&format!("socket:[{text}"));
        }
    }
}
