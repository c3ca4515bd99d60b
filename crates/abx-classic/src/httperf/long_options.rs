//! The options by name: which there are, how words become them, and what is said instead of
//! those that abx does not do.

use super::values::HttperfRefusal;

/// An option that is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HttperfFlag {
    AddHeader,
    BurstLength,
    Client,
    CloseWithReset,
    FailureStatus,
    Help,
    Hog,
    HttpVersion,
    MaxConnections,
    MaxPipedCalls,
    Method,
    NoHostHeader,
    NumCalls,
    NumConns,
    Period,
    PeriodicStats,
    Port,
    PrintReply,
    PrintRequest,
    Rate,
    RecvBuffer,
    RetryOnFailure,
    Runtime,
    SendBuffer,
    Server,
    ServerName,
    SessionCookies,
    Ssl,
    SslCaFile,
    SslCertificate,
    SslCiphers,
    SslKey,
    SslNoReuse,
    SslProtocol,
    SslVerify,
    ThinkTimeout,
    Timeout,
    TlsServerName,
    Uri,
    Verbose,
    Version,
    Wlog,
    Wsess,
    Wsesslog,
    Wset,
    /// Known and not done: what to do instead.
    Refused(&'static str),
}

/// Whether an option has a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Takes {
    Nothing,
    Value,
    /// Only behind an equals sign.
    Maybe,
}

struct LongOption {
    name: &'static str,
    takes: Takes,
    flag: HttperfFlag,
}

const fn option(name: &'static str, takes: Takes, flag: HttperfFlag) -> LongOption {
    LongOption { name, takes, flag }
}

const fn refused(name: &'static str, takes: Takes, instead: &'static str) -> LongOption {
    option(name, takes, HttperfFlag::Refused(instead))
}

const OPTIONS: &[LongOption] = &[
    option("add-header", Takes::Value, HttperfFlag::AddHeader),
    option("burst-length", Takes::Value, HttperfFlag::BurstLength),
    option("client", Takes::Value, HttperfFlag::Client),
    option(
        "close-with-reset",
        Takes::Nothing,
        HttperfFlag::CloseWithReset,
    ),
    refused(
        "debug",
        Takes::Value,
        "it is for httperf's own insides; --print-request and --print-reply show what is sent \
         and what comes",
    ),
    option("failure-status", Takes::Value, HttperfFlag::FailureStatus),
    option("help", Takes::Nothing, HttperfFlag::Help),
    option("hog", Takes::Nothing, HttperfFlag::Hog),
    option("http-version", Takes::Value, HttperfFlag::HttpVersion),
    option("max-connections", Takes::Value, HttperfFlag::MaxConnections),
    option("max-piped-calls", Takes::Value, HttperfFlag::MaxPipedCalls),
    option("method", Takes::Value, HttperfFlag::Method),
    refused(
        "myaddr",
        Takes::Value,
        "abx run URL --local-address ADDRESS connects from an address",
    ),
    option("no-host-hdr", Takes::Nothing, HttperfFlag::NoHostHeader),
    option("num-calls", Takes::Value, HttperfFlag::NumCalls),
    option("num-conns", Takes::Value, HttperfFlag::NumConns),
    option("period", Takes::Value, HttperfFlag::Period),
    option("periodic-stats", Takes::Nothing, HttperfFlag::PeriodicStats),
    option("port", Takes::Value, HttperfFlag::Port),
    option("print-reply", Takes::Maybe, HttperfFlag::PrintReply),
    option("print-request", Takes::Maybe, HttperfFlag::PrintRequest),
    option("rate", Takes::Value, HttperfFlag::Rate),
    option("recv-buffer", Takes::Value, HttperfFlag::RecvBuffer),
    option(
        "retry-on-failure",
        Takes::Nothing,
        HttperfFlag::RetryOnFailure,
    ),
    option("runtime", Takes::Value, HttperfFlag::Runtime),
    option("send-buffer", Takes::Value, HttperfFlag::SendBuffer),
    option("server", Takes::Value, HttperfFlag::Server),
    option("server-name", Takes::Value, HttperfFlag::ServerName),
    refused(
        "servers",
        Takes::Value,
        "several servers are what abx compare is for",
    ),
    option(
        "session-cookies",
        Takes::Nothing,
        HttperfFlag::SessionCookies,
    ),
    option("ssl", Takes::Nothing, HttperfFlag::Ssl),
    option("ssl-ca-file", Takes::Value, HttperfFlag::SslCaFile),
    refused(
        "ssl-ca-path",
        Takes::Value,
        "put the certificates of the folder into one file, for --ssl-ca-file",
    ),
    option("ssl-certificate", Takes::Value, HttperfFlag::SslCertificate),
    option("ssl-ciphers", Takes::Value, HttperfFlag::SslCiphers),
    option("ssl-key", Takes::Value, HttperfFlag::SslKey),
    option("ssl-no-reuse", Takes::Nothing, HttperfFlag::SslNoReuse),
    option("ssl-protocol", Takes::Value, HttperfFlag::SslProtocol),
    option("ssl-verify", Takes::Maybe, HttperfFlag::SslVerify),
    option("think-timeout", Takes::Value, HttperfFlag::ThinkTimeout),
    option("timeout", Takes::Value, HttperfFlag::Timeout),
    option("tls-server-name", Takes::Value, HttperfFlag::TlsServerName),
    option("uri", Takes::Value, HttperfFlag::Uri),
    refused(
        "use-timer-cache",
        Takes::Nothing,
        "abx reads the clock once for all that is ready together",
    ),
    option("verbose", Takes::Nothing, HttperfFlag::Verbose),
    option("version", Takes::Nothing, HttperfFlag::Version),
    option("wlog", Takes::Value, HttperfFlag::Wlog),
    option("wsess", Takes::Value, HttperfFlag::Wsess),
    option("wsesslog", Takes::Value, HttperfFlag::Wsesslog),
    refused(
        "wsesspage",
        Takes::Value,
        "--wsesslog=N,X,FILE asks for the parts of pages that its file names",
    ),
    option("wset", Takes::Value, HttperfFlag::Wset),
];

