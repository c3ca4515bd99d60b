//! The place of a server: a URL, and the address of its host.

use std::borrow::Cow;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use abx_model::HIDDEN;
use abx_sys::{ServerAddress, SocketPath};

use crate::servers::host;
use crate::servers::subject_error::SubjectError;
use crate::units;

/// The protocol of a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    Http,
    WebSocket,
}

/// The place of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub scheme: Scheme,
    /// Whether the scheme uses TLS: `https://` and `wss://`.
    pub is_encrypted: bool,
    pub url: String,
    /// Name and port as in the URL, for the `Host` header.
    pub host: String,
    /// The address of that host; if it has several, the first that accepted a connection.
    pub address: ServerAddress,
    /// The addresses before it, which did not accept a connection.
    pub passed_over: Vec<PassedOver>,
    pub path: String,
}

/// An address of a host that is not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassedOver {
    pub address: SocketAddr,
    pub why: String,
}

/// A URL with `http://` in front if it has no scheme.
#[must_use]
pub fn with_scheme(url: &str) -> Cow<'_, str> {
    if url.contains("://") {
        url.into()
    } else {
        format!("http://{url}").into()
    }
}

/// Path and query of a URL; nothing is looked up.
///
/// # Errors
/// [`SubjectError::Scheme`], [`SubjectError::Url`].
pub fn url_path(url: &str) -> Result<String, SubjectError> {
    UrlParts::of(url).map(|parts| parts.path)
}

/// Whether a text begins with a host and a port, such as `localhost:8080/x`, or with a host that
/// cannot be anything else: an IPv4 address, or `localhost`.
#[must_use]
pub fn is_address(text: &str) -> bool {
    let is_host = |host: &str| {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b".-_[]:".contains(&byte);
        !host.is_empty() && host.bytes().all(fits)
    };
    let authority = text.split(['/', '?']).next().unwrap_or_default();
    match authority.rsplit_once(':') {
        Some((host, port)) => is_host(host) && port.parse::<u16>().is_ok(),
        None => authority == "localhost" || authority.parse::<Ipv4Addr>().is_ok(),
    }
}

/// A URL as messages print it: without the password before its host.
pub(crate) fn without_password(url: &str) -> String {
    let start = url.find("://").map_or(0, |scheme| scheme + "://".len());
    let (scheme, rest) = url.split_at(start);
    // SUBTLE: The last `@` of all, since a password may hold `/` and `?`.
    let parts = rest
        .rsplit_once('@')
        .and_then(|(user, host)| Some((user.split_once(':')?.0, host)));
    match parts {
        Some((name, host)) => format!("{scheme}{name}:{HIDDEN}@{host}"),
        None => url.to_owned(),
    }
}

/// A URL in its parts; nothing is looked up.
struct UrlParts<'a> {
    scheme: Scheme,
    is_encrypted: bool,
    /// Name and port as they are written.
    authority: &'a str,
    host: &'a str,
    port: u16,
    /// The socket that stands in place of both.
    socket: Option<&'a str>,
    path: String,
}

impl UrlParts<'_> {
    fn of(url: &str) -> Result<UrlParts<'_>, SubjectError> {
        let bad = |why| SubjectError::Url {
            url: without_password(url),
            why,
        };
        let (scheme, rest) = url.split_once("://").ok_or_else(|| bad("no scheme"))?;
        let (scheme, is_encrypted) = match scheme.to_ascii_lowercase().as_str() {
            "http" => (Scheme::Http, false),
            "https" => (Scheme::Http, true),
            "ws" => (Scheme::WebSocket, false),
            "wss" => (Scheme::WebSocket, true),
            _ => {
                return Err(SubjectError::Scheme {
                    url: without_password(url),
                    scheme: scheme.to_owned(),
                });
            }
        };
        let rest = rest.split('#').next().unwrap_or_default();
        if let Some(rest) = rest.strip_prefix("unix:") {
            let (socket, path) = rest.split_once(':').unwrap_or((rest, ""));
            if !path.is_empty() && !path.starts_with(['/', '?']) {
                return Err(bad("a path that does not begin with / after the socket"));
            }
            return Ok(UrlParts {
                scheme,
                is_encrypted,
                authority: SOCKET_HOST,
                host: SOCKET_HOST,
                port: 0,
                socket: Some(socket),
                path: sendable(path).ok_or_else(|| bad(UNSENDABLE))?,
            });
        }
        let cut = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(cut);
        if authority.contains('@') {
            return Err(bad("it contains a user; give it by `--user NAME:PASSWORD`"));
        }
        if let Some(right) = host::with_brackets(authority) {
            let url = url.to_owned();
            return Err(SubjectError::Brackets { url, right });
        }
        let (host, port) = split_port(authority)
            .ok_or_else(|| bad("its port is not a number from 0 to 65,535"))?;
        let port = port.unwrap_or(if is_encrypted { 443 } else { 80 });
        if host.is_empty() {
            return Err(bad("no host"));
        }
        Ok(UrlParts {
            scheme,
            is_encrypted,
            authority,
            host: host.trim_start_matches('[').trim_end_matches(']'),
            port,
            socket: None,
            path: sendable(path).ok_or_else(|| bad(UNSENDABLE))?,
        })
    }
}

