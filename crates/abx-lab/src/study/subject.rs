//! A server under test as a person names it, and what it becomes in a block.

use std::borrow::Cow;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use abx_evidence::record::IMAGE;
use abx_sys::names;

use crate::study::container::ContainerImage;
use crate::study::launch::Launch;
pub use crate::study::subject_error::SubjectError;
use crate::study::units;

/// The placeholder for the port that a subject is given.
const PORT: &str = "{port}";

/// A server under test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// Its name in the study.
    pub name: String,
    /// How it comes to be.
    pub source: Source,
    /// The server that was meant, when this one stands in for it.
    pub stand_in_for: Option<String>,
}

/// How a subject comes to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// abx starts it and stops it.
    Command(Launch),
    /// It is running already, and abx leaves it alone.
    Address(Target),
}

/// What is spoken at a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// `http://`.
    Http,
    /// `ws://`.
    WebSocket,
}

/// Where a server answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// What is spoken there.
    pub scheme: Scheme,
    /// Whether that is encrypted, as `https://` and `wss://` say.
    pub is_encrypted: bool,
    /// The URL as it was given.
    pub url: String,
    /// Name and port as in the URL, for the `Host` header.
    pub host: String,
    /// Where that leads: of several addresses the first that answered a connection.
    pub address: SocketAddr,
    /// Those before it.
    pub passed_over: Vec<PassedOver>,
    /// Path and query.
    pub path: String,
}

/// An address of a host that was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassedOver {
    /// The address.
    pub address: SocketAddr,
    /// What it did: `refused`.
    pub why: String,
}

impl Subject {
    /// The name that it proves to have by TLS; `None` where it does not speak TLS.
    #[must_use]
    pub fn tls_name(&self) -> Option<&str> {
        match &self.source {
            Source::Address(target) => target.is_encrypted.then(|| target.name()),
            Source::Command(launch) => launch.tls_name.as_deref(),
        }
    }

    /// Reads `URL`, `name=URL`, `name=command` or `name=image:IMAGE words`.
    ///
    /// # Errors
    /// One [`SubjectError`] for each thing that can be wrong with it.
    pub fn parse(text: &str) -> Result<Subject, SubjectError> {
        if text.starts_with(IMAGE) {
            return Err(SubjectError::Unnamed(text.to_owned()));
        }
        if let Some(url) = url(text) {
            let target = Target::parse(&url)?;
            return Ok(Subject {
                name: target.host.clone(),
                source: Source::Address(target),
                stand_in_for: None,
            });
        }
        let (name, rest) = text
            .split_once('=')
            .ok_or_else(|| SubjectError::Unnamed(text.to_owned()))?;
        let name = name.trim();
        if !units::is_name(name) {
            return Err(SubjectError::BadName(name.to_owned()));
        }
        let source = match (rest.trim_start().strip_prefix(IMAGE), url(rest)) {
            (Some(image), _) => Source::Command(container(name, image)?),
            (None, Some(url)) => Source::Address(Target::parse(&url)?),
            (None, None) => Source::Command(Launch::new(command(name, rest)?)),
        };
        Ok(Subject {
            name: name.to_owned(),
            source,
            stand_in_for: None,
        })
    }
}

/// A container: its image, and the words for it. Without any its port is in `PORT`.
fn container(name: &str, text: &str) -> Result<Launch, SubjectError> {
    let mut words = words(name, text)?.into_iter();
    let image = words.next().unwrap_or_default();
    // A space behind the colon is no image either.
    if text.starts_with(' ') || !ContainerImage::is_name(&image) {
        let name = name.to_owned();
        return Err(SubjectError::BadImage { name, image });
    }
    Ok(Launch::of_image(image, words.collect()))
}

fn command(name: &str, text: &str) -> Result<Vec<String>, SubjectError> {
    let words = words(name, text)?;
    let name = name.to_owned();
    if words.is_empty() {
        return Err(SubjectError::Empty { name });
    }
    if !words.iter().any(|word| word.contains(PORT)) {
        return Err(SubjectError::NoPort { name });
    }
    Ok(words)
}

fn words(name: &str, command: &str) -> Result<Vec<String>, SubjectError> {
    shell_words::split(command).map_err(|_| SubjectError::Quotes {
        name: name.to_owned(),
        command: command.to_owned(),
    })
}

/// The URL that a text is: one with a scheme, or a host and port, for which HTTP is meant.
fn url(text: &str) -> Option<Cow<'_, str>> {
    let has_scheme = text.split_once("://").is_some_and(|(scheme, _)| {
        !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric())
    });
    match has_scheme {
        true => Some(text.into()),
        false => is_address(text).then(|| with_scheme(text)),
    }
}

/// The same with `http://` before it when it has no scheme.
#[must_use]
pub fn with_scheme(url: &str) -> Cow<'_, str> {
    match url.contains("://") {
        true => url.into(),
        false => format!("http://{url}").into(),
    }
}

