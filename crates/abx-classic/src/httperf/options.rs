//! The options of a command line, and how httperf repeats them above its report.

use super::long_options::{GivenOption, HttperfFlag, read};
use super::pace::HttperfPace;
use super::session_options::{HttperfSessionCalls, HttperfSessionOptions, HttperfSessions};
use super::tls_options::{HttperfTlsOptions, HttperfTlsVersion};
use super::values::{
    HttperfRefusal, count, header, illegal, number, refusal, seconds, short_number,
};

/// The action of a command line.
#[derive(Debug, Clone, PartialEq)]
pub enum HttperfCommand {
    /// Print the options.
    Help,
    /// Print the version.
    Version,
    Load(Box<HttperfOptions>),
}

/// The printed parts of each request or reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrintedParts {
    /// The lines of the head.
    pub head: bool,
    pub body: bool,
}

/// Which URIs are requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HttperfUris {
    One,
    /// `--wset`: a number of files below `--uri`, requested in sequence at a rate.
    Set {
        files: u64,
        /// Files by which each call advances, in millionths.
        step_millionths: u64,
    },
    /// `--wlog`: the URIs in a file, separated by NULs.
    Log {
        file: String,
        /// Whether the list repeats after its last URI.
        repeats: bool,
    },
}

/// A load as httperf's options describe it.
#[derive(Debug, Clone, PartialEq)]
pub struct HttperfOptions {
    /// Print the samples of the reply rate.
    pub verbose: bool,
    pub print_reply: Option<PrintedParts>,
    pub print_request: Option<PrintedParts>,
    /// Use as many ports as possible, which abx always does.
    pub hog: bool,
    /// Additional time for the first byte of a reply, in seconds.
    pub think_timeout_s: f64,
    /// The longest wait for any event, in seconds; 0 for no limit.
    pub timeout_s: f64,
    /// The number of this client, from 0, and the number of clients.
    pub client: (u32, u32),
    /// The server's name or address.
    pub server: String,
    /// The server's name in `Host`; `None` for `server`.
    pub server_name: Option<String>,
    pub port: u16,
    /// The URI, or the common beginning of several.
    pub uri: String,
    /// HTTP/1.0 instead of 1.1.
    pub is_http10: bool,
    pub pace: HttperfPace,
    pub ssl: bool,
    pub tls: HttperfTlsOptions,
    /// Close connections with a reset.
    pub close_with_reset: bool,
    /// The sizes of the send and the receive buffers of sockets, in bytes.
    pub buffers: (u32, u32),
    /// The time after which the load ends, in seconds.
    pub runtime_s: Option<f64>,
    /// Further headers as sent, and as written on the command line.
    pub add_header: Option<(Vec<u8>, String)>,
    pub method: Option<String>,
    /// Send no `Host`.
    pub no_host_header: bool,
    pub num_conns: u64,
    pub num_calls: u32,
    /// Calls that are sent together.
    pub burst_length: u32,
    pub uris: HttperfUris,
    /// Sessions instead of connections, and their options.
    pub session: HttperfSessionOptions,
    /// Print only the samples of rates.
    pub periodic_stats: bool,
}

/// The sizes that httperf sets for socket buffers, in bytes.
const BUFFERS: (u32, u32) = (4_096, 16_384);

impl Default for HttperfOptions {
    fn default() -> HttperfOptions {
        HttperfOptions {
            verbose: false,
            print_reply: None,
            print_request: None,
            hog: false,
            think_timeout_s: 0.0,
            timeout_s: 0.0,
            client: (0, 1),
            server: "localhost".to_owned(),
            server_name: None,
            port: 80,
            uri: "/".to_owned(),
            is_http10: false,
            pace: HttperfPace::Sequential,
            ssl: false,
            tls: HttperfTlsOptions::default(),
            close_with_reset: false,
            buffers: BUFFERS,
            runtime_s: None,
            add_header: None,
            method: None,
            no_host_header: false,
            num_conns: 1,
            num_calls: 1,
            burst_length: 1,
            uris: HttperfUris::One,
            session: HttperfSessionOptions::default(),
            periodic_stats: false,
        }
    }
}

