//! ab's flags, read as ab reads them.

use std::net::IpAddr;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::url::{AbUrl, authority_parts};
use super::usage;
use crate::short_options::ShortOptions;

/// The flags of ab 2.4 and of its trunk; a colon follows each flag that takes a value.
pub(super) const LETTERS: &str = "n:c:t:s:b:B:p:u:T:v:wix:y:z:C:H:A:P:X:VkdSqlg:e:rm:hIZ:f:E:W:R:";
/// The number of requests that `-t` sets.
const REQUESTS_OF_TIME: u64 = 50_000;
/// The largest number of connections.
const CONCURRENCY_MAX: u32 = 20_000;

/// What a command line asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AbCommand {
    Version,
    /// A load and its report.
    Load(Box<AbOptions>),
}

/// A load, and how it is reported.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AbOptions {
    pub url: AbUrl,
    pub requests: u64,
    /// The number of connections at a time.
    pub concurrency: u32,
    /// The time after which the load ends.
    pub time_limit: Option<Duration>,
    /// Whether `-t` followed `-n` and replaced it.
    pub time_replaced_requests: bool,
    /// How long a response may take.
    pub timeout: Duration,
    /// The local address of the connections.
    pub local_address: Option<IpAddr>,
    pub method: String,
    /// The file whose contents are sent as the body.
    pub body_file: Option<String>,
    /// The `Content-Type` of the body.
    pub content_type: String,
    /// How much is printed in addition to the report.
    pub verbosity: u32,
    /// The report's markup if it is HTML.
    pub markup: Option<AbMarkup>,
    /// `NAME=VALUE`, in order.
    pub cookies: Vec<String>,
    /// Names and values, in order.
    pub headers: Vec<(String, String)>,
    /// Credentials for the server, as they are sent.
    pub authorization: Option<String>,
    /// Credentials for the proxy, as they are sent.
    pub proxy_authorization: Option<String>,
    /// The proxy's host and port.
    pub proxy: Option<(String, u16)>,
    /// Whether connections are kept alive.
    pub keep_alive: bool,
    /// Whether the table of percentages is left out.
    pub hides_percentages: bool,
    /// Whether deviations, medians and warnings are left out.
    pub hides_confidence: bool,
    /// Whether no progress is printed.
    pub is_quiet: bool,
    /// Whether documents may have any length.
    pub accepts_any_length: bool,
    /// The file for a table of all requests.
    pub gnuplot: Option<String>,
    pub csv: Option<String>,
    /// Whether the load continues after a failure.
    pub continues: bool,
    pub tls: AbTlsOptions,
    pub threads: Option<usize>,
    /// Time from the start of one connection to the start of the next.
    pub ramp: Duration,
    /// The size of each socket's buffers; `None` for the kernel's default.
    pub buffer_bytes: Option<u32>,
}

/// Attributes of the report's tags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AbMarkup {
    pub table: String,
    pub row: String,
    pub cell: String,
}

/// The TLS settings of connections.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AbTlsOptions {
    /// The only version; `None` for all versions.
    pub version: Option<AbTlsVersion>,
    /// The offered cipher suites of TLS 1.2; empty for all suites.
    pub suites: Vec<String>,
    /// Whether the server's name is not sent.
    pub hides_name: bool,
    /// The file of the client's certificate and key.
    pub identity: Option<String>,
}

/// A version of TLS to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AbTlsVersion {
    Tls12,
    Tls13,
}

/// Why a command line is not carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct AbRefusal {
    /// The text for standard error.
    pub message: String,
    pub exit_code: u8,
}

impl AbRefusal {
    /// A refusal as of ab: the mistake, the usage, and `EINVAL`.
    fn usage(wrong: impl std::fmt::Display) -> AbRefusal {
        AbRefusal {
            message: format!("ab: {wrong}\n{}", usage::usage().trim_end()),
            exit_code: 22,
        }
    }

    fn flag(wrong: &str) -> AbRefusal {
        AbRefusal {
            message: wrong.to_owned(),
            exit_code: 1,
        }
    }

    /// A refusal of what abx does not support.
    fn unable(flag: &str, why: &str) -> AbRefusal {
        AbRefusal {
            message: format!("abx ab: {flag}: {why}"),
            exit_code: 22,
        }
    }
}