/// Path and query of a URL; nothing is looked up.
///
/// # Errors
/// [`SubjectError::Scheme`], [`SubjectError::Url`].
pub fn url_path(url: &str) -> Result<String, SubjectError> {
    UrlParts::of(url).map(|parts| parts.path)
}

/// Whether a text begins with a host and a port, such as `localhost:8080/x`, or is such a
/// host alone that it can be nothing else: an IPv4 address, or `localhost`.
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

/// A URL in its parts; nothing is looked up.
struct UrlParts<'a> {
    scheme: Scheme,
    is_encrypted: bool,
    /// Name and port as they are written.
    authority: &'a str,
    /// The name alone.
    host: &'a str,
    port: u16,
    /// Path and query.
    path: String,
}

impl UrlParts<'_> {
    fn of(url: &str) -> Result<UrlParts<'_>, SubjectError> {
        let bad = |why| SubjectError::Url {
            url: url.to_owned(),
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
                    url: url.to_owned(),
                    scheme: scheme.to_owned(),
                });
            }
        };
        let rest = rest.split('#').next().unwrap_or_default();
        let cut = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(cut);
        let path = match path.as_bytes().first() {
            None => "/".to_owned(),
            Some(b'?') => format!("/{path}"),
            Some(_) => path.to_owned(),
        };
        if authority.contains('@') {
            return Err(bad(
                "a user in the URL; give it by `-H 'Authorization: ...'`",
            ));
        }
        let (host, port) = split_port(authority).ok_or_else(|| bad("a port that is no number"))?;
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
            path,
        })
    }
}

impl Target {
    /// Reads `http://HOST[:PORT][/PATH]`, or the same with `https://`, `ws://` or `wss://`, looks the host up, and
    /// takes the first of its addresses that answers a connection, as other clients do.
    ///
    /// # Errors
    /// [`SubjectError::Scheme`], [`SubjectError::Url`], [`SubjectError::Resolve`].
    pub fn parse(url: &str) -> Result<Target, SubjectError> {
        let parts = UrlParts::of(url)?;
        let resolve = |why: String| SubjectError::Resolve {
            host: parts.host.to_owned(),
            why,
        };
        let addresses =
            names::look_up(parts.host, parts.port).map_err(|error| resolve(error.to_string()))?;
        let (address, passed_over) =
            choose(&addresses, answers).ok_or_else(|| resolve("no address".to_owned()))?;
        Ok(Target {
            scheme: parts.scheme,
            is_encrypted: parts.is_encrypted,
            url: url.to_owned(),
            host: parts.authority.to_owned(),
            address,
            passed_over,
            path: parts.path,
        })
    }

    /// The host without its port, and an IPv6 address without its brackets.
    #[must_use]
    pub fn name(&self) -> &str {
        let name = split_port(&self.host).map_or(self.host.as_str(), |(name, _)| name);
        name.trim_start_matches('[').trim_end_matches(']')
    }

    /// Whether a URL leads to the same host and port, as they are written; its path.
    ///
    /// # Errors
    /// [`SubjectError::Scheme`], [`SubjectError::Url`].
    pub fn path_of(&self, url: &str) -> Result<Option<String>, SubjectError> {
        let (own, other) = (UrlParts::of(&self.url)?, UrlParts::of(url)?);
        let is_same = own.host.eq_ignore_ascii_case(other.host) && own.port == other.port;
        Ok(is_same.then_some(other.path))
    }

    /// Which of the host's addresses was taken and why, when it is not the first.
    #[must_use]
    pub fn choice(&self) -> Option<String> {
        let others = self.passed_over.iter();
        let others: Vec<String> = others
            .map(|one| format!("{} {}", one.address.ip(), one.why))
            .collect();
        let name = split_port(&self.host).map_or(self.host.as_str(), |(name, _)| name);
        (!others.is_empty()).then(|| {
            let taken = self.address.ip();
            format!("{taken} of {name}: {}", others.join(", "))
        })
    }
}

/// How long an address may take to answer a connection before the next one is tried.
const ANSWER_WITHIN: Duration = Duration::from_secs(3);

/// The first address that answers, and those before it; the first of all when none does.
/// A host's only address is not asked. `None` without an address.
fn choose(
    addresses: &[SocketAddr],
    answers: impl Fn(SocketAddr) -> io::Result<()>,
) -> Option<(SocketAddr, Vec<PassedOver>)> {
    let first = *addresses.first()?;
    let mut passed_over = Vec::new();
    if addresses.len() == 1 {
        return Some((first, passed_over));
    }
    for address in addresses {
        match answers(*address) {
            Ok(()) => return Some((*address, passed_over)),
            Err(error) => passed_over.push(PassedOver {
                address: *address,
                why: match error.kind() {
                    io::ErrorKind::ConnectionRefused => "refused".to_owned(),
                    io::ErrorKind::TimedOut => "did not answer".to_owned(),
                    _ => format!("cannot be reached ({error})"),
                },
            }),
        }
    }
    Some((first, Vec::new()))
}