impl HttperfCommand {
    /// Reads the words after the program's name.
    ///
    /// # Errors
    /// [`HttperfRefusal`] for the first word that is wrong, or that abx does not support.
    pub fn parse(words: &[String]) -> Result<HttperfCommand, HttperfRefusal> {
        let given = read(words)?;
        let has = |flag| given.iter().any(|option| option.flag == flag);
        if has(HttperfFlag::Help) {
            return Ok(HttperfCommand::Help);
        }
        if has(HttperfFlag::Version) {
            return Ok(HttperfCommand::Version);
        }
        let mut options = HttperfOptions::default();
        if has(HttperfFlag::Ssl) && !has(HttperfFlag::Port) {
            options.port = 443;
        }
        if has(HttperfFlag::Wlog) && (has(HttperfFlag::Uri) || has(HttperfFlag::Wset)) {
            return Err(refusal("--wlog has all URIs: leave out --uri and --wset"));
        }
        if has(HttperfFlag::Wsess) && has(HttperfFlag::Wsesslog) {
            return Err(refusal(
                "--wsess and --wsesslog exclude each other: leave one of them out",
            ));
        }
        let has_uris = has(HttperfFlag::Wlog) || has(HttperfFlag::Wset);
        if has(HttperfFlag::Wsesslog) && has_uris {
            return Err(refusal(
                "--wsesslog has all URIs: leave out --wlog and --wset",
            ));
        }
        for option in &given {
            options.take(option)?;
        }
        options.check_sessions()?;
        options.tls.check()?;
        Ok(HttperfCommand::Load(Box::new(options)))
    }
}

impl HttperfOptions {
    fn take(&mut self, option: &GivenOption) -> Result<(), HttperfRefusal> {
        let value = option.value.as_deref().unwrap_or_default();
        match option.flag {
            HttperfFlag::AddHeader => {
                if self.add_header.is_some() {
                    return Err(HttperfRefusal(format!(
                        "{} is given twice: give all headers in one",
                        option.name
                    )));
                }
                self.add_header = Some((header(value)?, value.to_owned()));
            }
            HttperfFlag::BurstLength => self.burst_length = count(value, "burst-length")?,
            HttperfFlag::Client => self.client = client(value)?,
            HttperfFlag::CloseWithReset => self.close_with_reset = true,
            HttperfFlag::FailureStatus => {
                let status: u16 = number(value, "failure status")?;
                self.session.failure_status = Some(status).filter(|status| *status > 0);
            }
            HttperfFlag::Hog => self.hog = true,
            HttperfFlag::HttpVersion => self.is_http10 = is_http10(value)?,
            HttperfFlag::MaxConnections => {
                self.session.max_connections = Some(number(value, "max. # of connection")?);
            }
            HttperfFlag::MaxPipedCalls => {
                self.session.max_piped_calls = Some(number(value, "max. # of piped calls")?);
            }
            HttperfFlag::Method => self.method = Some(word(value, "method")?),
            HttperfFlag::NoHostHeader => self.no_host_header = true,
            HttperfFlag::NumCalls => self.num_calls = count(value, "number of calls")?,
            HttperfFlag::NumConns => self.num_conns = count(value, "number of connections")?,
            HttperfFlag::Period => self.pace = HttperfPace::of_period(value)?,
            HttperfFlag::PeriodicStats => self.periodic_stats = true,
            HttperfFlag::Port => self.port = number(value, "port number")?,
            HttperfFlag::PrintReply => self.print_reply = Some(PrintedParts::of(value)),
            HttperfFlag::PrintRequest => self.print_request = Some(PrintedParts::of(value)),
            HttperfFlag::Rate => self.pace = HttperfPace::of_rate(value)?,
            HttperfFlag::RetryOnFailure => self.session.retry_on_failure = true,
            HttperfFlag::RecvBuffer => self.buffers.1 = number(value, "receive buffer size")?,
            HttperfFlag::Runtime => self.runtime_s = Some(runtime(value)?),
            HttperfFlag::SendBuffer => self.buffers.0 = number(value, "send buffer size")?,
            HttperfFlag::Server => self.server = server(value)?,
            HttperfFlag::ServerName => self.server_name = Some(word(value, "server name")?),
            HttperfFlag::SessionCookies => self.session.cookies = true,
            HttperfFlag::Ssl => self.ssl = true,
            HttperfFlag::ThinkTimeout => {
                self.think_timeout_s = seconds(value, "think timeout value")?;
            }
            HttperfFlag::Timeout => self.timeout_s = seconds(value, "connect timeout")?,
            HttperfFlag::Uri => self.uri = uri(value)?,
            HttperfFlag::Verbose => self.verbose = true,
            HttperfFlag::Wlog => self.uris = log(value)?,
            HttperfFlag::Wsess => self.session.load = Some(HttperfSessions::of_wsess(value)?),
            HttperfFlag::Wsesslog => self.session.load = Some(HttperfSessions::of_wsesslog(value)?),
            HttperfFlag::Wset => self.uris = set(value)?,
            HttperfFlag::Help | HttperfFlag::Version | HttperfFlag::Refused(_) => {}
            _ => self.take_tls(option.flag, option.value.as_deref())?,
        }
        Ok(())
    }

