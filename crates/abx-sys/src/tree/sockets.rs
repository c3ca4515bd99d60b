//! Which process holds a listening socket.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader};

use crate::process::if_there;

/// The state of a listener in /proc/net/tcp.
const LISTENS: &str = "0A";

/// Bytes of one read: the kernel then stops soon after the last listener.
const READ_BYTES: usize = 4096;

/// The inodes of all TCP sockets that listen on `port`.
pub(super) fn listeners(port: u16) -> io::Result<HashSet<u64>> {
    let mut inodes = HashSet::new();
    for path in ["/proc/net/tcp", "/proc/net/tcp6"] {
        // The second one is missing where IPv6 is switched off.
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
            inodes.extend(listener(&line, port));
        }
    }
    Ok(inodes)
}

/// Whether a process has one of these sockets open. One that may not be looked
/// into holds none that we know of.
pub(super) fn holds_one_of(pid: u32, inodes: &HashSet<u64>) -> io::Result<bool> {
    match find_one_of(pid, inodes) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(false),
        found => found,
    }
}

fn find_one_of(pid: u32, inodes: &HashSet<u64>) -> io::Result<bool> {
    let Some(descriptors) = if_there(std::fs::read_dir(format!("/proc/{pid}/fd")))? else {
        return Ok(false);
    };
    for descriptor in descriptors {
        let Some(descriptor) = if_there(descriptor)? else {
            break;
        };
        let target = if_there(std::fs::read_link(descriptor.path()))?;
        let inode = target.and_then(|target| socket_inode(target.to_str()?));
        if inode.is_some_and(|inode| inodes.contains(&inode)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The inode of one line of /proc/net/tcp when it is a listener on `port`.
fn listener(line: &str, port: u16) -> Option<u64> {
    let mut fields = line.split_ascii_whitespace();
    let local = fields.nth(1)?;
    let state = fields.nth(1)?;
    let inode = fields.nth(5)?;
    let (_, local_port) = local.rsplit_once(':')?;
    let is_wanted = state == LISTENS && u16::from_str_radix(local_port, 16) == Ok(port);
    is_wanted.then(|| inode.parse().ok())?
}

/// The inode of a descriptor's target such as `socket:[1065]`.
fn socket_inode(target: &str) -> Option<u64> {
    let inode = target.strip_prefix("socket:[")?.strip_suffix(']')?;
    inode.parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LINE: &str = "   0: 0100007F:07E8 00000000:0000 0A 00000000:00000000 00:00000000 \
        00000000     0        0 1065 1 0000000091ea00c7 100 0 0 10 0";

    #[test]
    fn only_a_listener_on_the_port_is_found() {
        // Method: one line, then the same with another state, and a line of IPv6.
        assert_eq!(listener(LINE, 0x07E8), Some(1065));
        assert_eq!(listener(LINE, 0x07E9), None);
        assert_eq!(listener(&LINE.replace(" 0A ", " 01 "), 0x07E8), None);
        let version_6 = LINE.replace("0100007F:", "00000000000000000000000001000000:");
        assert_eq!(listener(&version_6, 0x07E8), Some(1065));
        assert_eq!(listener("  sl  local_address rem_address   st", 0), None);
        assert_eq!(socket_inode("socket:[1065]"), Some(1065));
        assert_eq!(socket_inode("pipe:[1065]"), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in any::<String>(), cut in 0..LINE.len()) {
            // Method: any text, and the real line cut anywhere.
            let _ = listener(&text, 80);
            let _ = listener(&LINE[..cut], 80);
            let _ = socket_inode(&format!("socket:[{text}"));
        }
    }
}
