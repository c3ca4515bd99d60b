//! The request that ab sends.

use super::options::AbOptions;

/// An HTTP/1.0 request, which is sent repeatedly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AbRequest {
    pub method: String,
    /// The request target: a path, or the complete URL for a proxy.
    pub target: String,
    /// All headers, in order.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// The `User-Agent` of ab, on which responses may depend.
const USER_AGENT: &str = "ApacheBench/2.3";

impl AbOptions {
    /// The request; `body` is the contents of the file of `-p` or `-u`.
    #[must_use]
    pub fn request(&self, body: Vec<u8>) -> AbRequest {
        let mut headers: Vec<(String, String)> = Vec::new();
        let mut add = |name: &str, value: &str| headers.push((name.to_owned(), value.to_owned()));
        if self.keep_alive {
            add("Connection", "Keep-Alive");
        }
        if !self.cookies.is_empty() {
            add("Cookie", &self.cookies.join("; "));
        }
        if let Some(credentials) = &self.authorization {
            add("Authorization", credentials);
        }
        if let Some(credentials) = &self.proxy_authorization {
            add("Proxy-Authorization", credentials);
        }
        if self.body_file.is_some() {
            add("Content-length", &body.len().to_string());
            add("Content-type", &self.content_type);
        }
        for (name, value) in &self.headers {
            add(name, value);
        }
        for (name, value) in [
            ("Host", &*self.url.authority()),
            ("User-Agent", USER_AGENT),
            ("Accept", "*/*"),
        ] {
            let is_same = |(other, _): &(String, String)| other.eq_ignore_ascii_case(name);
            if !self.headers.iter().any(is_same) {
                add(name, value);
            }
        }
        AbRequest {
            method: self.method.clone(),
            target: match self.proxy {
                Some(_) => self.url.text(),
                None => self.url.path.clone(),
            },
            headers,
            body,
        }
    }
}

impl AbRequest {
    /// The head as it is sent.
    #[must_use]
    pub fn head(&self) -> String {
        let mut head = format!("{} {} HTTP/1.0\r\n", self.method, self.target);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        head
    }

    /// The size of head and body.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        (self.head().len() + self.body.len()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::super::options::AbCommand;

    fn head(words: &[&str], body: &[u8]) -> String {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        match AbCommand::read(&words) {
            Ok(super::super::AbCommand::Load(options)) => options.request(body.to_vec()).head(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn requests_are_those_that_ab_sends() {
        // Method: the requests that ab 2.4.71 sent with the same flags.
        let plain = "Host: 127.0.0.1:8977\r\nUser-Agent: ApacheBench/2.3\r\nAccept: */*\r\n\r\n";
        let url = "http://127.0.0.1:8977/a";
        assert_eq!(head(&[url], b""), format!("GET /a HTTP/1.0\r\n{plain}"));
        let kept = format!("GET /a HTTP/1.0\r\nConnection: Keep-Alive\r\n{plain}");
        assert_eq!(head(&["-k", url], b""), kept);
        assert_eq!(
            head(&["-p", "body", "-T", "text/x", url], b"a=b\n"),
            format!("POST /a HTTP/1.0\r\nContent-length: 4\r\nContent-type: text/x\r\n{plain}")
        );
        let words = [
            "-H",
            "Host: other",
            "-H",
            "Accept: x/y",
            "-H",
            "User-Agent: me",
            "-H",
            "X-A: 1",
            "-C",
            "b=2",
            "-A",
            "u:p",
            "-P",
            "pu:pp",
            url,
        ];
        assert_eq!(
            head(&words, b""),
            "GET /a HTTP/1.0\r\nCookie: b=2\r\nAuthorization: Basic dTpw\r\nProxy-Authorization: \
             Basic cHU6cHA=\r\nHost: other\r\nAccept: x/y\r\nUser-Agent: me\r\nX-A: 1\r\n\r\n"
        );
        let proxied = head(&["-X", "127.0.0.1:8977", "http://example.com/a"], b"");
        assert!(proxied.starts_with("GET http://example.com/a HTTP/1.0\r\nHost: example.com\r\n"));
    }

    #[test]
    fn all_cookies_are_sent() {
        // Method: two cookies. ab's manual calls -C repeatable, but ab only sends the last one.
        let text = head(&["-C", "a=1", "-C", "b=2", "a/"], b"");
        assert!(text.contains("\r\nCookie: a=1; b=2\r\n"), "{text}");
    }
}
