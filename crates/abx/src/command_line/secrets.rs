//! The command line as abx parses it, with a curl command translated, and as records contain it,
//! without secrets.

use std::ffi::OsString;

use abx_model::HIDDEN;
use clap::error::{ContextKind, ContextValue};
use clap::{ArgMatches, CommandFactory};

use super::cli::Cli;
use super::curl;

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
/// Headers with one of these as a whole word in their names are secret.
const SECRET_WORDS: [&str; 6] = ["pass", "pwd", "sig", "sid", "csrf", "xsrf"];
/// Headers with a word in their names that ends like this are secret.
const KEY: &str = "key";

/// Replaces the secret part of a value.
type Hide = fn(&str) -> String;

/// A flag with a secret in its value.
struct SecretFlag {
    /// The name of its values in clap's matches.
    id: &'static str,
    flag: &'static str,
    hide: Hide,
    /// For a value that cannot be read.
    hide_invalid: Hide,
}

const SECRET_FLAGS: [SecretFlag; 7] = [
    secret_flag("user", "--user", user),
    secret_flag("bearer", "--bearer", bearer),
    secret_flag("cookies", "--cookie", cookies),
    SecretFlag {
        hide_invalid: invalid_header,
        ..secret_flag("headers", "--header", header)
    },
    secret_flag("form", "--form", field),
    secret_flag("bus", "--bus", bus),
    secret_flag("otlp", "--otlp", bus),
];

const fn secret_flag(id: &'static str, flag: &'static str, hide: Hide) -> SecretFlag {
    SecretFlag {
        id,
        flag,
        hide,
        hide_invalid: hide,
    }
}

/// A value as it was given, and as records show it.
struct Hidden {
    given: String,
    shown: String,
}

/// The words of the command line.
pub struct GivenWords {
    /// As records contain them.
    pub recorded: Vec<String>,
    /// The given values that must not be shown.
    pub secret: Vec<String>,
}

/// The recorded words and the secrets of a command line.
#[must_use]
pub fn words(given: &[OsString]) -> GivenWords {
    let translated = with_curl_translated(given.to_vec()).unwrap_or_default();
    let hidden = hidden_values(&translated);
    GivenWords {
        recorded: without_secrets(&translated, &hidden),
        secret: secret_words(given, &translated, hidden),
    }
}

/// The secrets in a command line as it was given, which is also passed with a curl command
/// translated.
fn secret_words(given: &[OsString], translated: &[OsString], hidden: Vec<Hidden>) -> Vec<String> {
    let text = |word: &OsString| word.to_string_lossy().into_owned();
    if let Some(tool) = given.get(1).and_then(|word| word.to_str())
        && let Some((_, joined)) = OF_TOOLS.iter().find(|(name, _)| *name == tool)
    {
        let words: Vec<String> = given.iter().map(text).collect();
        let values = words.iter().enumerate().filter_map(|(index, word)| {
            let value = joined(word)?.to_owned();
            if value.is_empty() {
                words.get(index + 1).cloned()
            } else {
                Some(value)
            }
        });
        return values.collect();
    }
    let curl = given.iter().position(|word| word == "curl");
    match curl.filter(|_| given != translated && !hidden.is_empty()) {
        // curl writes secrets in its own ways, so all of its words are secret.
        Some(index) => given[index + 1..].iter().map(text).collect(),
        None => hidden.into_iter().map(|value| value.given).collect(),
    }
}

/// Per tool with secret options: the value that such an option has in the same word, which is empty
/// if the value is the next word. It does no harm to find too many.
const OF_TOOLS: [(&str, Joined); 2] = [("ab", joined_by_ab), ("httperf", joined_by_httperf)];

type Joined = fn(&str) -> Option<&str>;

/// As in `getopt`: `-A`, `-Ame:x`, and `-kAme:x`.
fn joined_by_ab(word: &str) -> Option<&str> {
    let letters = word.strip_prefix('-')?;
    let index = letters.find(['A', 'P', 'C', 'H'])?;
    Some(&letters[index + 1..])
}

/// As in `getopt_long`: the name or its beginning, and a value after `=`.
fn joined_by_httperf(word: &str) -> Option<&str> {
    let (name, value) = word.split_once('=').unwrap_or((word, ""));
    let is_header = name.len() > "--".len() && "--add-header".starts_with(name);
    is_header.then_some(value)
}

