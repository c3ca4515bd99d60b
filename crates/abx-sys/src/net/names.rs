//! The addresses behind a host's name.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};

/// All addresses of a host, best first.
///
/// They come from where the machine looks names up; after [`use_own_services`] from
/// `/etc/hosts` and DNS only.
///
/// # Errors
/// The C library's error for a name that it cannot look up.
pub fn look_up(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    Ok((host, port).to_socket_addrs()?.collect())
}

/// Makes glibc look hosts up by its own code, whatever `/etc/nsswitch.conf` sets. A static program
/// needs this before its first [`look_up`].
///
/// SUBTLE: further services, such as mDNS or systemd's, are libraries that belong to
/// the machine's glibc. Loaded into a static program with another one in it, they crash it.
#[cfg(target_env = "gnu")]
#[allow(unsafe_code)]
pub fn use_own_services() {
    use std::ffi::{c_char, c_int};
    use std::sync::Once;

    unsafe extern "C" {
        fn __nss_configure_lookup(database: *const c_char, services: *const c_char) -> c_int;
    }
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: Both strings end in NUL and are never freed. glibc changes its table of
        // services without a lock: `main` does this first, before a thread that looks up a host.
        let status = unsafe { __nss_configure_lookup(c"hosts".as_ptr(), c"files dns".as_ptr()) };
        debug_assert_eq!(status, 0, "glibc knows both services");
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_its_own_name() {
        // Method: addresses need no file of hosts and no network; no host's name has a NUL.
        for (host, shown) in [("127.0.0.1", "127.0.0.1:80"), ("::1", "[::1]:80")] {
            let socket_addrs = look_up(host, 80).unwrap();
            assert_eq!(socket_addrs, [shown.parse().unwrap()]);
        }
        assert!(look_up("a\0b", 80).is_err());
    }
}
