//! The command line: as it is read, with a command of curl translated to our own words, and as
//! records keep it, without secrets.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue};
use clap::{ArgMatches, CommandFactory};

use super::cli::Cli;
use super::curl;

/// Replaces a secret in records.
pub const HIDDEN: &str = "<hidden>";
/// Headers with one of these words in their names are secret.
const SECRET: [&str; 10] = [
    "auth",
    "cookie",
    "token",
    "secret",
    "passw",
    "passphrase",
    "credential",
    "session",
    "signature",
    "jwt",
];
/// The same, of whole words of a name.
const SECRET_WORDS: [&str; 6] = ["pass", "pwd", "sig", "sid", "csrf", "xsrf"];
/// How a word ends that names a key.
const KEY: &str = "key";

/// The visible rest of a secret value.
type Hide = fn(&str) -> String;

/// A value as it was given, and as records have it.
struct Hidden {
    given: String,
    shown: String,
}

/// The words of the command line.
pub struct GivenWords {
    /// As records keep them.
    pub recorded: Vec<String>,
    /// The given values that must not be shown.
    pub secret: Vec<String>,
}

/// The forms of the words that were given.
#[must_use]
pub fn words(given: &[OsString]) -> GivenWords {
    let ours = in_our_words(given.to_vec()).unwrap_or_default();
    GivenWords {
        recorded: without_secrets(&ours),
        secret: secret_words(given, &ours),
    }
}

/// The secrets among the words as they were given, and in our words.
fn secret_words(given: &[OsString], ours: &[OsString]) -> Vec<String> {
    let text = |word: &OsString| word.to_string_lossy().into_owned();
    if let Some(tool) = given.get(1).and_then(|word| word.to_str())
        && let Some((_, joined)) = OF_TOOLS.iter().find(|(name, _)| *name == tool)
    {
        let words: Vec<String> = given.iter().map(text).collect();
        let values = words.iter().enumerate().filter_map(|(place, word)| {
            let joined = joined(word)?;
            let apart = || words.get(place + 1).cloned();
            Some(joined.to_owned())
                .filter(|value| !value.is_empty())
                .or_else(apart)
        });
        return values.collect();
    }
    let hidden = hidden_values(ours);
    let curl = given.iter().position(|word| word == "curl");
    match curl.filter(|_| given != ours && !hidden.is_empty()) {
        // curl has its own ways to write each of them.
        Some(place) => given[place + 1..].iter().map(text).collect(),
        None => hidden.into_iter().map(|value| value.given).collect(),
    }
}

/// Other tools whose options may have secret values: the part after such an option in its own word,
/// and nothing if its value is the next word. Too much does no harm.
const OF_TOOLS: [(&str, Joined); 2] = [("ab", joined_by_ab), ("httperf", joined_by_httperf)];

type Joined = fn(&str) -> Option<&str>;

/// As `getopt` reads it: `-A`, `-Ame:x`, and `-kAme:x`.
fn joined_by_ab(word: &str) -> Option<&str> {
    let letters = word.strip_prefix('-')?;
    let place = letters.find(['A', 'P', 'C', 'H'])?;
    Some(&letters[place + 1..])
}

/// As `getopt_long` reads it: the name or its beginning, and a value after `=`.
fn joined_by_httperf(word: &str) -> Option<&str> {
    let (name, value) = word.split_once('=').unwrap_or((word, ""));
    let is_header = name.len() > "--".len() && "--add-header".starts_with(name);
    is_header.then_some(value)
}

/// The words that are read. After `abx run ... curl` they are a command of curl.
///
/// # Errors
/// The part of that command that abx does not support.
pub fn in_our_words(words: Vec<OsString>) -> Result<Vec<OsString>, String> {
    let is_run = words.get(1).is_some_and(|word| word == "run");
    let place = words.iter().position(|word| word == "curl");
    let Some(place) = place.filter(|place| is_run && *place > 1) else {
        return Ok(words);
    };
    // The word may be a value, such as a body.
    let is_value = ["-b", "--body"]
        .iter()
        .any(|flag| words[place - 1] == *flag);
    if is_value {
        return Ok(words);
    }
    let text = |word: &OsString| {
        let text = word.to_str().map(str::to_owned);
        text.ok_or_else(|| "the command of curl has bytes that are no text".to_owned())
    };
    let of_curl = words[place + 1..].iter().map(text);
    let of_curl = of_curl.collect::<Result<Vec<String>, String>>()?;
    let ours = curl::translated(&of_curl)?.into_iter().map(OsString::from);
    Ok(words[..place].iter().cloned().chain(ours).collect())
}

/// The secret values of our words.
fn hidden_values(words: &[OsString]) -> Vec<Hidden> {
    let read = Cli::command().try_get_matches_from(words);
    read.map_or_else(|_| Vec::new(), |read| secrets(&read))
}

fn without_secrets(words: &[OsString]) -> Vec<String> {
    let hidden = hidden_values(words);
    let words = words.iter().map(|word| word.to_string_lossy().into_owned());
    words.map(|word| shown(word, &hidden)).collect()
}