/// What `--help` prints: what abx does.
#[must_use]
pub fn usage() -> String {
    let mut text = String::from("Usage: httperf [-hvV]");
    let mut line = text.len();
    for long_option in OPTIONS {
        if matches!(long_option.flag, HttperfFlag::Refused(_)) {
            continue;
        }
        let value = match long_option.takes {
            Takes::Nothing => String::new(),
            Takes::Value => format!(" {}", value_of(long_option.flag)),
            Takes::Maybe if long_option.flag == HttperfFlag::SslVerify => "[=yes|no]".to_owned(),
            Takes::Maybe => "[=header|body]".to_owned(),
        };
        let word = format!(" [--{}{value}]", long_option.name);
        if line + word.len() > 78 {
            text.push_str("\n\t");
            text.push_str(word.trim_start());
            line = 7 + word.len();
            continue;
        }
        text.push_str(&word);
        line += word.len();
    }
    text.push_str("\nabx refuses the options of httperf that it does not support.\n");
    text
}

fn value_of(flag: HttperfFlag) -> &'static str {
    match flag {
        HttperfFlag::Client => "I/N",
        HttperfFlag::Period => "[d|u|e]T1[,T2]|vT1,D1,...",
        HttperfFlag::Rate
        | HttperfFlag::Runtime
        | HttperfFlag::ThinkTimeout
        | HttperfFlag::Timeout => "X",
        HttperfFlag::SslCiphers => "L",
        HttperfFlag::SslCaFile | HttperfFlag::SslCertificate | HttperfFlag::SslKey => "FILE",
        HttperfFlag::Wset => "N,X",
        HttperfFlag::Wsess => "N,N,X",
        HttperfFlag::Wsesslog => "N,X,FILE",
        HttperfFlag::Wlog => "y|n,FILE",
        HttperfFlag::AddHeader
        | HttperfFlag::HttpVersion
        | HttperfFlag::Method
        | HttperfFlag::Server
        | HttperfFlag::ServerName
        | HttperfFlag::SslProtocol
        | HttperfFlag::TlsServerName
        | HttperfFlag::Uri => "S",
        _ => "N",
    }
}

pub(super) struct GivenOption {
    /// Its whole name with its hyphens.
    pub(super) name: String,
    pub(super) flag: HttperfFlag,
    pub(super) value: Option<String>,
}

/// Reads words as the GNU C library's `getopt_long` does: names may be cut short, values stand
/// behind an equals sign or in the next word. Words that are no options are refused: httperf
/// passes over them, and with them over an option whose hyphens a web page has made into dashes.
pub(super) fn given(words: &[String]) -> Result<Vec<GivenOption>, HttperfRefusal> {
    let mut given_options = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let Some(long) = word.strip_prefix("--").filter(|name| !name.is_empty()) else {
            short(word, &mut rest, &mut given_options)?;
            continue;
        };
        let (name, value) = match long.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (long, None),
        };
        let option = find(name)?;
        let full = format!("--{}", option.name);
        let value = match (option.takes, value) {
            (Takes::Nothing, Some(_)) => {
                return Err(HttperfRefusal(format!(
                    "option '{full}' doesn't allow an argument"
                )));
            }
            (Takes::Value, None) => {
                let next = rest.next().cloned();
                Some(next.ok_or_else(|| lacks_value(&full))?)
            }
            (_, value) => value,
        };
        given_options.push(checked(full, option.flag, value)?);
    }
    Ok(given_options)
}