impl AbCommand {
    /// Reads the words after `ab`.
    ///
    /// # Errors
    /// [`AbRefusal`]: help, a wrong command line, or one that abx cannot carry out.
    pub fn read(words: &[String]) -> Result<AbCommand, AbRefusal> {
        let short = ShortOptions::read(words, LETTERS).map_err(AbRefusal::usage)?;
        let mut reader = Reader {
            options: AbOptions {
                requests: 1,
                concurrency: 1,
                timeout: Duration::from_secs(30),
                method: "GET".to_owned(),
                content_type: "text/plain".to_owned(),
                ..AbOptions::default()
            },
            ..Reader::default()
        };
        for (letter, value) in short.options {
            match letter {
                'V' => return Ok(AbCommand::Version),
                'h' => {
                    return Err(AbRefusal {
                        message: usage::usage().trim_end().to_owned(),
                        exit_code: 22,
                    });
                }
                _ => reader.take(letter, value)?,
            }
        }
        let [url] = short.rest else {
            return Err(AbRefusal::usage("wrong number of arguments"));
        };
        let url = AbUrl::read(url).ok_or_else(|| AbRefusal::usage("invalid URL"))?;
        reader
            .finish(url)
            .map(|options| AbCommand::Load(Box::new(options)))
    }
}

/// The options read so far.
#[derive(Default)]
struct Reader {
    options: AbOptions,
    /// Whether `-n` or `-t` set the number of requests.
    has_requests: bool,
    has_method: bool,
    /// Whether `-m` named the method.
    has_named_method: bool,
}

impl Reader {
    fn take(&mut self, letter: char, value: &str) -> Result<(), AbRefusal> {
        let text = || Some(value.to_owned());
        let options = &mut self.options;
        match letter {
            'n' => {
                let requests = number::<u64>(value).filter(|count| *count > 0);
                options.requests =
                    requests.ok_or_else(|| AbRefusal::flag("Invalid number of requests"))?;
                self.has_requests = true;
            }
            'c' => options.concurrency = concurrency(value)?,
            't' => {
                options.time_limit = Some(seconds('t', value)?);
                options.time_replaced_requests = self.has_requests;
                options.requests = REQUESTS_OF_TIME;
                self.has_requests = true;
            }
            's' => options.timeout = seconds('s', value)?,
            'B' => options.local_address = Some(address(value)?),
            'p' | 'u' | 'i' | 'm' => self.take_method(letter, value)?,
            'T' => value.clone_into(&mut options.content_type),
            'v' => options.verbosity = number(value).unwrap_or(0),
            'w' => _ = options.markup(),
            'x' => value.clone_into(&mut options.markup().table),
            'y' => value.clone_into(&mut options.markup().row),
            'z' => value.clone_into(&mut options.markup().cell),
            'C' => options.cookies.push(value.to_owned()),
            'H' => options.headers.push(header(value)?),
            'A' => options.authorization = Some(basic(value)),
            'P' => options.proxy_authorization = Some(basic(value)),
            'X' => {
                let parts = authority_parts(value).map(|(host, port)| (host.to_owned(), port));
                let parts = parts.map(|(host, port)| (host, port.unwrap_or(80)));
                let wrong = || AbRefusal::usage("-X: give proxy[:port]");
                options.proxy = Some(parts.ok_or_else(wrong)?);
            }
            'g' => options.gnuplot = text(),
            'e' => options.csv = text(),
            'f' => options.tls.version = tls_version(value)?,
            'E' => options.tls.identity = text(),
            'W' => {
                let threads = number::<usize>(value).filter(|threads| *threads > 0);
                options.threads =
                    Some(threads.ok_or_else(|| AbRefusal::usage("-W: give a number"))?);
            }
            'R' => {
                let ms = number(value).ok_or_else(|| AbRefusal::usage("-R: give milliseconds"))?;
                options.ramp = Duration::from_millis(ms);
            }
            'b' => {
                let bytes = number(value).ok_or_else(|| AbRefusal::usage("-b: give bytes"))?;
                options.buffer_bytes = Some(bytes).filter(|bytes| *bytes > 0);
            }
            'Z' => options.tls.suites = value.split(':').map(str::to_owned).collect(),
            'k' => options.keep_alive = true,
            'd' => options.hides_percentages = true,
            'S' => options.hides_confidence = true,
            'q' => options.is_quiet = true,
            'l' => options.accepts_any_length = true,
            'r' => options.continues = true,
            'I' => options.tls.hides_name = true,
            _ => {}
        }
        Ok(())
    }

    /// Takes a flag that sets the method: POST, PUT and HEAD exclude each other.
    fn take_method(&mut self, letter: char, value: &str) -> Result<(), AbRefusal> {
        let is_free = !self.has_method;
        let method = match letter {
            'p' if is_free || self.has_named_method => "POST",
            'p' => return Err(AbRefusal::flag("Cannot mix POST with other methods")),
            'u' if is_free || self.has_named_method => "PUT",
            'u' => return Err(AbRefusal::flag("Cannot mix PUT with other methods")),
            'i' if is_free => "HEAD",
            'i' => return Err(AbRefusal::flag("Cannot mix HEAD with other methods")),
            _ => value,
        };
        let is_named = letter == 'm';
        if matches!(letter, 'p' | 'u') {
            self.options.body_file = Some(value.to_owned());
        }
        if is_free || is_named {
            method.clone_into(&mut self.options.method);
        }
        self.has_method = true;
        self.has_named_method |= is_named;
        Ok(())
    }

