//! Where a server listens: an address and port of TCP, or a Unix socket.

use std::fmt::{self, Debug, Display, Formatter};
use std::net::SocketAddr;
use std::path::Path;
use std::str::FromStr;

use rustix::net::SocketAddrUnix;
use serde::{Deserialize, Serialize};

/// The prefix of a Unix socket's path.
const UNIX: &str = "unix:";
/// The longest path that the kernel takes (unix(7)), without the zero at its end.
const PATH_BYTES_MAX: usize = 107;

/// Where a server listens. As text, and in files, `127.0.0.1:80` or `unix:/run/x.sock`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum ServerAddress {
    /// An address and a port.
    Tcp(SocketAddr),
    /// The path of a socket on this machine.
    Unix(SocketPath),
}

/// The absolute path of a Unix socket, in place, so that addresses are copied freely.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SocketPath {
    /// Zeros behind its end.
    bytes: [u8; PATH_BYTES_MAX],
    length: usize,
}

/// Why a text is not the address of a server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ServerAddressError {
    #[error("`{0}` is neither an address with a port, such as 127.0.0.1:80, nor unix:/PATH")]
    Unknown(String),
    #[error("`{0}` is not an absolute path: begin it with /")]
    Relative(String),
    #[error(
        "`{0}` is longer than {PATH_BYTES_MAX} bytes, the limit for the path of a Unix socket: put \
         it in another folder, or make a symbolic link to it"
    )]
    TooLong(String),
    #[error("a path cannot contain a NUL byte: remove it")]
    Zero,
}

impl ServerAddress {
    /// The TCP address, if it is one.
    #[must_use]
    pub fn tcp(self) -> Option<SocketAddr> {
        match self {
            ServerAddress::Tcp(address) => Some(address),
            ServerAddress::Unix(_) => None,
        }
    }

    /// The port; 0 for a Unix socket.
    #[must_use]
    pub fn port(self) -> u16 {
        self.tcp().map_or(0, |address| address.port())
    }
}

impl SocketPath {
    /// Reads a path.
    ///
    /// # Errors
    /// [`ServerAddressError`], all but the first.
    pub fn new(path: &str) -> Result<SocketPath, ServerAddressError> {
        if !path.starts_with('/') {
            return Err(ServerAddressError::Relative(path.to_owned()));
        }
        if path.contains('\0') {
            return Err(ServerAddressError::Zero);
        }
        let mut bytes = [0; PATH_BYTES_MAX];
        let Some(place) = bytes.get_mut(..path.len()) else {
            return Err(ServerAddressError::TooLong(path.to_owned()));
        };
        place.copy_from_slice(path.as_bytes());
        let length = path.len();
        Ok(SocketPath { bytes, length })
    }

    /// The path as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length]).expect("it was made of text")
    }

    /// The path as a [`Path`].
    #[must_use]
    pub fn as_path(&self) -> &Path {
        Path::new(self.as_str())
    }

    /// The path as the kernel takes it.
    pub(super) fn address(&self) -> rustix::io::Result<SocketAddrUnix> {
        SocketAddrUnix::new(self.as_path())
    }
}

impl Debug for SocketPath {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        Debug::fmt(self.as_str(), formatter)
    }
}

impl Display for ServerAddress {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            ServerAddress::Tcp(address) => Display::fmt(address, formatter),
            ServerAddress::Unix(path) => write!(formatter, "{UNIX}{}", path.as_str()),
        }
    }
}

impl FromStr for ServerAddress {
    type Err = ServerAddressError;

    fn from_str(text: &str) -> Result<ServerAddress, ServerAddressError> {
        match text.strip_prefix(UNIX) {
            Some(path) => SocketPath::new(path).map(ServerAddress::Unix),
            None => text
                .parse()
                .map(ServerAddress::Tcp)
                .map_err(|_| ServerAddressError::Unknown(text.to_owned())),
        }
    }
}

impl From<SocketAddr> for ServerAddress {
    fn from(address: SocketAddr) -> ServerAddress {
        ServerAddress::Tcp(address)
    }
}

impl From<ServerAddress> for String {
    fn from(address: ServerAddress) -> String {
        address.to_string()
    }
}

impl TryFrom<String> for ServerAddress {
    type Error = ServerAddressError;

    fn try_from(text: String) -> Result<ServerAddress, ServerAddressError> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_as_it_is_written() {
        // Method: addresses of each kind, the longest path among them.
        let longest = format!("unix:/{}", "x".repeat(PATH_BYTES_MAX - 1));
        for text in ["127.0.0.1:80", "[::1]:8080", "unix:/run/x.sock", &longest] {
            let address: ServerAddress = text.parse().unwrap();
            assert_eq!(address.to_string(), text);
        }
        let read = |text: &str| text.parse::<ServerAddress>().unwrap();
        assert_eq!(read("127.0.0.1:80").port(), 80);
        assert_eq!((read("unix:/x").port(), read("unix:/x").tcp()), (0, None));
        assert_eq!(format!("{:?}", read("unix:/x")), "Unix(\"/x\")");
    }

    #[test]
    fn invalid_addresses_are_refused_with_their_error() {
        // Method: one text per error.
        let long = format!("unix:/{}", "x".repeat(PATH_BYTES_MAX));
        for (text, part) in [
            ("localhost:80", "neither"),
            ("unix:x.sock", "not an absolute path"),
            ("unix:", "not an absolute path"),
            ("unix:/x\0y", "NUL byte"),
            (long.as_str(), "longer than 107 bytes"),
        ] {
            let error = text.parse::<ServerAddress>().unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