/// Reads a word of short options.
fn short<'a>(
    word: &str,
    rest: &mut impl Iterator<Item = &'a String>,
    given_options: &mut Vec<GivenOption>,
) -> Result<(), HttperfRefusal> {
    let Some(letters) = word
        .strip_prefix('-')
        .filter(|text| !text.is_empty() && *text != "-")
    else {
        let dashes = ['\u{2013}', '\u{2014}', '\u{2212}'];
        return Err(HttperfRefusal(if word.starts_with(dashes) {
            format!("`{word}` begins with a dash: options begin with two hyphens, --")
        } else {
            format!("`{word}` is no option: leave it out")
        }));
    };
    for (place, letter) in letters.char_indices() {
        let flag = match letter {
            'h' => HttperfFlag::Help,
            'v' => HttperfFlag::Verbose,
            'V' => HttperfFlag::Version,
            'd' => {
                let behind = &letters[place + 1..];
                let value = if behind.is_empty() {
                    rest.next().cloned().ok_or_else(|| lacks_value("-d"))?
                } else {
                    behind.to_owned()
                };
                given_options.push(checked("-d".to_owned(), find("debug")?.flag, Some(value))?);
                return Ok(());
            }
            other => return Err(HttperfRefusal(format!("invalid option -- '{other}'"))),
        };
        given_options.push(checked(format!("-{letter}"), flag, None)?);
    }
    Ok(())
}

fn lacks_value(name: &str) -> HttperfRefusal {
    HttperfRefusal(format!("option '{name}' requires an argument"))
}

/// The same, unless abx does not do it.
fn checked(
    name: String,
    flag: HttperfFlag,
    value: Option<String>,
) -> Result<GivenOption, HttperfRefusal> {
    match flag {
        HttperfFlag::Refused(instead) => {
            Err(HttperfRefusal(format!("abx does not do {name}: {instead}")))
        }
        _ => Ok(GivenOption { name, flag, value }),
    }
}

/// The option of this name, or the only one that begins so.
fn find(name: &str) -> Result<&'static LongOption, HttperfRefusal> {
    let mut same = OPTIONS.iter();
    if let Some(whole) = same.find(|long_option| long_option.name == name) {
        return Ok(whole);
    }
    let begins = OPTIONS
        .iter()
        .filter(|long_option| long_option.name.starts_with(name));
    let begins: Vec<&LongOption> = begins.collect();
    match begins[..] {
        [] => Err(HttperfRefusal(format!("unrecognized option '--{name}'"))),
        [only] => Ok(only),
        _ => {
            let names = begins
                .iter()
                .map(|long_option| format!(" '--{}'", long_option.name));
            Err(HttperfRefusal(format!(
                "option '--{name}' is ambiguous; possibilities:{}",
                names.collect::<String>()
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(words: &[&str]) -> Result<Vec<(String, Option<String>)>, String> {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        let given = given(&words).map_err(|refusal| refusal.to_string())?;
        Ok(given
            .into_iter()
            .map(|given_option| (given_option.name, given_option.value))
            .collect())
    }

    #[test]
    fn words_are_read_as_getopt_reads_them() {
        // Method: names whole and cut short, values in both places, short ones together.
        let expected = [
            ("--server", Some("b")),
            ("--num-conns", Some("3")),
            ("--hog", None),
            ("-v", None),
            ("-V", None),
            ("--print-reply", None),
            ("--print-request", Some("body")),
            ("--rate", Some("10")),
        ];
        let words = [
            "--server",
            "b",
            "--num-co",
            "3",
            "--hog",
            "-vV",
            "--print-reply",
            "--print-request=body",
            "--ra",
            "10",
        ];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.map(str::to_owned)));
        assert_eq!(names(&words).unwrap(), expected);
    }

    #[test]
    fn what_is_no_option_is_refused_by_name() {
        // Method: one word for each message; those of wrong names and values are httperf's own.
        for (words, message) in [
            (&["--nonsense"][..], "unrecognized option '--nonsense'"),
            (
                &["--num", "3"],
                "option '--num' is ambiguous; possibilities: '--num-calls' '--num-conns'",
            ),
            (
                &["--serv=a"],
                "option '--serv' is ambiguous; possibilities: '--server' '--server-name' '--servers'",
            ),
            (&["--server"], "option '--server' requires an argument"),
            (&["--hog=3"], "option '--hog' doesn't allow an argument"),
            (&["-x"], "invalid option -- 'x'"),
            (&["foo"], "`foo` is no option: leave it out"),
            (&["--"], "`--` is no option: leave it out"),
            (
                &["\u{2013}server=a"],
                "`\u{2013}server=a` begins with a dash: options begin with two hyphens, --",
            ),
        ] {
            assert_eq!(names(words).unwrap_err(), message);
        }
    }

    #[test]
    fn what_abx_does_not_do_is_refused_with_what_to_do() {
        // Method: each such option with a value, where it takes one.
        let mut refused = 0;
        for long_option in OPTIONS {
            let HttperfFlag::Refused(instead) = long_option.flag else {
                continue;
            };
            let value = if long_option.takes == Takes::Value {
                "=1"
            } else {
                ""
            };
            let word = format!("--{}{value}", long_option.name);
            let message = names(&[&word]).unwrap_err();
            let expected = format!("abx does not do --{}: {instead}", long_option.name);
            assert_eq!(message, expected);
            refused += 1;
        }
        assert!(refused > 5);
        assert!(names(&["-d", "1"]).unwrap_err().contains("not do -d"));
    }
}