/// A word that is a secret, or a flag with one, without it.
fn shown(word: String, hidden: &[Hidden]) -> String {
    for this_hidden in hidden {
        if word == this_hidden.given {
            return this_hidden.shown.clone();
        }
        let flag = word.strip_suffix(&this_hidden.given);
        if let Some(flag) = flag.filter(|flag| flag.starts_with('-')) {
            return format!("{flag}{}", this_hidden.shown);
        }
    }
    word
}

/// The secret values of all flags.
fn secrets(matches: &ArgMatches) -> Vec<Hidden> {
    if let Some((_, matches)) = matches.subcommand() {
        return secrets(matches);
    }
    let kinds: [(&str, Hide); 6] = [
        ("user", user),
        ("bearer", bearer),
        ("cookies", cookies),
        ("headers", header),
        ("form", field),
        ("bus", bus),
    ];
    let mut hiddens = Vec::new();
    for (id, hide) in kinds {
        let values = matches.try_get_raw(id).ok().flatten();
        for value in values.into_iter().flatten() {
            let given = value.to_string_lossy().into_owned();
            let shown = hide(&given);
            if !given.is_empty() && shown != given {
                hiddens.push(Hidden { given, shown });
            }
        }
    }
    hiddens
}

fn user(text: &str) -> String {
    match text.split_once(':') {
        Some((name, _)) => format!("{name}:{HIDDEN}"),
        None => HIDDEN.to_owned(),
    }
}

/// A URL with a user and a password.
fn bus(text: &str) -> String {
    let Some((before, host)) = text.rsplit_once('@') else {
        return text.to_owned();
    };
    match before.split_once("://") {
        Some((scheme, both)) => format!("{scheme}://{}@{host}", user(both)),
        None => format!("{}@{host}", user(before)),
    }
}

fn bearer(text: &str) -> String {
    if text.starts_with('@') && !text.starts_with("@@") {
        text.to_owned()
    } else {
        HIDDEN.to_owned()
    }
}

fn cookies(text: &str) -> String {
    let pairs = text.split(';').map(|pair| match pair.split_once('=') {
        Some((name, _)) => format!("{}={HIDDEN}", name.trim()),
        None => HIDDEN.to_owned(),
    });
    pairs.collect::<Vec<_>>().join("; ")
}

fn header(text: &str) -> String {
    let Some((name, _)) = text.split_once(':') else {
        return text.to_owned();
    };
    if is_secret(name) {
        format!("{name}: {HIDDEN}")
    } else {
        text.to_owned()
    }
}

/// Whether the value of a header of this name is a secret.
fn is_secret(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let mut words = lower.split(|letter: char| !letter.is_ascii_alphanumeric());
    SECRET.iter().any(|part| lower.contains(part))
        || words.any(|word| SECRET_WORDS.contains(&word) || word.ends_with(KEY))
}

/// A header without a colon has no name that could show whether it is a secret.
fn invalid_header(text: &str) -> String {
    if text.contains(':') {
        header(text)
    } else {
        HIDDEN.to_owned()
    }
}

// clap reports a value that is missing as an empty one.
/// Hides a secret in clap's message about a value that is not valid.
pub fn hide_invalid(mut error: clap::Error) -> clap::Error {
    let kinds: [(&str, Hide); 7] = [
        ("--user", user),
        ("--bearer", bearer),
        ("--cookie", cookies),
        ("--header", invalid_header),
        ("--form", field),
        ("--bus", bus),
        ("--otlp", bus),
    ];
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    if let (Some(flag), Some(value)) = (
        text(ContextKind::InvalidArg),
        text(ContextKind::InvalidValue),
    ) && !value.is_empty()
        && let Some((_, hide)) = kinds.iter().find(|(name, _)| flag.starts_with(name))
    {
        error.insert(
            ContextKind::InvalidValue,
            ContextValue::String(hide(&value)),
        );
    }
    error
}

