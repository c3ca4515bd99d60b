//! The figures of ab's report, counted from the result of a load.

use std::time::Duration;

use abx_evidence::{LoggedRequest, Outcome, RequestLog, TlsOptions};

use super::options::AbOptions;
use super::spread::Spread;

/// The result of a load.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AbRun {
    pub log: RequestLog,
    /// From the first connection's start to the last request's end.
    pub elapsed: Duration,
    pub received_bytes: u64,
    pub body_bytes: u64,
    pub request_bytes: u64,
    /// A time since 1970 in µs, and the same time on the monotonic clock in ns.
    pub clocks: (u64, u64),
}

/// Requests that failed, by cause; each request has one cause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AbFailures {
    /// The connection could not be opened.
    pub connect: u64,
    /// The connection broke, or no response came in time.
    pub receive: u64,
    /// The document differed in length from the first one, or the server closed the connection
    /// before its end.
    pub length: u64,
    /// The response was not HTTP.
    pub exceptions: u64,
}

/// The negotiated TLS parameters, as ab prints them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AbTls {
    /// Version, cipher suite, bits of the server's key and of the cipher's key.
    pub protocol: String,
    /// The key exchange group.
    pub temporary_key: Option<String>,
    /// The server name that was sent.
    pub server_name: Option<String>,
}

/// One request's times in µs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AbTime {
    pub(super) began_us: u64,
    pub(super) connect_us: u64,
    pub(super) wait_us: u64,
    pub(super) total_us: u64,
}

/// The figures of ab's report.
#[derive(Debug, Clone, PartialEq)]
pub struct AbFigures {
    pub(super) software: String,
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) tls: Option<AbTls>,
    pub(super) path: String,
    /// `None` if the length may vary.
    pub(super) document_bytes: Option<u64>,
    pub(super) concurrency: u32,
    pub(super) seconds: f64,
    /// Requests that ended, including failed ones.
    pub(super) complete: u64,
    pub(super) failures: AbFailures,
    pub(super) non_2xx: u64,
    /// `None` without keep-alive.
    pub(super) kept: Option<u64>,
    pub(super) received_bytes: u64,
    pub(super) body_bytes: u64,
    /// `None` if requests have no body.
    pub(super) sent_bytes: Option<u64>,
    pub(super) times: Vec<AbTime>,
    pub(super) rows: Rows,
}

/// The rows of "Connection Times".
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Rows {
    pub(super) connect: Spread,
    pub(super) processing: Spread,
    pub(super) waiting: Spread,
    pub(super) total: Spread,
}

impl AbFailures {
    /// The number of failed requests.
    #[must_use]
    pub fn all(self) -> u64 {
        self.connect + self.receive + self.length + self.exceptions
    }

    fn add(&mut self, request: &LoggedRequest, document_bytes: Option<u64>) {
        let is_other_length = document_bytes.is_some_and(|bytes| bytes != request.body_bytes);
        let class = match request.outcome {
            Outcome::Refused
            | Outcome::Unreachable
            | Outcome::TlsFailed
            | Outcome::NoPort
            | Outcome::NoDescriptor
            | Outcome::NoMemory => &mut self.connect,
            Outcome::Reset | Outcome::StreamReset | Outcome::Timeout => &mut self.receive,
            Outcome::EarlyClose | Outcome::EmptyResponse => &mut self.length,
            outcome if !outcome.is_completed() => &mut self.exceptions,
            Outcome::Malformed | Outcome::HeadTooLarge | Outcome::OtherProtocol => {
                &mut self.exceptions
            }
            _ if is_other_length => &mut self.length,
            _ => return,
        };
        *class += 1;
    }
}

impl AbFigures {
    /// Counts the requests of a run.
    #[must_use]
    pub fn of(options: &AbOptions, run: &AbRun) -> AbFigures {
        let requests = run.log.requests();
        let responses = || requests.iter().filter(|request| request.status > 0);
        let first = responses().min_by_key(|request| request.intended_ns + request.total_ns);
        let first_bytes = first.map_or(0, |first| first.body_bytes);
        let document_bytes = (!options.accepts_any_length).then_some(first_bytes);
        let mut failures = AbFailures::default();
        for request in requests {
            failures.add(request, document_bytes);
        }
        let complete = requests.len() as u64;
        let times = times(requests, run.clocks);
        AbFigures {
            software: software(run.log.heads().first().map_or(&[][..], Vec::as_slice)),
            host: options.url.host.clone(),
            port: options.url.port,
            tls: run.log.tls().map(|tls| AbTls::of(tls, options)),
            path: options.url.path.clone(),
            document_bytes,
            concurrency: options.concurrency,
            seconds: run.elapsed.as_secs_f64(),
            complete,
            failures,
            non_2xx: responses()
                .filter(|request| request.status / 100 != 2)
                .count() as u64,
            kept: options
                .keep_alive
                .then(|| responses().filter(|request| request.is_kept).count() as u64),
            received_bytes: run.received_bytes,
            body_bytes: run.body_bytes,
            sent_bytes: options
                .body_file
                .is_some()
                .then(|| complete * run.request_bytes),
            rows: Rows::of(&times),
            times,
        }
    }

