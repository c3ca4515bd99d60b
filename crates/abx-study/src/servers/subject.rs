//! A server under test as a user names it, and its form in a block.

use std::borrow::Cow;
use std::net::IpAddr;

use abx_evidence::record::{IMAGE, RevisionRecord};
use abx_sys::ServerAddress;

use crate::servers::container::ContainerImage;
use crate::servers::launch::Launch;
use crate::servers::shell_word::{is_variable, shell_word};
pub use crate::servers::subject_error::SubjectError;
use crate::servers::target::without_password;
pub use crate::servers::target::{Scheme, Target, is_address, url_path, with_scheme};
use crate::units;

/// The placeholder for a subject's port.
const PORT: &str = "{port}";

/// A server under test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// Its name in the study.
    pub name: String,
    pub source: Source,
    /// The intended server, if this one stands in for it.
    pub stand_in_for: Option<String>,
    /// Whether it uses HTTP/2 under loads of HTTP/1.1.
    pub http2: bool,
    /// The revision of a git repository that it was built from.
    pub revision: Option<RevisionRecord>,
}

/// How a subject comes to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// abx starts it and stops it.
    Command(Launch),
    /// It is running already, and abx leaves it alone.
    Address(Target),
}

impl Subject {
    /// A subject that stands for itself and uses HTTP as each load does.
    #[must_use]
    pub fn new(name: String, source: Source) -> Subject {
        Subject {
            name,
            source,
            stand_in_for: None,
            http2: false,
            revision: None,
        }
    }

    /// The name that its certificate is for; `None` if it does not use TLS.
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
            return Err(SubjectError::Unnamed(without_password(text)));
        }
        if let Some(url) = url(text) {
            let target = Target::parse(&url)?;
            return Ok(Subject::new(target.title(), Source::Address(target)));
        }
        let (name, rest) = text.split_once('=').ok_or_else(|| unnamed(text))?;
        let name = name.trim();
        // `PORT={port} node server.js` has a variable and no name.
        if !units::is_name(name) || rest.trim_start().starts_with(PORT) {
            return Err(match unnamed(text) {
                SubjectError::Unnamed(_) => SubjectError::BadName(name.to_owned()),
                command => command,
            });
        }
        let source = match (rest.trim_start().strip_prefix(IMAGE), url(rest)) {
            (Some(image), _) => Source::Command(container(name, image)?),
            (None, Some(url)) => Source::Address(Target::parse(&url)?),
            (None, None) => Source::Command(Launch::new(command(name, rest)?)),
        };
        Ok(Subject::new(name.to_owned(), source))
    }
}

/// The error in a text without a name, which may be a command as other tools take it.
fn unnamed(text: &str) -> SubjectError {
    let words = shell_words::split(text).unwrap_or_default();
    let program = words.iter().find(|word| !word.contains('='));
    let program = program.and_then(|word| word.rsplit('/').next());
    // `a b=./server {port}` has an invalid name; an option or a variable is part of a command.
    let before = text.split('=').next().unwrap_or_default();
    let last = before.split_whitespace().last().unwrap_or_default();
    let is_environment = is_variable(&format!("{last}=")) && last == last.to_uppercase();
    let is_option = last.starts_with('-') || is_environment;
    let is_command = words.len() > 1 && (before.len() == text.len() || is_option);
    match program {
        Some(program) if is_command && text.contains(PORT) => SubjectError::UnnamedCommand {
            command: if is_variable(&words[0]) {
                format!("env {}", without_password(text))
            } else {
                without_password(text)
            },
            name: if units::is_name(program) {
                program.to_owned()
            } else {
                "a".to_owned()
            },
        },
        _ => SubjectError::Unnamed(without_password(text)),
    }
}

/// A container: its image and the arguments for it. Its environment has the port as `PORT`.
fn container(name: &str, text: &str) -> Result<Launch, SubjectError> {
    let mut words = words(name, text)?.into_iter();
    let image = words.next().unwrap_or_default();
    // A space after the colon is no image either.
    if text.starts_with(' ') || !ContainerImage::is_name(&image) {
        let name = name.to_owned();
        return Err(SubjectError::BadImage { name, image });
    }
    Ok(Launch::of_image(image, words.collect()))
}