/// A field of a form; the names of files stay.
fn field(text: &str) -> String {
    match text.split_once('=') {
        Some((_, value)) if value.starts_with(['@', '<']) => text.to_owned(),
        Some((name, _)) => format!("{name}={HIDDEN}"),
        None => HIDDEN.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(words: &[&str]) -> String {
        let words: Vec<OsString> = words.iter().map(Into::into).collect();
        without_secrets(&in_our_words(words).unwrap()).join(" ")
    }

    #[test]
    fn what_is_secret_is_hidden_however_it_is_written() {
        // Method: each flag with its value apart, joined and after other letters; and values that
        // are no secrets.
        for (words, shown) in [
            (&["-u", "me:hunter2"][..], "-u me:<hidden>"),
            (&["-ume:hunter2"], "-ume:<hidden>"),
            (&["-qu", "me:hunter2"], "-qu me:<hidden>"),
            (&["--user=me:hunter2"], "--user=me:<hidden>"),
            (&["--bearer", "hunter2"], "--bearer <hidden>"),
            (&["--bearer=@file"], "--bearer=@file"),
            (
                &["--cookie", "a=hunter2; b=hunter2"],
                "--cookie a=<hidden>; b=<hidden>",
            ),
            (
                &["-H", "authorization: Basic hunter2"],
                "-H authorization: <hidden>",
            ),
            (&["-HX-Api-Key:hunter2"], "-HX-Api-Key: <hidden>"),
            (&["-H", "Accept: text/html"], "-H Accept: text/html"),
            (
                &["-F", "p=hunter2", "-F", "f=@file"],
                "-F p=<hidden> -F f=@file",
            ),
            (
                &["--bus", "tls://me:hunter2@bus:4222", "--agents", "2"],
                "--bus tls://me:<hidden>@bus:4222 --agents 2",
            ),
            (
                &["--bus=me:hunter2@bus", "--agents", "2"],
                "--bus=me:<hidden>@bus --agents 2",
            ),
            (
                &["--bus=nats://bus", "--agents", "2"],
                "--bus=nats://bus --agents 2",
            ),
        ] {
            for command in ["run", "compare"] {
                let first = ["abx", command, "http://127.0.0.1/"];
                let expected = format!("{} {shown}", first.join(" "));
                assert_eq!(kept(&[&first[..], words].concat()), expected);
            }
        }
    }

    #[test]
    fn nobody_sees_the_secrets_of_a_command_line() {
        // Method: our flags, a command of curl, options of ab and of httperf, and no secret.
        for (words, secret) in [
            ("run http://a/ -u me:hunter2 -c 2", "me:hunter2"),
            ("run http://a/ -HX-Key:hunter2", "X-Key:hunter2"),
            ("run -n 9 curl -uhunter2 http://a/", "-uhunter2 http://a/"),
            ("ab -n 9 -A me:hunter2 http://a/", "me:hunter2"),
            ("ab -n 9 -kAme:hunter2 http://a/", "me:hunter2"),
            ("httperf --add-header hunter2", "hunter2"),
            ("httperf --add-head=hunter2 --server a", "hunter2"),
            ("run http://a/ -H Accept:a", ""),
        ] {
            let words: Vec<OsString> = format!("abx {words}").split(' ').map(Into::into).collect();
            let ours = in_our_words(words.clone()).unwrap();
            assert_eq!(secret_words(&words, &ours).join(" "), secret, "{words:?}");
        }
    }

    #[test]
    fn headers_are_secret_by_the_words_in_their_names() {
        // Method: names that people give to secrets, and usual headers with letters in common.
        for name in [
            "Authorization",
            "Proxy-Authorization",
            "X-Passwd",
            "X-Password",
            "X-Credential",
            "X-Session-Id",
            "X-JWT",
            "x-signature",
            "X-Key",
            "X_Api_Key",
            "ApiKey",
            "X-Sig",
            "X-CSRF-Token",
            "X-Auth",
            "X-Pass",
            "Cookie",
        ] {
            assert_eq!(
                header(&format!("{name}: hunter2")),
                format!("{name}: <hidden>")
            );
        }
        for name in [
            "Accept",
            "Keep-Alive",
            "User-Agent",
            "X-Keyboard",
            "X-Forwarded-For",
            "Host",
        ] {
            assert_eq!(header(&format!("{name}: a")), format!("{name}: a"));
        }
    }

    #[test]
    fn a_value_that_is_not_valid_is_not_printed_if_it_is_secret() {
        // Method: a header without a colon, and a collector's URL with a user and a password;
        // a value that is no secret stays, and one that is missing is missing.
        let message = |words: &[&str]| {
            let first = ["abx", "run", "http://127.0.0.1/"];
            let read = Cli::command().try_get_matches_from([&first[..], words].concat());
            hide_invalid(read.unwrap_err()).to_string()
        };
        for words in [
            &["-H", "Authorization Bearer hunter2"][..],
            &["--otlp", "http://me:hunter2@127.0.0.1/"],
            &["--otlp", "me:hunter2@127.0.0.1"],
        ] {
            let message = message(words);
            assert!(
                message.contains(HIDDEN) && !message.contains("hunter2"),
                "{message}"
            );
        }
        assert!(message(&["-c", "hunter2"]).contains("hunter2"));
        for flag in ["--user", "-H", "--bearer", "--cookie"] {
            let message = message(&[flag]);
            assert!(message.contains("a value is required"), "{message}");
        }
    }

    #[test]
    fn a_command_of_curl_is_kept_in_our_words() {
        // Method: flags of ours before it; the word as a body; another command.
        let curl = [
            "abx",
            "run",
            "-c",
            "2",
            "curl",
            "http://a/",
            "-b",
            "s=hunter2",
        ];
        let expected = "abx run -c 2 http://a/ --header=Cookie: <hidden>";
        assert_eq!(kept(&curl), expected);
        let body = ["abx", "run", "http://a/", "-b", "curl"];
        assert_eq!(kept(&body), body.join(" "));
        let other = ["abx", "view", "curl"];
        assert_eq!(kept(&other), other.join(" "));
    }
}