    /// The number of requests that ended, including failed ones.
    #[must_use]
    pub fn complete(&self) -> u64 {
        self.complete
    }

    /// The failed requests, by cause.
    #[must_use]
    pub fn failures(&self) -> AbFailures {
        self.failures
    }
}

impl AbTls {
    fn of(tls: &TlsOptions, options: &AbOptions) -> AbTls {
        let cipher_bits = if tls.cipher.contains("AES_128") {
            128
        } else {
            256
        };
        let key_bits = tls.server_key_bits.unwrap_or(0);
        let version = &tls.version;
        let suite = openssl_name(&tls.cipher);
        // Addresses are not sent as names (RFC 6066, section 3).
        let name = options.url.host.as_str();
        let is_name = !name.starts_with('[') && name.parse::<std::net::IpAddr>().is_err();
        AbTls {
            protocol: format!("{version},{suite},{key_bits},{cipher_bits}"),
            temporary_key: tls.group.as_deref().map(|group| {
                match group {
                    "X25519" => "X25519 253 bits",
                    "secp256r1" => "ECDH P-256 256 bits",
                    "secp384r1" => "ECDH P-384 384 bits",
                    other => other,
                }
                .to_owned()
            }),
            server_name: (is_name && !options.tls.hides_name).then(|| name.to_owned()),
        }
    }
}

/// OpenSSL's name of a cipher suite.
fn openssl_name(suite: &str) -> String {
    if let Some(rest) = suite.strip_prefix("TLS13_") {
        return format!("TLS_{rest}");
    }
    let words = suite.trim_start_matches("TLS_").replace("_WITH", "");
    let words = words.replace("AES_", "AES").replace('_', "-");
    words.replace("POLY1305-SHA256", "POLY1305")
}

/// The server software that a response's head names: up to the first space, without control
/// characters, and short enough for a report.
fn software(head: &[u8]) -> String {
    let text = String::from_utf8_lossy(head);
    let mut lines = text.lines().take_while(|line| !line.is_empty());
    let value = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("server").then(|| value.trim())
    });
    let word = value.unwrap_or_default().split_whitespace().next();
    let letters = word.unwrap_or_default().chars().take(SOFTWARE_LETTERS_MAX);
    letters.filter(|letter| !letter.is_control()).collect()
}

const SOFTWARE_LETTERS_MAX: usize = 200;

/// The times of requests, in ascending order of their totals.
fn times(requests: &[LoggedRequest], (calendar_us, monotonic_ns): (u64, u64)) -> Vec<AbTime> {
    let mut times: Vec<AbTime> = requests
        .iter()
        .map(|request| AbTime {
            began_us: calendar_us + request.intended_ns.saturating_sub(monotonic_ns) / 1_000,
            connect_us: request.connect_ns / 1_000,
            wait_us: request.wait_ns / 1_000,
            total_us: request.total_ns / 1_000,
        })
        .collect();
    times.sort_by_key(|time| (time.total_us, time.began_us));
    times
}

impl AbTime {
    /// The time after the connection was established.
    pub(super) fn processing_us(&self) -> u64 {
        self.total_us.saturating_sub(self.connect_us)
    }
}