fn answers(address: SocketAddr) -> io::Result<()> {
    TcpStream::connect_timeout(&address, ANSWER_WITHIN).map(drop)
}

/// Host (with its brackets) and port, `None` when none is given.
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

/// How many ports this machine gives to connections from one local address.
#[must_use]
pub fn local_ports() -> u32 {
    const USUAL: u32 = 28_232;
    let range = abx_sys::ports::local_port_range();
    range.map_or(USUAL, |range| u32::try_from(range.len()).unwrap_or(USUAL))
}

/// Local addresses that connections to `address` come from: those that were
/// `asked` for; empty where the kernel's own choice is right.
///
/// One address has `ports` for one destination, about 28,000 unless the machine is set
/// otherwise, and each closed connection keeps its port for a while. So loads that take
/// more than four sevenths of them, or one for each request, are spread over 127.0.0.x.
/// Others come from 127.0.0.1 as any client would, since servers may let in only that.
#[must_use]
pub fn sources(
    address: SocketAddr,
    connections: u32,
    keep_alive: bool,
    asked: &[IpAddr],
    ports: u32,
) -> Vec<IpAddr> {
    if !asked.is_empty() {
        return asked.to_vec();
    }
    let count = match (address.ip(), keep_alive) {
        (IpAddr::V4(ip), true) if ip.is_loopback() => connections.div_ceil((ports * 4 / 7).max(1)),
        (IpAddr::V4(ip), false) if ip.is_loopback() => 64,
        _ => return Vec::new(),
    };
    if count < 2 {
        return Vec::new();
    }
    (1..=count.min(250))
        .map(|last| IpAddr::from([127, 0, 0, u8::try_from(last).expect("at most 250")]))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn target(url: &str) -> Target {
        Target::parse(url).unwrap()
    }

    #[test]
    fn a_url_gives_host_port_and_path() {
        // Method: the shapes that people type, one by one.
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
        for one in &encrypted {
            assert_eq!((one.address.port(), one.is_encrypted), (443, true));
        }
        assert_eq!(encrypted[1].scheme, Scheme::WebSocket);
        assert!(!plain.is_encrypted);
        assert_eq!(target("https://[::1]:90/").name(), "::1");
        assert_eq!(target("http://127.0.0.1:81/").name(), "127.0.0.1");
        let six = target("http://[::1]:90/");
        assert_eq!(six.address, "[::1]:90".parse().unwrap());
        assert_eq!(six.host, "[::1]:90");
    }

    #[test]
    fn an_image_is_named_behind_its_own_word() {
        // Method: with words and without, tags that look like ports, and what is no image.
        let read = |text: &str| match Subject::parse(text).map(|one| one.source) {
            Ok(Source::Command(launch)) => launch.words().join("|"),
            Ok(Source::Address(target)) => target.url,
            Err(error) => error.to_string(),
        };
        assert_eq!(read("a=image:nginx"), "image:nginx");
        let with_words = read("a=image:h/x:8080 run --on '{port} x'");
        assert_eq!(with_words, "image:h/x:8080|run|--on|{port} x");
        assert_eq!(read("a=image:8080"), "image:8080");
        for bad in [
            "a=image:",
            "a=image: nginx",
            "a=image:--privileged",
            "a=image:-v x",
        ] {
            assert!(read(bad).contains("not the name of an image"), "{bad}");
        }
        assert!(read("a=image:x 'y").contains("quote that does not close"));
        assert!(read("a=./image:x").contains("has no {port}"));
        assert!(read("image:nginx:8080").contains("neither a URL"));
    }

    #[test]
    fn the_first_address_that_answers_is_taken() {
        // Method: two addresses of which the first, the second, both or none answers; and
        // an only one, which is not asked.
        let [six, four]: [SocketAddr; 2] =
            ["[::1]:80", "127.0.0.1:80"].map(|one| one.parse().unwrap());
        let taken = |those: &[SocketAddr]| {
            choose(&[six, four], |address| match those.contains(&address) {
                true => Ok(()),
                false => Err(io::ErrorKind::ConnectionRefused.into()),
            })
            .unwrap()
        };
        assert_eq!(taken(&[six]), (six, vec![]));
        assert_eq!(taken(&[six, four]), (six, vec![]));
        let (address, passed_over) = taken(&[four]);
        assert_eq!(address, four);
        let found = Target {
            host: "localhost:80".to_owned(),
            address,
            passed_over,
            ..target("http://127.0.0.1/")
        };
        let choice = found.choice();
        assert_eq!(choice.unwrap(), "127.0.0.1 of localhost: ::1 refused");
        assert_eq!(taken(&[]), (six, vec![]));
        let not_asked = |_| panic!("an only address is not asked");
        assert_eq!(choose(&[four], not_asked), Some((four, vec![])));
        assert_eq!(target("http://127.0.0.1/").choice(), None);
    }

    #[test]
    fn what_is_no_url_says_what_is_wrong() {
        // Method: one broken text for each message.
        for (url, part) in [
            ("ftp://127.0.0.1/", "not supported"),
            ("http://", "no host"),
            ("http://:80/", "no host"),
            ("http://a:b@127.0.0.1/", "a user"),
            ("http://127.0.0.1:x/", "no number"),
            ("http://127.0.0.1:70000/", "no number"),
            ("http://does-not-exist.invalid/", "does not resolve"),
        ] {
            let message = Target::parse(url).unwrap_err().to_string();
            assert!(message.contains(part), "{url}: {message}");
        }
    }

    #[test]
    fn a_host_and_a_port_are_a_url_without_its_scheme() {
        // Method: what people type for a server on this machine, and words of other kinds.
        for (text, url) in [
            ("127.0.0.1:81/a", "http://127.0.0.1:81/a"),
            ("b=127.0.0.1:81", "http://127.0.0.1:81"),
            ("127.0.0.1", "http://127.0.0.1"),
            ("[::1]:81/?x", "http://[::1]:81/?x"),
        ] {
            let Source::Address(target) = Subject::parse(text).unwrap().source else {
                panic!("{text} is an address");
            };
            assert_eq!(target.url, url);
        }
        assert!(is_address("localhost:8080") && is_address("localhost"));
        for other in [
            "nginx",
            "./a:80",
            "a/b:80",
            "nginx:1.27",
            "a=b:80",
            "a b:80",
        ] {
            assert!(!is_address(other), "{other}");
        }
        assert_eq!(with_scheme("ws://a"), "ws://a");
    }

    #[test]
    fn a_url_is_of_a_server_when_host_and_port_are_its_own() {
        // Method: the same origin written in three ways, and two others.
        let own = target("http://127.0.0.1/start");
        for url in ["http://127.0.0.1/a?b", "HTTP://127.0.0.1:80/a?b#c"] {
            assert_eq!(own.path_of(url), Ok(Some("/a?b".to_owned())), "{url}");
        }
        for url in ["http://127.0.0.1:81/a", "http://127.0.0.2/a"] {
            assert_eq!(own.path_of(url), Ok(None), "{url}");
        }
        assert_eq!(own.path_of("https://127.0.0.1/a"), Ok(None));
        assert!(own.path_of("ftp://127.0.0.1/").is_err());
    }

    #[test]
    fn a_command_is_split_into_words_without_a_shell() {
        // Method: quotes, a `=` in the command, and both placeholders.
        let subject = Subject::parse("new=env X=1 ./s '-p {port}' --dir {dir}/x $HOME").unwrap();
        assert_eq!(subject.name, "new");
        let Source::Command(launch) = subject.source else {
            panic!("a command");
        };
        assert_eq!(
            launch.fill(81, Path::new("/t"), &[]).command,
            ["env", "X=1", "./s", "-p 81", "--dir", "/t/x", "$HOME"]
        );
    }

    #[test]
    fn words_that_are_no_subject_are_refused() {
        // Method: one broken text for each message.
        for (text, part) in [
            ("./server", "neither"),
            ("a b=./s {port}", "not a valid name"),
            ("=./s {port}", "not a valid name"),
            ("new=./server", "no {port}"),
            ("new=", "empty command"),
            ("new=./s '{port}", "quote"),
        ] {
            let message = Subject::parse(text).unwrap_err().to_string();
            assert!(message.contains(part), "{text}: {message}");
        }
    }

    #[test]
    fn only_loads_that_need_many_ports_are_spread() {
        // Method: both sides of each limit.
        let here = "127.0.0.1:80".parse().unwrap();
        let usual = 28_232;
        assert!(sources(here, 16_000, true, &[], usual).is_empty());
        assert_eq!(sources(here, 40_000, true, &[], usual).len(), 3);
        assert_eq!(sources(here, 100_000, true, &[], usual).len(), 7);
        assert_eq!(sources(here, 2_000, true, &[], 700).len(), 5);
        assert_eq!(sources(here, 2_000_000, true, &[], 0).len(), 250);
        assert_eq!(sources(here, 1, false, &[], usual).len(), 64);
        let elsewhere = "192.0.2.1:80".parse().unwrap();
        assert!(sources(elsewhere, 40_000, false, &[], usual).is_empty());
        let asked = ["192.0.2.9".parse().unwrap()];
        assert_eq!(sources(elsewhere, 1, true, &asked, usual), asked);
    }
}
