//! Who serves an address, when that is a process of this machine.

use std::net::{IpAddr, SocketAddr, TcpListener};

use abx_sys::ProcTree;

/// The processes behind an address; `None` when it is another machine's or
/// when its processes cannot be seen.
#[must_use]
pub fn tree(address: SocketAddr) -> Option<ProcTree> {
    if !is_here(address.ip()) {
        return None;
    }
    ProcTree::of_listener(address.port()).ok().flatten()
}

/// Whether an address is one of this machine: only those can be bound.
fn is_here(ip: IpAddr) -> bool {
    ip.is_loopback() || TcpListener::bind((ip, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_this_machine_have_processes_here() {
        // Method: loopback, and an address that is reserved for documentation.
        assert!(is_here("127.0.0.5".parse().unwrap()));
        assert!(!is_here("192.0.2.1".parse().unwrap()));
        assert!(tree("192.0.2.1:80".parse().unwrap()).is_none());
    }
}