impl Rows {
    fn of(times: &[AbTime]) -> Rows {
        let spread = |of: fn(&AbTime) -> u64| Spread::of(times.iter().map(of).collect());
        Rows {
            connect: spread(|time| time.connect_us),
            processing: spread(AbTime::processing_us),
            waiting: spread(|time| time.wait_us),
            total: spread(|time| time.total_us),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use abx_evidence::{RequestLogPlan, Timestamps};

    use super::super::options::AbCommand;
    use super::*;

    pub(in super::super) fn options(words: &str) -> AbOptions {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        match AbCommand::read(&words) {
            Ok(AbCommand::Load(options)) => *options,
            other => panic!("{other:?}"),
        }
    }

    /// A run of 2 s with these requests: status, bytes and outcome. The first takes 10 ms, each
    /// other request 1 ms longer than the one before it; connecting takes 2 ms of each.
    pub(in super::super) fn run(requests: &[(u16, u64, Outcome)]) -> AbRun {
        let plan = RequestLogPlan {
            most: 1_000,
            ..RequestLogPlan::default()
        };
        let mut log = RequestLog::new(&plan, u64::MAX);
        log.begins(b"HTTP/1.1 200 OK\r\nserver: nginx/1.22 (x)\r\n\r\nServer: no\r\n");
        for (index, (status, bytes, outcome)) in requests.iter().enumerate() {
            let began_ns = 1_000_000_000 + 20_000_000 * index as u64;
            let total_ns = 10_000_000 + 1_000_000 * index as u64;
            let stamps = Timestamps {
                intended_ns: began_ns,
                connect_ns: Some(2_000_000),
                turn_ns: began_ns + 2_000_000,
                first_byte_ns: began_ns + 5_000_000,
                done_ns: began_ns + total_ns,
            };
            log.timed(&stamps, stamps.turn_ns);
            log.responds(*status, *bytes, *status == 200);
            log.ends(began_ns, stamps.done_ns, *outcome);
        }
        AbRun {
            log,
            elapsed: Duration::from_secs(2),
            received_bytes: 4_096,
            body_bytes: 1_024,
            request_bytes: 100,
            clocks: (1_700_000_000_000_000, 1_000_000_000),
        }
    }

    #[test]
    fn a_failed_request_counts_under_one_cause() {
        // Method: failures of each class, and two good responses, with a document of 12 bytes.
        let run = run(&[
            (200, 12, Outcome::Ok),
            (404, 12, Outcome::Ok),
            (200, 13, Outcome::Ok),
            (0, 0, Outcome::Refused),
            (0, 0, Outcome::TlsFailed),
            (0, 0, Outcome::Reset),
            (0, 0, Outcome::Timeout),
            (0, 0, Outcome::EarlyClose),
            (0, 0, Outcome::Malformed),
        ]);
        let figures = AbFigures::of(&options("-k a/"), &run);
        let expected = AbFailures {
            connect: 2,
            receive: 2,
            length: 2,
            exceptions: 1,
        };
        assert_eq!(figures.failures, expected);
        assert_eq!((figures.complete, expected.all()), (9, 7));
        assert_eq!((figures.non_2xx, figures.kept), (1, Some(2)));
        assert_eq!(figures.document_bytes, Some(12));
        assert_eq!(figures.software, "nginx/1.22");
        let any = AbFigures::of(&options("-l a/"), &run);
        assert_eq!((any.failures.length, any.document_bytes), (1, None));
        assert_eq!(any.kept, None);
    }

    #[test]
    fn the_name_of_the_server_software_is_shortened_and_made_printable() {
        // Method: a long name, and a name with a control character of two bytes.
        let head = |name: &str| format!("HTTP/1.1 200 OK\r\nServer: {name}\r\n\r\n");
        assert_eq!(software(head(&"x".repeat(20_000)).as_bytes()).len(), 200);
        assert_eq!(software(head("a\u{9b}2J").as_bytes()), "a2J");
    }

    #[test]
    fn sent_bytes_are_counted_if_requests_have_a_body() {
        // Method: two requests of 100 bytes, with and without a body.
        let run = run(&[(200, 12, Outcome::Ok), (200, 12, Outcome::Ok)]);
        assert_eq!(
            AbFigures::of(&options("-p f a/"), &run).sent_bytes,
            Some(200)
        );
        assert_eq!(AbFigures::of(&options("a/"), &run).sent_bytes, None);
    }

    #[test]
    fn negotiated_parameters_are_printed_as_openssl_names_them() {
        // Method: suites of both versions, with and without a server name.
        let tls = |version: &str, cipher: &str| TlsOptions {
            version: version.to_owned(),
            cipher: cipher.to_owned(),
            group: Some("X25519".to_owned()),
            server_key_bits: Some(2048),
        };
        let new = tls("TLSv1.3", "TLS13_AES_256_GCM_SHA384");
        let named = AbTls::of(&new, &options("https://localhost/"));
        assert_eq!(named.protocol, "TLSv1.3,TLS_AES_256_GCM_SHA384,2048,256");
        assert_eq!(named.temporary_key.as_deref(), Some("X25519 253 bits"));
        assert_eq!(named.server_name.as_deref(), Some("localhost"));
        for words in [
            "https://127.0.0.1/",
            "https://[::1]/",
            "-I https://localhost/",
        ] {
            assert_eq!(
                AbTls::of(&new, &options(words)).server_name,
                None,
                "{words}"
            );
        }
        for (cipher, name) in [
            (
                "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
                "ECDHE-RSA-AES128-GCM-SHA256,2048,128",
            ),
            (
                "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
                "ECDHE-ECDSA-CHACHA20-POLY1305,2048,256",
            ),
        ] {
            let old = AbTls::of(&tls("TLSv1.2", cipher), &options("https://localhost/"));
            assert_eq!(old.protocol, format!("TLSv1.2,{name}"));
        }
    }
}
