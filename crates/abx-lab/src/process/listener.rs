//! The process that serves an address, if it is one of this machine.

use std::net::TcpListener;

use abx_sys::{ProcTree, ServerAddress};

/// The processes of an address; `None` if it belongs to another machine, if its processes cannot be
/// seen, or if they only forward to a container.
#[must_use]
pub fn tree(address: ServerAddress) -> Option<ProcTree> {
    if !is_here(address) {
        return None;
    }
    let tree = ProcTree::of_listener(address).ok().flatten()?;
    let is_forwarded = tree.roots().any(|root| {
        root.name()
            .is_none_or(|name| FORWARDERS.contains(&name.as_str()))
    });
    (!is_forwarded).then_some(tree)
}

/// Programs that listen for a container and forward to it, by their names in `/proc/PID/comm`.
/// Their resource use is not the server's, which runs elsewhere in the process tree.
const FORWARDERS: [&str; 6] = [
    "docker-proxy",
    "rootlessport",
    "rootlesskit",
    "slirp4netns",
    "pasta",
    "kube-proxy",
];

/// Whether an address is one of this machine, so that it can be bound. A Unix socket always is.
#[must_use]
pub fn is_here(address: ServerAddress) -> bool {
    address
        .tcp()
        .map(|address| address.ip())
        .is_none_or(|ip| ip.is_loopback() || TcpListener::bind((ip, 0)).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_this_machine_have_processes_here() {
        // Method: loopback, a Unix socket, and an address that is reserved for documentation.
        assert!(is_here("127.0.0.5:80".parse().unwrap()));
        assert!(is_here("unix:/nobody.sock".parse().unwrap()));
        assert!(!is_here("192.0.2.1:80".parse().unwrap()));
        assert!(tree("192.0.2.1:80".parse().unwrap()).is_none());
    }
}