    /// Checks whether the options are consistent.
    fn finish(self, url: AbUrl) -> Result<AbOptions, AbRefusal> {
        let options = self.options;
        if u64::from(options.concurrency) > options.requests {
            return Err(AbRefusal::usage(
                "Cannot use concurrency level greater than total number of requests",
            ));
        }
        Ok(AbOptions {
            time_replaced_requests: options.time_replaced_requests
                && options.requests == REQUESTS_OF_TIME,
            url,
            ..options
        })
    }
}

impl AbOptions {
    fn markup(&mut self) -> &mut AbMarkup {
        self.markup.get_or_insert_with(|| AbMarkup {
            table: String::new(),
            row: String::new(),
            cell: "bgcolor=white".to_owned(),
        })
    }
}

fn seconds(letter: char, text: &str) -> Result<Duration, AbRefusal> {
    let seconds = number::<u64>(text).filter(|seconds| *seconds > 0);
    let seconds = seconds.ok_or_else(|| AbRefusal::usage(format!("-{letter}: give seconds")))?;
    Ok(Duration::from_secs(seconds))
}

/// A whole number without a sign.
fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.trim().parse().ok()
}

fn concurrency(text: &str) -> Result<u32, AbRefusal> {
    let concurrency = number::<u32>(text).filter(|count| (1..=CONCURRENCY_MAX).contains(count));
    concurrency.ok_or_else(|| {
        AbRefusal::usage(format!("Invalid Concurrency [Range 1..{CONCURRENCY_MAX}]"))
    })
}

fn address(text: &str) -> Result<IpAddr, AbRefusal> {
    let wrong = || AbRefusal::usage(format!("-B: `{text}` is not an address of this machine"));
    text.parse().map_err(|_| wrong())
}

