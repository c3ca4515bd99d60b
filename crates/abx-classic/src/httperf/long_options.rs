//! The long options: their names, how words are parsed, and the messages for those that abx does
//! not support.

use super::values::HttperfRefusal;

/// Declares the options: the supported ones by flag, name and value, and the refused ones with the
/// alternative.
macro_rules! options {
    (
        supported: [$($flag:ident $name:literal $takes:expr,)+]
        refused: [$($refused:literal $refused_takes:expr => $instead:literal,)+]
    ) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum HttperfFlag {
            $($flag,)+
            /// Known but not supported, with the alternative.
            Refused(&'static str),
        }

        const OPTIONS: &[LongOption] = &[
            $(LongOption { name: $name, takes: $takes, flag: HttperfFlag::$flag },)+
            $(LongOption {
                name: $refused,
                takes: $refused_takes,
                flag: HttperfFlag::Refused($instead),
            },)+
        ];
    };
}

options! {
    supported: [
        AddHeader "add-header" Takes::Value("S"),
        BurstLength "burst-length" Takes::Value("N"),
        Client "client" Takes::Value("I/N"),
        CloseWithReset "close-with-reset" Takes::Nothing,
        FailureStatus "failure-status" Takes::Value("N"),
        Help "help" Takes::Nothing,
        Hog "hog" Takes::Nothing,
        HttpVersion "http-version" Takes::Value("S"),
        MaxConnections "max-connections" Takes::Value("N"),
        MaxPipedCalls "max-piped-calls" Takes::Value("N"),
        Method "method" Takes::Value("S"),
        NoHostHeader "no-host-hdr" Takes::Nothing,
        NumCalls "num-calls" Takes::Value("N"),
        NumConns "num-conns" Takes::Value("N"),
        Period "period" Takes::Value("[d|u|e]T1[,T2]|vT1,D1,..."),
        PeriodicStats "periodic-stats" Takes::Nothing,
        Port "port" Takes::Value("N"),
        PrintReply "print-reply" Takes::Maybe("header|body"),
        PrintRequest "print-request" Takes::Maybe("header|body"),
        Rate "rate" Takes::Value("X"),
        RecvBuffer "recv-buffer" Takes::Value("N"),
        RetryOnFailure "retry-on-failure" Takes::Nothing,
        Runtime "runtime" Takes::Value("X"),
        SendBuffer "send-buffer" Takes::Value("N"),
        Server "server" Takes::Value("S"),
        ServerName "server-name" Takes::Value("S"),
        SessionCookies "session-cookies" Takes::Nothing,
        Ssl "ssl" Takes::Nothing,
        SslCaFile "ssl-ca-file" Takes::Value("FILE"),
        SslCertificate "ssl-certificate" Takes::Value("FILE"),
        SslCiphers "ssl-ciphers" Takes::Value("L"),
        SslKey "ssl-key" Takes::Value("FILE"),
        SslNoReuse "ssl-no-reuse" Takes::Nothing,
        SslProtocol "ssl-protocol" Takes::Value("S"),
        SslVerify "ssl-verify" Takes::Maybe("yes|no"),
        ThinkTimeout "think-timeout" Takes::Value("X"),
        Timeout "timeout" Takes::Value("X"),
        TlsServerName "tls-server-name" Takes::Value("S"),
        Uri "uri" Takes::Value("S"),
        Verbose "verbose" Takes::Nothing,
        Version "version" Takes::Nothing,
        Wlog "wlog" Takes::Value("y|n,FILE"),
        Wsess "wsess" Takes::Value("N,N,X"),
        Wsesslog "wsesslog" Takes::Value("N,X,FILE"),
        Wset "wset" Takes::Value("N,X"),
    ]
    refused: [
        "debug" Takes::Value("S") => "it concerns httperf's internals; --print-request and --print-reply show requests and \
             replies",
        "myaddr" Takes::Value("S") => "abx run URL --local-address ADDRESS connects from an address",
        "servers" Takes::Value("S") => "several servers are what abx compare is for",
        "ssl-ca-path" Takes::Value("S") => "put the certificates of the folder into one file, for --ssl-ca-file",
        "use-timer-cache" Takes::Nothing => "abx reads the clock once for all that is ready together",
        "wsesspage" Takes::Value("S") => "--wsesslog=N,X,FILE requests the parts of pages that FILE names",
    ]
}