const UNSENDABLE: &str = "its path has a space or a control character; write a space as %20";

/// The request target in the part after a URL's host, as curl sends it: bytes outside ASCII as %xx.
fn sendable(path: &str) -> Option<String> {
    let path = units::percent_encoded(&rooted(path));
    units::is_url_path(&path).then_some(path)
}

/// The part after a URL's host, from its slash on.
fn rooted(path: &str) -> String {
    match path.as_bytes().first() {
        None => "/".to_owned(),
        Some(b'?') => format!("/{path}"),
        Some(_) => path.to_owned(),
    }
}

impl Target {
    /// Reads `http://HOST[:PORT][/PATH]`, or the same with `https://`, `ws://` or `wss://`, looks
    /// the host up, and takes the first of its addresses that accepts a connection, as other
    /// clients do. In place of host and port there may be a Unix socket, as nginx writes it:
    /// `http://unix:/SOCKET:/PATH`.
    ///
    /// # Errors
    /// [`SubjectError::Scheme`], [`SubjectError::Url`], [`SubjectError::Resolve`],
    /// [`SubjectError::Socket`].
    pub fn parse(url: &str) -> Result<Target, SubjectError> {
        let parts = UrlParts::of(url)?;
        if let Some(socket) = parts.socket {
            return Target::at(url, &parts, socket);
        }
        let resolve = |why: String| SubjectError::Resolve {
            host: parts.host.to_owned(),
            why,
        };
        let addresses =
            host::look_up(parts.host, parts.port).map_err(|error| resolve(error.to_string()))?;
        let (address, passed_over) =
            choose(&addresses, connect).ok_or_else(|| resolve("no address".to_owned()))?;
        Ok(Target {
            scheme: parts.scheme,
            is_encrypted: parts.is_encrypted,
            url: url.to_owned(),
            host: host::without_zone(parts.authority),
            address: address.into(),
            passed_over,
            path: parts.path,
        })
    }

    /// Reads a URL whose host is not looked up: requests go to this Unix socket.
    ///
    /// # Errors
    /// As [`Target::parse`].
    pub fn on_socket(url: &str, socket: &str) -> Result<Target, SubjectError> {
        let parts = UrlParts::of(url)?;
        match parts.socket {
            Some(_) => Err(SubjectError::Url {
                url: url.to_owned(),
                why: "it has a Unix socket already; leave one of them out",
            }),
            None => Target::at(url, &parts, socket),
        }
    }

    fn at(url: &str, parts: &UrlParts, socket: &str) -> Result<Target, SubjectError> {
        let path = SocketPath::new(socket).map_err(|error| SubjectError::Socket {
            url: url.to_owned(),
            why: error.to_string(),
        })?;
        Ok(Target {
            scheme: parts.scheme,
            is_encrypted: parts.is_encrypted,
            url: url.to_owned(),
            host: parts.authority.to_owned(),
            address: ServerAddress::Unix(path),
            passed_over: Vec::new(),
            path: parts.path.clone(),
        })
    }

    /// The default name of a subject: its host and port, or its socket.
    #[must_use]
    pub fn title(&self) -> String {
        match self.address {
            ServerAddress::Unix(_) => self.address.to_string(),
            ServerAddress::Tcp(_) => self.host.clone(),
        }
    }

    /// The host without its port, and an IPv6 address without its brackets.
    #[must_use]
    pub fn name(&self) -> &str {
        let name = split_port(&self.host).map_or(self.host.as_str(), |(name, _)| name);
        name.trim_start_matches('[').trim_end_matches(']')
    }

    /// The path of a URL, if its host and port are written like these.
    ///
    /// # Errors
    /// [`SubjectError::Scheme`], [`SubjectError::Url`].
    pub fn path_of(&self, url: &str) -> Result<Option<String>, SubjectError> {
        let (this, other) = (UrlParts::of(&self.url)?, UrlParts::of(url)?);
        let is_same = this.host.eq_ignore_ascii_case(other.host)
            && (this.port, this.socket) == (other.port, other.socket);
        Ok(is_same.then_some(other.path))
    }