    /// Takes a TLS option.
    fn take_tls(&mut self, flag: HttperfFlag, value: Option<&str>) -> Result<(), HttperfRefusal> {
        let text = value.unwrap_or_default();
        let owned = Some(text.to_owned());
        match flag {
            HttperfFlag::SslCaFile => self.tls.ca_file = owned,
            HttperfFlag::SslCertificate => self.tls.certificate = owned,
            HttperfFlag::SslCiphers => self.tls.ciphers = owned,
            HttperfFlag::SslKey => self.tls.key = owned,
            HttperfFlag::SslNoReuse => self.tls.no_reuse = true,
            HttperfFlag::SslProtocol => self.tls.version = HttperfTlsVersion::read(text)?,
            HttperfFlag::SslVerify => self.tls.verifies = HttperfTlsOptions::verifies(value)?,
            HttperfFlag::TlsServerName => self.tls.server_name = Some(word(text, "server name")?),
            _ => {}
        }
        Ok(())
    }

    fn check_sessions(&self) -> Result<(), HttperfRefusal> {
        self.session.check()?;
        let Some(sessions) = &self.session.load else {
            return Ok(());
        };
        if matches!(self.uris, HttperfUris::Log { repeats: false, .. }) {
            return Err(refusal(
                "--wlog=n ends in the middle of a session: give --wlog=y",
            ));
        }
        match sessions.calls {
            HttperfSessionCalls::Same(_) => {
                self.session.check_room(self.burst_length, self.is_http10)
            }
            HttperfSessionCalls::Log(_) => Ok(()),
        }
    }

    /// The server's name, as in its certificate.
    #[must_use]
    pub fn name(&self) -> &str {
        let name = self.server_name.as_deref().unwrap_or(&self.server);
        name.split('%').next().unwrap_or(name)
    }

    /// The server's name for `Host`, with an IPv6 address in brackets.
    #[must_use]
    pub fn host(&self) -> String {
        match self.name() {
            name if name.contains(':') => format!("[{name}]"),
            name => name.to_owned(),
        }
    }

    /// The line above the report, which repeats the options in httperf's order.
    #[must_use]
    pub fn echo(&self) -> String {
        let mut line = String::from("httperf");
        let mut add = |is_set: bool, word: String| {
            if is_set {
                line.push(' ');
                line.push_str(&word);
            }
        };
        add(self.verbose, "--verbose".to_owned());
        for (name, parts) in [
            ("print-reply", self.print_reply),
            ("print-request", self.print_request),
        ] {
            add(parts.is_some(), format!("--{name}{}", echoed(parts)));
        }
        add(self.hog, "--hog".to_owned());
        add(self.close_with_reset, "--close-with-reset".to_owned());
        for (name, value) in [
            ("think-timeout", self.think_timeout_s),
            ("timeout", self.timeout_s),
            ("runtime", self.runtime_s.unwrap_or_default()),
        ] {
            add(value > 0.0, format!("--{name}={}", short_number(value)));
        }
        let (client, clients) = self.client;
        add(true, format!("--client={client}/{clients}"));
        add(true, format!("--server={}", self.server));
        let name = self.server_name.as_deref().unwrap_or_default();
        add(self.server_name.is_some(), format!("--server_name={name}"));
        add(true, format!("--port={} --uri={}", self.port, self.uri));
        for word in self.of_connections() {
            add(!word.is_empty(), word);
        }
        let (send, receive) = self.buffers;
        add(true, format!("--send-buffer={send}"));
        add(
            self.session.retry_on_failure,
            "--retry-on-failure".to_owned(),
        );
        add(true, format!("--recv-buffer={receive}"));
        add(self.session.cookies, "--session-cookies".to_owned());
        add(self.ssl, "--ssl".to_owned());
        for word in self.tls.echo() {
            add(true, word);
        }
        if let Some((_, header)) = &self.add_header {
            add(true, format!("--add-header='{header}'"));
        }
        if let Some(method) = &self.method {
            add(true, format!("--method={method}"));
        }
        let (conns, calls) = (self.num_conns, self.num_calls);
        let plain = || format!("--num-conns={conns} --num-calls={calls}");
        add(
            true,
            self.session
                .load
                .as_ref()
                .map_or_else(plain, HttperfSessions::echo),
        );
        let burst = self.burst_length;
        add(burst > 1, format!("--burst-length={burst}"));
        if let HttperfUris::Set {
            files,
            step_millionths,
        } = self.uris
        {
            let rate = step_millionths as f64 / 1e6;
            add(true, format!("--wset={files},{rate:.3}"));
        }
        line
    }