/// Whether an option takes a value, and its placeholder in the usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Takes {
    Nothing,
    Value(&'static str),
    /// An optional value, only after an equals sign.
    Maybe(&'static str),
}

struct LongOption {
    name: &'static str,
    takes: Takes,
    flag: HttperfFlag,
}

/// The text of `--help`: the options that abx supports.
#[must_use]
pub fn usage() -> String {
    let mut text = String::from("Usage: httperf [-hvV]");
    let mut width = text.len();
    for long_option in OPTIONS {
        if matches!(long_option.flag, HttperfFlag::Refused(_)) {
            continue;
        }
        let value = match long_option.takes {
            Takes::Nothing => String::new(),
            Takes::Value(value) => format!(" {value}"),
            Takes::Maybe(value) => format!("[={value}]"),
        };
        let word = format!(" [--{}{value}]", long_option.name);
        if width + word.len() > 78 {
            text.push_str("\n\t");
            text.push_str(word.trim_start());
            width = 7 + word.len();
            continue;
        }
        text.push_str(&word);
        width += word.len();
    }
    text.push_str("\nabx refuses the options of httperf that it does not support.\n");
    text
}

pub(super) struct GivenOption {
    /// The full name with hyphens.
    pub(super) name: String,
    pub(super) flag: HttperfFlag,
    pub(super) value: Option<String>,
}

/// Reads words as the GNU C library's `getopt_long` does: names may be abbreviated, and a value is
/// after an equals sign or in the next word. Words that are not options are refused. httperf skips
/// these words, and with them an option whose hyphens a web page has turned into dashes.
pub(super) fn read(words: &[String]) -> Result<Vec<GivenOption>, HttperfRefusal> {
    let mut options = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let Some(long) = word.strip_prefix("--").filter(|name| !name.is_empty()) else {
            read_short(word, &mut rest, &mut options)?;
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
            (Takes::Value(_), None) => {
                let next = rest.next().cloned();
                Some(next.ok_or_else(|| lacks_value(&full))?)
            }
            (_, value) => value,
        };
        options.push(checked(full, option.flag, value)?);
    }
    Ok(options)
}

/// Reads a word of short options.
fn read_short<'a>(
    word: &str,
    rest: &mut impl Iterator<Item = &'a String>,
    options: &mut Vec<GivenOption>,
) -> Result<(), HttperfRefusal> {
    let Some(letters) = word
        .strip_prefix('-')
        .filter(|text| !text.is_empty() && *text != "-")
    else {
        let dashes = ['\u{2013}', '\u{2014}', '\u{2212}'];
        return Err(HttperfRefusal(if word.starts_with(dashes) {
            format!("`{word}` begins with a dash: options begin with two hyphens, --")
        } else {
            format!("`{word}` is not an option: leave it out")
        }));
    };
    for (place, letter) in letters.char_indices() {
        let flag = match letter {
            'h' => HttperfFlag::Help,
            'v' => HttperfFlag::Verbose,
            'V' => HttperfFlag::Version,
            'd' => {
                let attached = &letters[place + 1..];
                let value = if attached.is_empty() {
                    rest.next().cloned().ok_or_else(|| lacks_value("-d"))?
                } else {
                    attached.to_owned()
                };
                options.push(checked("-d".to_owned(), find("debug")?.flag, Some(value))?);
                return Ok(());
            }
            other => return Err(HttperfRefusal(format!("invalid option -- '{other}'"))),
        };
        options.push(checked(format!("-{letter}"), flag, None)?);
    }
    Ok(())
}

fn lacks_value(name: &str) -> HttperfRefusal {
    HttperfRefusal(format!("option '{name}' requires an argument"))
}

/// The option, unless abx does not support it.
fn checked(
    name: String,
    flag: HttperfFlag,
    value: Option<String>,
) -> Result<GivenOption, HttperfRefusal> {
    match flag {
        HttperfFlag::Refused(instead) => Err(HttperfRefusal(format!(
            "abx does not support {name}: {instead}"
        ))),
        _ => Ok(GivenOption { name, flag, value }),
    }
}

/// The option of this name, or the only option whose name begins so.
fn find(name: &str) -> Result<&'static LongOption, HttperfRefusal> {
    if let Some(option) = OPTIONS.iter().find(|option| option.name == name) {
        return Ok(option);
    }
    let mut candidates: Vec<&LongOption> = OPTIONS
        .iter()
        .filter(|option| option.name.starts_with(name))
        .collect();
    candidates.sort_by_key(|option| option.name);
    match candidates[..] {
        [] => Err(HttperfRefusal(format!("unrecognized option '--{name}'"))),
        [only] => Ok(only),
        _ => {
            let names = candidates
                .iter()
                .map(|option| format!(" '--{}'", option.name));
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
        let options = read(&words).map_err(|refusal| refusal.to_string())?;
        Ok(options
            .into_iter()
            .map(|option| (option.name, option.value))
            .collect())
    }

    #[test]
    fn words_are_read_as_getopt_reads_them() {
        // Method: full and abbreviated names, values in both places, combined short options.
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
    fn words_that_are_not_options_are_refused() {
        // Method: one word per message; those about wrong names and values are httperf's.
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
            (&["foo"], "`foo` is not an option: leave it out"),
            (&["--"], "`--` is not an option: leave it out"),
            (
                &["\u{2013}server=a"],
                "`\u{2013}server=a` begins with a dash: options begin with two hyphens, --",
            ),
        ] {
            assert_eq!(names(words).unwrap_err(), message);
        }
    }

    #[test]
    fn an_unsupported_option_is_refused_with_the_alternative() {
        // Method: each unsupported option, with a value if it takes one.
        let mut refused = 0;
        for long_option in OPTIONS {
            let HttperfFlag::Refused(instead) = long_option.flag else {
                continue;
            };
            let value = match long_option.takes {
                Takes::Value(_) => "=1",
                _ => "",
            };
            let word = format!("--{}{value}", long_option.name);
            let message = names(&[&word]).unwrap_err();
            let expected = format!("abx does not support --{}: {instead}", long_option.name);
            assert_eq!(message, expected);
            refused += 1;
        }
        assert!(refused > 5);
        assert!(names(&["-d", "1"]).unwrap_err().contains("not support -d"));
    }
}