    /// Which of the host's addresses is used and why, if it is not the first.
    #[must_use]
    pub fn choice(&self) -> Option<String> {
        let used = self.address.tcp()?.ip();
        let others: Vec<String> = self
            .passed_over
            .iter()
            .map(|other| format!("{} {}", other.address.ip(), other.why))
            .collect();
        if others.is_empty() {
            return None;
        }
        let name = split_port(&self.host).map_or(self.host.as_str(), |(name, _)| name);
        Some(format!("{used} of {name}: {}", others.join(", ")))
    }
}

/// The host in requests to a server on a Unix socket, as nginx and others send it.
const SOCKET_HOST: &str = "localhost";

/// How long an address may take to accept a connection before the next one is tried.
const CONNECT_WITHIN: Duration = Duration::from_secs(3);

/// The first address that accepts a connection, and the addresses before it. If none does, the
/// first address. A host's only address is not tried. `None` without an address.
fn choose(
    addresses: &[SocketAddr],
    connect: impl Fn(SocketAddr) -> io::Result<()>,
) -> Option<(SocketAddr, Vec<PassedOver>)> {
    let first = *addresses.first()?;
    let mut passed_over = Vec::new();
    if addresses.len() == 1 {
        return Some((first, passed_over));
    }
    for address in addresses {
        match connect(*address) {
            Ok(()) => return Some((*address, passed_over)),
            Err(error) => passed_over.push(PassedOver {
                address: *address,
                why: match error.kind() {
                    io::ErrorKind::ConnectionRefused => "refused".to_owned(),
                    io::ErrorKind::TimedOut => "did not respond".to_owned(),
                    _ => format!("cannot be reached ({error})"),
                },
            }),
        }
    }
    Some((first, Vec::new()))
}

fn connect(address: SocketAddr) -> io::Result<()> {
    TcpStream::connect_timeout(&address, CONNECT_WITHIN).map(drop)
}