    /// The words about connections, in httperf's order; empty for defaults.
    fn of_connections(&self) -> [String; 5] {
        let session = &self.session;
        let limit = |name: &str, value: Option<usize>| {
            let value = value.filter(|value| *value > 0);
            value.map_or_else(String::new, |value| format!("--{name}={value}"))
        };
        let version = if self.is_http10 {
            "--http-version=1.0"
        } else {
            ""
        };
        [
            limit("failure-status", session.failure_status.map(usize::from)),
            version.to_owned(),
            limit("max-connections", session.max_connections),
            limit("max-piped-calls", session.max_piped_calls),
            self.pace.echo(),
        ]
    }
}

impl PrintedParts {
    fn of(value: &str) -> PrintedParts {
        PrintedParts {
            head: value != "body",
            body: value != "header",
        }
    }
}

fn echoed(parts: Option<PrintedParts>) -> &'static str {
    match parts {
        Some(PrintedParts { body: false, .. }) => "=header",
        Some(PrintedParts { head: false, .. }) => "=body",
        _ => "",
    }
}

/// A URI, which is sent unchanged, as httperf does.
fn uri(value: &str) -> Result<String, HttperfRefusal> {
    if !value.is_empty() && !value.contains(char::is_control) {
        Ok(value.to_owned())
    } else {
        Err(illegal("URI", &format!("`{value}`")))
    }
}

/// A server's name or address, without the brackets of an IPv6 address.
fn server(value: &str) -> Result<String, HttperfRefusal> {
    let name = word(value, "server name")?;
    let bare = name
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    Ok(bare.unwrap_or(&name).replace("%25", "%"))
}

/// A value that is one word in a request's head.
fn word(value: &str, what: &str) -> Result<String, HttperfRefusal> {
    let is_word = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_graphic());
    if is_word {
        Ok(value.to_owned())
    } else {
        Err(illegal(what, &format!("`{value}`")))
    }
}

fn runtime(value: &str) -> Result<f64, HttperfRefusal> {
    let runtime_s = seconds(value, "runtime value")?;
    if runtime_s > 0.0 {
        Ok(runtime_s)
    } else {
        Err(illegal("runtime value", value))
    }
}

fn is_http10(value: &str) -> Result<bool, HttperfRefusal> {
    match value {
        "1.0" => Ok(true),
        "1.1" => Ok(false),
        _ => Err(illegal("version number", value)),
    }
}

fn client(value: &str) -> Result<(u32, u32), HttperfRefusal> {
    let parsed = value.split_once('/').and_then(|(client, clients)| {
        let (client, clients): (u32, u32) = (client.parse().ok()?, clients.parse().ok()?);
        (client < clients).then_some((client, clients))
    });
    parsed.ok_or_else(|| illegal("client (I/N, I below N)", value))
}

fn set(value: &str) -> Result<HttperfUris, HttperfRefusal> {
    let wrong = || illegal("working set (N,X)", value);
    let (files, rate) = value.split_once(',').ok_or_else(wrong)?;
    let files: u64 = count(files, "working set size")?;
    let rate = seconds(rate, "working set rate")?;
    if rate <= 1e6 && files <= 1_000_000_000 {
        Ok(HttperfUris::Set {
            files,
            step_millionths: (rate * 1e6).round() as u64,
        })
    } else {
        Err(wrong())
    }
}

