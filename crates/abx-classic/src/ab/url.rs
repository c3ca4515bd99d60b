//! URLs as ab accepts them: the scheme is optional, the path is not.

/// Where the requests go.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AbUrl {
    pub is_encrypted: bool,
    /// The host as written, including the brackets of an IPv6 address.
    pub host: String,
    pub port: u16,
    /// The path with its query.
    pub path: String,
}

impl AbUrl {
    /// Reads `[http[s]://]HOST[:PORT]/PATH`; `None` for anything else.
    pub(super) fn read(text: &str) -> Option<AbUrl> {
        let (is_encrypted, rest) = match scheme(text) {
            Some(("http", rest)) => (false, rest),
            Some(("https", rest)) => (true, rest),
            Some(_) => return None,
            None => (false, text),
        };
        let (authority, path) = rest.split_at(rest.find('/')?);
        let (host, port) = authority_parts(authority)?;
        Some(AbUrl {
            is_encrypted,
            host: host.to_owned(),
            port: port.unwrap_or(default_port(is_encrypted)),
            path: path.to_owned(),
        })
    }

    /// The host, and the port unless it is the default one, for `Host`. The zone of an IPv6 address
    /// is left out, because it has a meaning on this machine only.
    #[must_use]
    pub fn authority(&self) -> String {
        match self.host.split_once('%') {
            Some((address, _)) if address.starts_with('[') => {
                self.with_port(&format!("{address}]"))
            }
            _ => self.with_port(&self.host),
        }
    }

    fn with_port(&self, host: &str) -> String {
        if self.port == default_port(self.is_encrypted) {
            host.to_owned()
        } else {
            format!("{host}:{}", self.port)
        }
    }

    /// The URL without its path.
    #[must_use]
    pub fn origin(&self) -> String {
        let scheme = if self.is_encrypted { "https" } else { "http" };
        format!("{scheme}://{}", self.with_port(&self.host))
    }

    /// The complete URL.
    #[must_use]
    pub fn text(&self) -> String {
        format!("{}{}", self.origin(), self.path)
    }
}

/// The scheme in lower case, empty if it is unknown, and the rest of the URL.
fn scheme(text: &str) -> Option<(&'static str, &str)> {
    let (word, rest) = text
        .split_once("://")
        .filter(|(word, _)| !word.contains('/'))?;
    let known = ["http", "https"]
        .into_iter()
        .find(|scheme| scheme.eq_ignore_ascii_case(word));
    Some((known.unwrap_or(""), rest))
}

fn default_port(is_encrypted: bool) -> u16 {
    if is_encrypted { 443 } else { 80 }
}

/// A host and its optional port; `None` without a host or with an invalid port.
pub(super) fn authority_parts(text: &str) -> Option<(&str, Option<u16>)> {
    let after_brackets = text.rfind(']').map_or(0, |end| end + 1);
    let (host, port) = match text[after_brackets..].find(':') {
        None => (text, None),
        Some(colon) => {
            let (host, port) = text.split_at(after_brackets + colon);
            (host, Some(port[1..].parse().ok().filter(|port| *port > 0)?))
        }
    };
    let is_host = !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_graphic());
    is_host.then_some((host, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_has_a_host_a_port_and_a_path() {
        // Method: the usual forms, parsed and put together again.
        for (text, host, port, path, complete) in [
            ("http://a/", "a", 80, "/", "http://a/"),
            ("a:81/b?c=d", "a", 81, "/b?c=d", "http://a:81/b?c=d"),
            ("HTTPS://a/", "a", 443, "/", "https://a/"),
            ("https://a:80/x", "a", 80, "/x", "https://a:80/x"),
            ("[::1]:8080/", "[::1]", 8080, "/", "http://[::1]:8080/"),
            ("[::1]/", "[::1]", 80, "/", "http://[::1]/"),
            ("a/b://c", "a", 80, "/b://c", "http://a/b://c"),
            ("a/b c#d", "a", 80, "/b c#d", "http://a/b c#d"),
        ] {
            let url = AbUrl::read(text).unwrap();
            assert_eq!((&*url.host, url.port, &*url.path), (host, port, path));
            assert_eq!(url.text(), complete);
        }
        assert_eq!(AbUrl::read("a:81/").unwrap().authority(), "a:81");
        let zone = AbUrl::read("[::1%25lo]:81/").unwrap();
        assert_eq!(zone.authority(), "[::1]:81");
        assert_eq!(zone.origin(), "http://[::1%25lo]:81");
    }

    #[test]
    fn urls_that_ab_rejects_are_rejected() {
        // Method: no path, no host, an invalid port, another scheme.
        for text in [
            "http://a",
            "a",
            "",
            "/",
            "http:///x",
            ":80/",
            "a:b/",
            "a:0/",
            "ftp://a/",
        ] {
            assert_eq!(AbUrl::read(text), None, "{text}");
        }
    }
}