/// Host (with its brackets) and port, if there is one; `None` for an invalid port.
fn split_port(authority: &str) -> Option<(&str, Option<u16>)> {
    let after_brackets = authority.rfind(']').map_or(0, |end| end + 1);
    match authority[after_brackets..].rfind(':') {
        None => Some((authority, None)),
        Some(colon) => {
            let (host, port) = authority.split_at(after_brackets + colon);
            Some((host, Some(port[1..].parse().ok()?)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::servers::subject::Subject;

    fn target(url: &str) -> Target {
        Target::parse(url).unwrap()
    }

    #[test]
    fn messages_print_no_password_of_a_url() {
        // Method: URLs that are refused for different reasons, with passwords of any characters.
        for url in [
            "http://me:hunter2@127.0.0.1/",
            "ftp://me:hunter2@127.0.0.1/",
            "http://me:hunter2/?#@127.0.0.1/",
            "http://me:hunter2@[::1",
            "me:hunter2@127.0.0.1",
        ] {
            let message = Target::parse(url).unwrap_err().to_string();
            assert!(!message.contains("hunter2"), "{message}");
            assert!(
                message.contains("127.0.0.1") || message.contains("::1"),
                "{message}"
            );
        }
    }

    #[test]
    fn a_url_gives_host_port_and_path() {
        // Method: the forms in which URLs are written.
        let plain = target("http://127.0.0.1:8081/a?b=c#d");
        assert_eq!(
            (plain.host.as_str(), plain.path.as_str()),
            ("127.0.0.1:8081", "/a?b=c")
        );
        assert_eq!(plain.address, "127.0.0.1:8081".parse().unwrap());
        assert_eq!(target("HTTP://127.0.0.1").address.port(), 80);
        assert_eq!(target("http://127.0.0.1").path, "/");
        assert_eq!(target("http://127.0.0.1?x").path, "/?x");
        assert_eq!(plain.scheme, Scheme::Http);
        assert_eq!(target("ws://127.0.0.1/echo").scheme, Scheme::WebSocket);
        let encrypted = ["https://127.0.0.1", "wss://127.0.0.1"].map(target);
        for target in &encrypted {
            assert_eq!((target.address.port(), target.is_encrypted), (443, true));
        }
        assert_eq!(encrypted[1].scheme, Scheme::WebSocket);
        assert!(!plain.is_encrypted);
        assert_eq!(target("https://[::1]:90/").name(), "::1");
        assert_eq!(target("http://127.0.0.1:81/").name(), "127.0.0.1");
        let zone = target("http://[::1%25lo]:90/");
        assert_eq!((zone.host.as_str(), zone.name()), ("[::1]:90", "::1"));
        assert_eq!(target("http://127.0.0.1/ü?q=é#ü").path, "/%c3%bc?q=%c3%a9");
        let six = target("http://[::1]:90/");
        assert_eq!(six.address, "[::1]:90".parse().unwrap());
        assert_eq!(six.host, "[::1]:90");
    }

    #[test]
    fn a_unix_socket_stands_in_place_of_host_and_port() {
        // Method: with a path and without, as a subject and after a flag, and invalid sockets.
        let parts = |url: &str| {
            let target = target(url);
            assert_eq!(target.address.to_string(), "unix:/run/x.sock");
            (target.host, target.path)
        };
        let expected = |path: &str| ("localhost".to_owned(), path.to_owned());
        assert_eq!(parts("http://unix:/run/x.sock:/a?b#c"), expected("/a?b"));
        assert_eq!(parts("http://unix:/run/x.sock"), expected("/"));
        assert_eq!(target("https://unix:/run/x.sock").name(), "localhost");
        let flagged = Target::on_socket("http://does-not-exist.invalid/a", "/run/x.sock").unwrap();
        assert_eq!(flagged.host, "does-not-exist.invalid");
        assert_eq!(flagged.address.to_string(), "unix:/run/x.sock");
        for text in ["unix:/run/x.sock:/a", "http://unix:/run/x.sock:/a"] {
            let subject = Subject::parse(text).unwrap();
            assert_eq!(subject.name, "unix:/run/x.sock");
        }
        assert_eq!(Subject::parse("new=unix:/run/x.sock").unwrap().name, "new");
        let refused = |url: &str| Target::parse(url).unwrap_err().to_string();
        assert!(refused("http://unix:x.sock:/").contains("not an absolute path"));
        assert!(refused("http://unix:/x.sock:a").contains("does not begin with /"));
        assert!(Target::on_socket("http://unix:/x:/", "/y").is_err());
        let server = target("http://unix:/run/x.sock:/");
        assert_eq!(server.path_of("http://localhost/a"), Ok(None));
    }

    #[test]
    fn the_first_address_that_accepts_a_connection_is_used() {
        // Method: two addresses of which the first, the second, both or none accepts a connection;
        // and a single one, which is not tried.
        let [six, four]: [SocketAddr; 2] =
            ["[::1]:80", "127.0.0.1:80"].map(|text| text.parse().unwrap());
        let chosen = |accepting: &[SocketAddr]| {
            choose(&[six, four], |address| {
                if accepting.contains(&address) {
                    Ok(())
                } else {
                    Err(io::ErrorKind::ConnectionRefused.into())
                }
            })
            .unwrap()
        };
        assert_eq!(chosen(&[six]), (six, vec![]));
        assert_eq!(chosen(&[six, four]), (six, vec![]));
        let (address, passed_over) = chosen(&[four]);
        assert_eq!(address, four);
        let localhost = Target {
            host: "localhost:80".to_owned(),
            address: address.into(),
            passed_over,
            ..target("http://127.0.0.1/")
        };
        let choice = localhost.choice();
        assert_eq!(choice.unwrap(), "127.0.0.1 of localhost: ::1 refused");
        assert_eq!(chosen(&[]), (six, vec![]));
        let not_tried = |_| panic!("a single address is not tried");
        assert_eq!(choose(&[four], not_tried), Some((four, vec![])));
        assert_eq!(target("http://127.0.0.1/").choice(), None);
    }

    #[test]
    fn invalid_urls_are_refused_with_their_error() {
        // Method: broken texts for each message.
        for (url, part) in [
            ("ftp://127.0.0.1/", "not supported"),
            ("http://", "no host"),
            ("http://:80/", "no host"),
            ("http://a:b@127.0.0.1/", "a user"),
            ("http://127.0.0.1:x/", "not a number"),
            ("http://127.0.0.1:70000/", "not a number"),
            ("http://does-not-exist.invalid/", "does not resolve"),
            ("http://127.0.0.1/a b", "%20"),
            ("http://127.0.0.1/a\tb", "control character"),
            ("http://::1:9002/", "write `[::1]:9002`"),
            ("http://::1/", "write `[::1]`"),
            ("http://[::1%25none0]/", "no network interface"),
        ] {
            let message = Target::parse(url).unwrap_err().to_string();
            assert!(message.contains(part), "{url}: {message}");
        }
    }

    #[test]
    fn a_url_is_of_a_server_if_host_and_port_are_the_same() {
        // Method: the same origin written in two ways, other origins, and an unsupported scheme.
        let server = target("http://127.0.0.1/start");
        for url in ["http://127.0.0.1/a?b", "HTTP://127.0.0.1:80/a?b#c"] {
            assert_eq!(server.path_of(url), Ok(Some("/a?b".to_owned())), "{url}");
        }
        for url in ["http://127.0.0.1:81/a", "http://127.0.0.2/a"] {
            assert_eq!(server.path_of(url), Ok(None), "{url}");
        }
        assert_eq!(server.path_of("https://127.0.0.1/a"), Ok(None));
        assert!(server.path_of("ftp://127.0.0.1/").is_err());
    }
}