fn log(value: &str) -> Result<HttperfUris, HttperfRefusal> {
    let wrong = || illegal("log (y|n,FILE)", value);
    let (repeats, file) = value.split_once(',').ok_or_else(wrong)?;
    let repeats = match repeats {
        "y" => true,
        "n" => false,
        _ => return Err(wrong()),
    };
    Ok(HttperfUris::Log {
        file: file.to_owned(),
        repeats,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(line: &str) -> Result<HttperfCommand, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        HttperfCommand::parse(&words).map_err(|refusal| refusal.to_string())
    }

    fn options(line: &str) -> HttperfOptions {
        match parsed(line).unwrap() {
            HttperfCommand::Load(options) => *options,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn options_are_echoed_as_by_httperf() {
        // Method: command lines, with the lines that httperf 0.9.0 printed for them.
        for (line, message) in [
            (
                "",
                "httperf --client=0/1 --server=localhost --port=80 --uri=/ --send-buffer=4096 \
                 --recv-buffer=16384 --num-conns=1 --num-calls=1",
            ),
            (
                "--server 127.0.0.1 --port 28431 --uri / --rate 100 --hog -v --num-conns=50 \
                 --num-calls=5",
                "httperf --verbose --hog --client=0/1 --server=127.0.0.1 --port=28431 --uri=/ \
                 --rate=100 --send-buffer=4096 --recv-buffer=16384 --num-conns=50 --num-calls=5",
            ),
            (
                "--print-request=header --print-reply=header --method POST --add-header A:b\\n \
                 --http-version 1.0 --no-host-hdr --num-conns 2",
                "httperf --print-reply=header --print-request=header --client=0/1 \
                 --server=localhost --port=80 --uri=/ --http-version=1.0 --send-buffer=4096 \
                 --recv-buffer=16384 --add-header='A:b\\n' --method=POST --num-conns=2 \
                 --num-calls=1",
            ),
            (
                "--print-reply=body --hog --port=1 --http-version=1.0 --rate=10 --method=HEAD \
                 --num-calls=3 --burst-length=3 --wset=2,1 --server-name=foo",
                "httperf --print-reply=body --hog --client=0/1 --server=localhost \
                 --server_name=foo --port=1 --uri=/ --http-version=1.0 --rate=10 \
                 --send-buffer=4096 --recv-buffer=16384 --method=HEAD --num-conns=1 \
                 --num-calls=3 --burst-length=3 --wset=2,1.000",
            ),
            (
                "--timeout 2.5 --think-timeout 1 --client 1/3 --period u0.01,0.03",
                "httperf --think-timeout=1 --timeout=2.5 --client=1/3 --server=localhost \
                 --port=80 --uri=/ --period=u0.01,0.03 --send-buffer=4096 --recv-buffer=16384 \
                 --num-conns=1 --num-calls=1",
            ),
            (
                "--timeout 0.00001 --period e2000000",
                "httperf --timeout=1e-05 --client=0/1 --server=localhost --port=80 --uri=/ \
                 --period=e2e+06 --send-buffer=4096 --recv-buffer=16384 --num-conns=1 \
                 --num-calls=1",
            ),
            (
                "--timeout 1234567.25 --period d0.02",
                "httperf --timeout=1.23457e+06 --client=0/1 --server=localhost --port=80 \
                 --uri=/ --rate=50 --send-buffer=4096 --recv-buffer=16384 --num-conns=1 \
                 --num-calls=1",
            ),
            (
                "--ssl-no-reuse --ssl --ssl-ciphers=A:B --close-with-reset --recv-buffer=9000 \
                 --send-buffer 100 --hog --port 1",
                "httperf --hog --close-with-reset --client=0/1 --server=localhost --port=1 \
                 --uri=/ --send-buffer=100 --recv-buffer=9000 --ssl --ssl-ciphers=A:B \
                 --ssl-no-reuse --num-conns=1 --num-calls=1",
            ),
        ] {
            assert_eq!(options(line).echo(), message, "{line}");
        }
        let newer = "--ssl --ssl-protocol tlsv1_3 --ssl-verify=yes --ssl-ca-file=a --ssl-key k \
                     --ssl-certificate c --runtime 2.5 --period v1,2 --tls-server-name n --timeout 1";
        let message = "httperf --timeout=1 --runtime=2.5 --client=0/1 --server=localhost --port=443 \
                    --uri=/ --period=v --send-buffer=4096 --recv-buffer=16384 --ssl \
                    --tls-server-name=n --ssl-cert=c --ssl-key=k --ssl-ca-file=a --ssl-verify \
                    --ssl-protocol=TLSv1.3 --num-conns=1 --num-calls=1";
        assert_eq!(options(newer).echo(), message);
        assert_eq!(options("--ssl").port, 443);
        assert_eq!(options("--ssl --port 8443").port, 8443);
    }

    #[test]
    fn values_that_mean_nothing_are_refused() {
        // Method: one mistake per option that takes a value; most messages are httperf's.
        for (line, message) in [
            ("--num-conns x", "illegal number of connections x"),
            ("--num-conns 0", "illegal number of connections 0"),
            ("--num-calls x", "illegal number of calls x"),
            ("--burst-length x", "illegal burst-length x"),
            ("--port 99999", "illegal port number 99999"),
            ("--rate x", "illegal request rate x"),
            ("--rate -1", "illegal request rate -1"),
            ("--rate nan", "illegal request rate nan"),
            ("--timeout abc", "illegal connect timeout abc"),
            ("--think-timeout x", "illegal think timeout value x"),
            ("--http-version 3.0", "illegal version number 3.0"),
            ("--period x5", "illegal interarrival distribution 'x' in x5"),
            ("--client 3/2", "illegal client (I/N, I below N) 3/2"),
            ("--wset x", "illegal working set (N,X) x"),
            ("--wlog z,f", "illegal log (y|n,FILE) z,f"),
            ("--uri /a\u{7f}", "illegal URI `/a\u{7f}`"),
            ("--recv-buffer x", "illegal receive buffer size x"),
            ("--send-buffer -1", "illegal send buffer size -1"),
            ("--runtime 0", "illegal runtime value 0"),
            (
                "--period v",
                "--period v needs a duration after each period",
            ),
            ("--period vx,1", "illegal interarrival time x"),
            (
                "--period v1,2,3",
                "--period v needs a duration after each period",
            ),
            ("--ssl-protocol x", "illegal SSL protocol x"),
            (
                "--ssl-protocol TLSv1",
                "abx does not support --ssl-protocol TLSv1: it supports TLSv1.2 and TLSv1.3",
            ),
            (
                "--ssl-verify=x",
                "illegal choice of --ssl-verify (yes, no) x",
            ),
            (
                "--ssl-key x",
                "--ssl-certificate and --ssl-key belong together: give both",
            ),
            (
                "--ssl-ca-file x",
                "--ssl-ca-file is for --ssl-verify, without which any certificate is accepted",
            ),
        ] {
            assert_eq!(parsed(line).unwrap_err(), message, "{line}");
        }
        for line in [
            "--add-header X:y",
            "--add-header \\n",
            "--add-header a\\q\\n",
        ] {
            assert!(parsed(line).unwrap_err().contains("--add-header"), "{line}");
        }
        let twice = "--add-header A:b\\n --add-header C:d\\n";
        assert!(parsed(twice).unwrap_err().contains("twice"));
        assert!(parsed("--wlog y,f --uri /").unwrap_err().contains("--wlog"));
        // The options that httperf echoes are accepted.
        options("--send-buffer=4096 --recv-buffer=16384");
    }

    proptest! {
        #[test]
        fn no_words_panic(
            names in prop::collection::vec("(--?[a-z-]{0,14}(=.{0,8})?)|.{0,6}", 0..4),
            option in prop::sample::select(vec![
                "--add-header", "--client", "--period", "--rate", "--wset", "--wlog", "--uri",
                "--wsess", "--wsesslog", "--runtime", "--ssl-ciphers", "--ssl-protocol",
            ]),
            value in ".{0,12}",
        ) {
            // Method: any words, and a known option with any value.
            let _ = HttperfCommand::parse(&names);
            let words = [option.to_owned(), value];
            if let Ok(HttperfCommand::Load(options)) = HttperfCommand::parse(&words) {
                prop_assert!(!options.echo().is_empty());
            }
        }
    }
}