fn command(name: &str, text: &str) -> Result<Vec<String>, SubjectError> {
    let words = words(name, text)?;
    let name = name.to_owned();
    let Some(first) = words.first() else {
        return Err(SubjectError::Empty { name });
    };
    if let Some(word) = shell_word(&words, text) {
        return Err(SubjectError::Shell {
            name,
            word: word.clone(),
            command: text.to_owned(),
        });
    }
    if is_variable(first) {
        return Err(SubjectError::Variable {
            name,
            word: first.clone(),
            command: text.to_owned(),
        });
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

/// A text as a URL: one with a scheme, or a host and port or a Unix socket, which imply HTTP.
fn url(text: &str) -> Option<Cow<'_, str>> {
    let has_scheme = text.split_once("://").is_some_and(|(scheme, _)| {
        !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric())
    });
    if has_scheme {
        Some(text.into())
    } else {
        (is_address(text) || text.starts_with("unix:/")).then(|| with_scheme(text))
    }
}

/// The number of ports that this machine has for connections from one local address.
#[must_use]
pub fn local_ports() -> u32 {
    const USUAL: u32 = 28_232;
    let range = abx_sys::ports::local_port_range();
    range.map_or(USUAL, |range| u32::try_from(range.len()).unwrap_or(USUAL))
}

/// The local addresses of connections to `address`: the `requested` ones; empty for the kernel's
/// own choice, and for a Unix socket.
///
/// One address has `ports` for one destination, about 28,000 unless the machine is set
/// otherwise, and each closed connection keeps its port for a while. So loads that take
/// more than four sevenths of them, or a port per request, are spread over 127.0.0.x.
/// Others come from 127.0.0.1 as any client would, because servers may allow only that address.
#[must_use]
pub fn sources(
    address: ServerAddress,
    connections: u32,
    keep_alive: bool,
    requested: &[IpAddr],
    ports: u32,
) -> Vec<IpAddr> {
    let Some(address) = address.tcp() else {
        return Vec::new();
    };
    if !requested.is_empty() {
        return requested.to_vec();
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

    #[test]
    fn an_image_is_named_after_its_prefix() {
        // Method: with arguments and without, tags that look like ports, and invalid names.
        let read = |text: &str| match Subject::parse(text).map(|subject| subject.source) {
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
    fn a_host_and_a_port_are_a_url_without_its_scheme() {
        // Method: common forms of a server on this machine, and other texts.
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
    fn texts_that_name_no_subject_are_refused() {
        // Method: broken texts for each message.
        for (text, part) in [
            ("./server", "neither"),
            ("a b=./s {port}", "not a valid name"),
            ("=./s {port}", "not a valid name"),
            ("new=./server", "no {port}"),
            ("new=", "empty command"),
            ("new=./s '{port}", "quote"),
            ("node server.js {port}", "`'node=node server.js {port}'`"),
            (
                "PORT={port} node server.js",
                "`'node=env PORT={port} node server.js'`",
            ),
            (
                "/opt/my server --port={port}",
                "'my=/opt/my server --port={port}'",
            ),
            (
                "x=PORT={port} node server.js",
                "`'x=env PORT={port} node server.js'`",
            ),
            ("x=A=1 B=2 node {port}", "`'x=env A=1 B=2 node {port}'`"),
            (
                "main=cd x && node s.js {port}",
                "main=sh -c 'cd x && node s.js {port}'",
            ),
            ("main=cd x", "sh -c"),
            ("main=./build ; ./s {port}", "sh -c"),
            ("main=./build; ./s {port}", "sh -c"),
            ("main=./build && ./s {port}", "sh -c"),
            ("main=./s {port} > log", "sh -c"),
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
        let requested = ["192.0.2.9".parse().unwrap()];
        assert_eq!(sources(elsewhere, 1, true, &requested, usual), requested);
    }
}