fn header(text: &str) -> Result<(String, String), AbRefusal> {
    let wrong = || AbRefusal::usage(format!("-H: `{text}` is not a header: give 'Name: value'"));
    let (name, value) = text.split_once(':').ok_or_else(wrong)?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

fn basic(credentials: &str) -> String {
    format!("Basic {}", BASE64_STANDARD.encode(credentials))
}

fn tls_version(text: &str) -> Result<Option<AbTlsVersion>, AbRefusal> {
    match text.to_ascii_uppercase().as_str() {
        "ALL" => Ok(None),
        "TLS1.2" => Ok(Some(AbTlsVersion::Tls12)),
        "TLS1.3" => Ok(Some(AbTlsVersion::Tls13)),
        _ => Err(AbRefusal::unable(
            "-f",
            &format!("`{text}` is not supported: give TLS1.2, TLS1.3 or ALL"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn load(text: &str) -> AbOptions {
        match AbCommand::read(&words(text)) {
            Ok(AbCommand::Load(options)) => *options,
            other => panic!("{text}: {other:?}"),
        }
    }

    fn refusal(text: &str) -> (u8, String) {
        let refusal = AbCommand::read(&words(text)).expect_err(text);
        let first = refusal.message.lines().next().unwrap_or_default();
        (refusal.exit_code, first.to_owned())
    }

    #[test]
    fn without_flags_it_is_one_request() {
        // Method: the defaults in ab's manual.
        let plain = load("127.0.0.1:8080/x");
        assert_eq!((plain.requests, plain.concurrency), (1, 1));
        assert_eq!(
            (&*plain.method, &*plain.content_type),
            ("GET", "text/plain")
        );
        assert_eq!(plain.timeout, Duration::from_secs(30));
        assert!(plain.markup.is_none() && plain.time_limit.is_none());
        let switches = [
            plain.keep_alive,
            plain.hides_percentages,
            plain.hides_confidence,
            plain.is_quiet,
            plain.accepts_any_length,
            plain.continues,
            plain.tls.hides_name,
        ];
        assert_eq!(switches, [false; 7]);
    }

    #[test]
    fn every_flag_is_read() {
        // Method: all flags that may be combined, each with a distinct value.
        let options = load(
            "-n 100 -c7 -s 5 -B 127.0.0.2 -p body -T a/b -v 3 -y r -z d -x t -C a=1 -C b=2 -H X:1 \
             -A u:p -P x:y -X proxy:99 -kdSqlr -g g -e e -m PATCH -I -f tls1.2 -Z A:B -E id -W 2 -R 5 \
             -b 9000 http://a/",
        );
        assert_eq!(
            (options.requests, options.concurrency, options.verbosity),
            (100, 7, 3)
        );
        assert_eq!(options.timeout, Duration::from_secs(5));
        assert_eq!(options.local_address, Some("127.0.0.2".parse().unwrap()));
        assert_eq!(
            (&*options.method, options.body_file.as_deref()),
            ("PATCH", Some("body"))
        );
        assert_eq!(options.content_type, "a/b");
        let markup = options.markup.unwrap();
        assert_eq!([markup.table, markup.row, markup.cell], ["t", "r", "d"]);
        assert_eq!(options.cookies, ["a=1", "b=2"]);
        assert_eq!(options.headers, [("X".to_owned(), "1".to_owned())]);
        assert_eq!(options.authorization.as_deref(), Some("Basic dTpw"));
        assert_eq!(options.proxy_authorization.as_deref(), Some("Basic eDp5"));
        assert_eq!(options.proxy, Some(("proxy".to_owned(), 99)));
        let switches = [
            options.keep_alive,
            options.hides_percentages,
            options.hides_confidence,
            options.is_quiet,
            options.accepts_any_length,
            options.continues,
            options.tls.hides_name,
        ];
        assert_eq!(switches, [true; 7]);
        assert_eq!(options.gnuplot.as_deref(), Some("g"));
        assert_eq!(options.csv.as_deref(), Some("e"));
        assert_eq!(options.tls.version, Some(AbTlsVersion::Tls12));
        assert_eq!(options.tls.suites, ["A", "B"]);
        assert_eq!(options.tls.identity.as_deref(), Some("id"));
        assert_eq!(
            (options.threads, options.ramp),
            (Some(2), Duration::from_millis(5))
        );
        assert_eq!(
            (options.buffer_bytes, load("-b 0 a/").buffer_bytes),
            (Some(9_000), None)
        );
        assert_eq!(load("-i a/").method, "HEAD");
        assert_eq!(load("-u f a/").method, "PUT");
        assert_eq!(load("-w a/").markup.unwrap().cell, "bgcolor=white");
        assert_eq!(AbCommand::read(&words("-V")), Ok(AbCommand::Version));
    }

    #[test]
    fn a_time_replaces_only_an_earlier_number_of_requests() {
        // Method: both orders.
        let time_last = load("-n 100 -t 60 a/");
        assert_eq!(
            (time_last.requests, time_last.time_replaced_requests),
            (50_000, true)
        );
        let time_first = load("-t 60 -n 100 a/");
        assert_eq!(
            (time_first.requests, time_first.time_replaced_requests),
            (100, false)
        );
        assert_eq!(time_first.time_limit, Some(Duration::from_secs(60)));
        assert!(!load("-t 60 a/").time_replaced_requests);
    }

    #[test]
    fn what_ab_refuses_is_refused_with_its_message_and_exit_code() {
        // Method: the output of ab 2.4.71 for the same words; here, ranges begin at 1.
        for (text, code, line) in [
            ("", 22, "ab: wrong number of arguments"),
            ("a/ -k", 22, "ab: wrong number of arguments"),
            ("-j a/", 22, "ab: illegal option -- j"),
            ("http://a", 22, "ab: invalid URL"),
            ("-n 0 a/", 1, "Invalid number of requests"),
            ("-n x a/", 1, "Invalid number of requests"),
            ("-c 0 a/", 22, "ab: Invalid Concurrency [Range 1..20000]"),
            (
                "-c 20001 -n 30000 a/",
                22,
                "ab: Invalid Concurrency [Range 1..20000]",
            ),
            (
                "-c 5 -n 2 a/",
                22,
                "ab: Cannot use concurrency level greater than total number of requests",
            ),
            ("-i -p body a/", 1, "Cannot mix POST with other methods"),
            ("-p body -u body a/", 1, "Cannot mix PUT with other methods"),
            ("-p body -i a/", 1, "Cannot mix HEAD with other methods"),
            (
                "-h",
                22,
                "Usage: ab [options] [http[s]://]hostname[:port]/path",
            ),
        ] {
            assert_eq!(refusal(text), (code, line.to_owned()), "{text}");
        }
    }

    #[test]
    fn unsupported_versions_of_tls_are_refused() {
        // Method: one version of SSL, and one of TLS.
        for text in ["-f SSL3 a/", "-f TLS1.1 https://a/"] {
            let (code, line) = refusal(text);
            assert!(code == 22 && line.starts_with("abx ab: -f: "), "{line}");
        }
    }
}