/// The command line with flags of abx in place of a curl command after `abx run ... curl`.
///
/// # Errors
/// The part of the curl command that abx does not support.
pub fn with_curl_translated(words: Vec<OsString>) -> Result<Vec<OsString>, String> {
    let is_run = words.get(1).is_some_and(|word| word == "run");
    let curl = words.iter().position(|word| word == "curl");
    let Some(index) = curl.filter(|index| is_run && *index > 1) else {
        return Ok(words);
    };
    // The word may be the body of a request.
    let is_value = ["-b", "--body"]
        .iter()
        .any(|flag| words[index - 1] == *flag);
    if is_value {
        return Ok(words);
    }
    let text = |word: &OsString| {
        let text = word.to_str().map(str::to_owned);
        text.ok_or_else(|| "the command of curl has bytes that are not text".to_owned())
    };
    let of_curl = words[index + 1..].iter().map(text);
    let of_curl = of_curl.collect::<Result<Vec<String>, String>>()?;
    let translated = curl::translated(&of_curl)?;
    let before = words.into_iter().take(index);
    Ok(before
        .chain(translated.into_iter().map(OsString::from))
        .collect())
}

/// The secret values in words of abx.
fn hidden_values(words: &[OsString]) -> Vec<Hidden> {
    let matches = Cli::command().try_get_matches_from(words);
    matches.map_or_else(|_| Vec::new(), |matches| secrets(&matches))
}

fn without_secrets(words: &[OsString], hidden: &[Hidden]) -> Vec<String> {
    let words = words.iter().map(|word| word.to_string_lossy().into_owned());
    words.map(|word| shown(word, hidden)).collect()
}

/// A word with the secret hidden that it is, or that is joined to a flag in it.
fn shown(word: String, hidden: &[Hidden]) -> String {
    for secret in hidden {
        if word == secret.given {
            return secret.shown.clone();
        }
        let flag = word.strip_suffix(&secret.given);
        if let Some(flag) = flag.filter(|flag| flag.starts_with('-')) {
            return format!("{flag}{}", secret.shown);
        }
    }
    word
}

/// The secret values of all flags.
fn secrets(matches: &ArgMatches) -> Vec<Hidden> {
    if let Some((_, matches)) = matches.subcommand() {
        return secrets(matches);
    }
    let mut hidden = Vec::new();
    for SecretFlag { id, hide, .. } in SECRET_FLAGS {
        let values = matches.try_get_raw(id).ok().flatten();
        for value in values.into_iter().flatten() {
            let given = value.to_string_lossy().into_owned();
            let shown = hide(&given);
            if !given.is_empty() && shown != given {
                hidden.push(Hidden { given, shown });
            }
        }
    }
    hidden
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
        Some((scheme, login)) => format!("{scheme}://{}@{host}", user(login)),
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

/// Hides a header without a colon: it has no name that could show whether it is a secret.
fn invalid_header(text: &str) -> String {
    if text.contains(':') {
        header(text)
    } else {
        HIDDEN.to_owned()
    }
}

/// Hides a secret in clap's message about an invalid value. clap reports a missing value as an
/// empty one.
pub fn hide_invalid(mut error: clap::Error) -> clap::Error {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    if let (Some(flag), Some(value)) = (
        text(ContextKind::InvalidArg),
        text(ContextKind::InvalidValue),
    ) && !value.is_empty()
        && let Some(secret) = SECRET_FLAGS
            .iter()
            .find(|secret| flag.starts_with(secret.flag))
    {
        error.insert(
            ContextKind::InvalidValue,
            ContextValue::String((secret.hide_invalid)(&value)),
        );
    }
    error
}

/// A field of a form; names of files stay visible.
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

    fn recorded(words: &[&str]) -> String {
        let words: Vec<OsString> = words.iter().map(Into::into).collect();
        super::words(&words).recorded.join(" ")
    }

    #[test]
    fn secrets_are_hidden_in_every_spelling() {
        // Method: flags with a separate value, with a joined one and after other letters; and
        // values that are not secret.
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
                assert_eq!(recorded(&[&first[..], words].concat()), expected);
            }
        }
    }

    #[test]
    fn the_secret_words_of_a_command_line_are_listed() {
        // Method: flags of abx, a curl command, options of ab and of httperf, and no secret.
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
            let secrets = super::words(&words).secret.join(" ");
            assert_eq!(secrets, secret, "{words:?}");
        }
    }

    #[test]
    fn headers_are_secret_by_the_words_in_their_names() {
        // Method: usual names of secrets, and other headers that share letters with them.
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
    fn an_invalid_value_is_not_printed_if_it_is_secret() {
        // Method: a header without a colon, and a collector's URL with a user and a password;
        // then a value that is not secret, and missing values.
        let message = |words: &[&str]| {
            let first = ["abx", "run", "http://127.0.0.1/"];
            let matches = Cli::command().try_get_matches_from([&first[..], words].concat());
            hide_invalid(matches.unwrap_err()).to_string()
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
    fn a_curl_command_is_recorded_as_flags_of_abx() {
        // Method: a curl command after flags of abx; `curl` as a body, and in another command.
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
        assert_eq!(recorded(&curl), expected);
        let body = ["abx", "run", "http://a/", "-b", "curl"];
        assert_eq!(recorded(&body), body.join(" "));
        let other = ["abx", "view", "curl"];
        assert_eq!(recorded(&other), other.join(" "));
    }
}
