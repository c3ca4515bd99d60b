//! Translates a curl command, as browsers copy it, to flags of abx.

#[cfg(any(test, fuzzing))]
pub mod fuzz;

use abx_lab::without_placeholders;

/// The meaning of a flag of curl.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    /// Ignored, without and with a value.
    Nothing,
    NothingOf,
    /// The same as this flag of abx, without and with a value.
    Flag(&'static str),
    FlagOf(&'static str),
    /// The value of the header with this name.
    HeaderOf(&'static str),
    Header,
    Cookie,
    Url,
    Method,
    Head,
    Get,
    Insecure,
    Compressed,
    Data(DataKind),
    Upload,
    Redirects,
}

/// How curl reads the data to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DataKind {
    /// `@` names a file that is sent without its line ends.
    Plain,
    Binary,
    Raw,
    Encoded,
    Json,
}

/// The supported flags: their letter, if they have one, and their name.
const KNOWN: &[(Option<char>, &str, Meaning)] = &[
    (Some('X'), "request", Meaning::Method),
    (Some('H'), "header", Meaning::Header),
    (Some('d'), "data", Meaning::Data(DataKind::Plain)),
    (None, "data-ascii", Meaning::Data(DataKind::Plain)),
    (None, "data-binary", Meaning::Data(DataKind::Binary)),
    (None, "data-raw", Meaning::Data(DataKind::Raw)),
    (None, "data-urlencode", Meaning::Data(DataKind::Encoded)),
    (None, "json", Meaning::Data(DataKind::Json)),
    (Some('F'), "form", Meaning::FlagOf("--form")),
    (Some('T'), "upload-file", Meaning::Upload),
    (Some('G'), "get", Meaning::Get),
    (Some('I'), "head", Meaning::Head),
    (Some('b'), "cookie", Meaning::Cookie),
    (Some('u'), "user", Meaning::FlagOf("--user")),
    (None, "oauth2-bearer", Meaning::FlagOf("--bearer")),
    (Some('A'), "user-agent", Meaning::HeaderOf("User-Agent")),
    (Some('e'), "referer", Meaning::HeaderOf("Referer")),
    (None, "url", Meaning::Url),
    (None, "compressed", Meaning::Compressed),
    (Some('k'), "insecure", Meaning::Insecure),
    (None, "cacert", Meaning::FlagOf("--ca")),
    (Some('E'), "cert", Meaning::FlagOf("--cert")),
    (None, "key", Meaning::FlagOf("--key")),
    (Some('0'), "http1.0", Meaning::Flag("--http1.0")),
    (None, "http1.1", Meaning::Flag("--http1.1")),
    (None, "http2", Meaning::Flag("--http2")),
    (None, "http2-prior-knowledge", Meaning::Flag("--http2")),
    (None, "unix-socket", Meaning::FlagOf("--unix-socket")),
    (Some('L'), "location", Meaning::Redirects),
    (Some('s'), "silent", Meaning::Nothing),
    (Some('S'), "show-error", Meaning::Nothing),
    (Some('i'), "include", Meaning::Nothing),
    (Some('v'), "verbose", Meaning::Nothing),
    (Some('f'), "fail", Meaning::Nothing),
    (Some('g'), "globoff", Meaning::Nothing),
    (Some('N'), "no-buffer", Meaning::Nothing),
    (Some('#'), "progress-bar", Meaning::Nothing),
    (Some('o'), "output", Meaning::NothingOf),
    (Some('w'), "write-out", Meaning::NothingOf),
];

/// The content of a curl command.
#[derive(Default)]
struct CurlCommand {
    url: Option<String>,
    method: Option<String>,
    headers: Vec<String>,
    cookies: Vec<String>,
    data: Vec<String>,
    /// The file with the body.
    file: Option<String>,
    is_json: bool,
    is_upload: bool,
    is_get: bool,
    is_insecure: bool,
    is_compressed: bool,
    /// Flags of abx that need no other translation.
    others: Vec<String>,
}

/// Translates the words after `curl` to a URL and flags of abx.
///
/// # Errors
/// The part that abx does not support, and a remedy.
pub fn translated(words: &[String]) -> Result<Vec<String>, String> {
    let mut command = CurlCommand::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut next = |flag: &str| {
            let value = words.next().cloned();
            value.ok_or_else(|| format!("curl's {flag} has no value: {AS_A_WHOLE}"))
        };
        if let Some(name) = word.strip_prefix("--") {
            let known = KNOWN.iter().find(|(_, known, _)| *known == name);
            let (.., meaning) = known.ok_or_else(|| not_understood(word))?;
            let value = meaning.has_value().then(|| next(word)).transpose()?;
            command.take(*meaning, value.unwrap_or_default())?;
        } else if let Some(letters) = word.strip_prefix('-').filter(|rest| !rest.is_empty()) {
            command.take_letters(letters, &mut next)?;
        } else {
            command.take(Meaning::Url, word.clone())?;
        }
    }
    command.into_words()
}

impl Meaning {
    fn has_value(self) -> bool {
        !matches!(
            self,
            Meaning::Nothing
                | Meaning::Flag(_)
                | Meaning::Head
                | Meaning::Get
                | Meaning::Insecure
                | Meaning::Compressed
                | Meaning::Redirects
        )
    }
}

impl CurlCommand {
    /// Takes letters that share one word; the rest after a letter with a value is its value.
    fn take_letters(
        &mut self,
        letters: &str,
        next: &mut impl FnMut(&str) -> Result<String, String>,
    ) -> Result<(), String> {
        let mut rest = letters.chars();
        while let Some(letter) = rest.next() {
            let flag = format!("-{letter}");
            let known = KNOWN.iter().find(|(known, ..)| *known == Some(letter));
            let (.., meaning) = known.ok_or_else(|| not_understood(&flag))?;
            if !meaning.has_value() {
                self.take(*meaning, String::new())?;
                continue;
            }
            let value = match rest.as_str() {
                "" => next(&flag)?,
                value => value.to_owned(),
            };
            return self.take(*meaning, value);
        }
        Ok(())
    }

    fn take(&mut self, meaning: Meaning, value: String) -> Result<(), String> {
        match meaning {
            Meaning::Nothing | Meaning::NothingOf => {}
            Meaning::Flag(flag) => self.others.push(flag.to_owned()),
            Meaning::FlagOf(flag) => self.others.push(format!("{flag}={value}")),
            Meaning::HeaderOf(name) => self.headers.push(format!("{name}: {value}")),
            Meaning::Header => self.take_header(value),
            Meaning::Cookie if !value.contains('=') => {
                return Err(
                    "curl's -b reads cookies from a file: give them as NAME=VALUE".to_owned(),
                );
            }
            Meaning::Cookie => self.cookies.push(value),
            // abx would take it for a flag.
            Meaning::Url if value.starts_with('-') => {
                return Err(format!(
                    "the URL {value} begins with `-`: give the host that curl connects to"
                ));
            }
            Meaning::Url => {
                if let Some(first) = self.url.replace(value.clone()) {
                    return Err(format!(
                        "the command of curl has two URLs, {first} and {value}: give one"
                    ));
                }
            }
            Meaning::Method => self.method = Some(value),
            Meaning::Head => self.method = Some("HEAD".to_owned()),
            Meaning::Get => self.is_get = true,
            Meaning::Insecure => self.is_insecure = true,
            Meaning::Compressed => self.is_compressed = true,
            Meaning::Data(kind) => self.take_data(kind, value)?,
            Meaning::Upload => {
                self.method.get_or_insert_with(|| "PUT".to_owned());
                self.file = Some(value);
                self.is_upload = true;
            }
            Meaning::Redirects => {
                return Err(
                    "redirections are not followed: leave curl's -L out, and give the URL \
                     that they lead to"
                        .to_owned(),
                );
            }
        }
        Ok(())
    }

    /// `Name: value`; `Name;` is a header without a value, and `Name:` removes one of curl's own.
    fn take_header(&mut self, text: String) {
        match (text.split_once(':'), text.strip_suffix(';')) {
            (Some((_, value)), _) if value.trim().is_empty() => {}
            // abx sets it itself.
            (Some((name, _)), _) if name.eq_ignore_ascii_case("content-length") => {}
            (None, Some(name)) => self.headers.push(format!("{name}:")),
            _ => self.headers.push(text),
        }
    }

    fn take_data(&mut self, kind: DataKind, value: String) -> Result<(), String> {
        let is_file = value.starts_with('@');
        match kind {
            DataKind::Plain if is_file => return Err(changed_file("-d @FILE")),
            DataKind::Binary | DataKind::Json if is_file => {
                self.file = Some(value[1..].to_owned());
            }
            DataKind::Encoded => self.data.push(encoded(&value)?),
            DataKind::Plain | DataKind::Binary | DataKind::Raw | DataKind::Json => {
                self.data.push(value);
            }
        }
        self.is_json |= kind == DataKind::Json;
        Ok(())
    }

    fn into_words(mut self) -> Result<Vec<String>, String> {
        let mut url = self
            .url
            .take()
            .ok_or_else(|| format!("the command of curl has no URL: {AS_A_WHOLE}"))?;
        let joined = if self.is_json {
            self.data.concat()
        } else {
            self.data.join("&")
        };
        if self.file.is_some() && (self.is_get || !self.data.is_empty()) {
            return Err(
                "a body is one file or text, and the command of curl has more: leave one \
                 of them out"
                    .to_owned(),
            );
        }
        let body = match (&self.file, self.data.is_empty() || self.is_get) {
            (Some(file), _) => Some(format!("@{file}")),
            (None, false) if joined.starts_with('@') => {
                Some(format!("@{}", without_placeholders(&joined)))
            }
            (None, false) => Some(without_placeholders(&joined)),
            (None, true) => None,
        };
        if self.is_get && !self.data.is_empty() {
            let separator = if url.contains('?') { '&' } else { '?' };
            url = format!("{url}{separator}{joined}");
        }
        self.add_usual_headers(body.is_some());
        if self.is_insecure && url.starts_with("https://") {
            self.others.push("--insecure".to_owned());
        }
        let mut words = vec![without_placeholders(&url)];
        words.extend(self.method.map(|method| format!("--method={method}")));
        let headers = self.headers.iter();
        words.extend(headers.map(|header| format!("--header={}", without_placeholders(header))));
        words.extend(body.map(|body| format!("--body={body}")));
        words.extend(self.others);
        Ok(words)
    }

    /// Adds the headers that curl adds for a body, for cookies and for compression.
    fn add_usual_headers(&mut self, has_body: bool) {
        let mut usual = Vec::new();
        if has_body && self.is_json {
            usual.push("Content-Type: application/json".to_owned());
            usual.push("Accept: application/json".to_owned());
        } else if has_body && !self.is_upload {
            usual.push("Content-Type: application/x-www-form-urlencoded".to_owned());
        }
        if self.is_compressed {
            usual.push("Accept-Encoding: deflate, gzip, br, zstd".to_owned());
        }
        if !self.cookies.is_empty() {
            usual.push(format!("Cookie: {}", self.cookies.join("; ")));
        }
        for header in usual {
            let is_given = self
                .headers
                .iter()
                .any(|given| name(given) == name(&header));
            if !is_given {
                self.headers.push(header);
            }
        }
    }
}

const AS_A_WHOLE: &str = "copy the whole command, with its quotes";

fn not_understood(flag: &str) -> String {
    format!(
        "curl's {flag} is not supported: leave it out, or give abx flags for it before the word \
         `curl`"
    )
}

fn changed_file(flag: &str) -> String {
    format!("curl's {flag} changes what is in a file: send it unchanged by --data-binary @FILE")
}

/// The name of a header in small letters, for comparisons.
fn name(header: &str) -> String {
    let name = header.split(':').next().unwrap_or_default();
    name.trim().to_ascii_lowercase()
}

/// The result of `--data-urlencode` for `content`, `=content` or `name=content`.
fn encoded(text: &str) -> Result<String, String> {
    let (name, content) = match text.split_once('=') {
        Some(("", content)) => (String::new(), content),
        Some((name, content)) if !name.contains('@') => (format!("{name}="), content),
        None if !text.contains('@') => (String::new(), text),
        _ => return Err(changed_file("--data-urlencode")),
    };
    let mut out = name;
    for byte in content.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(byte.into());
            }
            b' ' => out.push('+'),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Translates a command that is split as by a shell.
    fn translate(command: &str) -> Result<Vec<String>, String> {
        translated(&shell_words::split(command).unwrap())
    }

    #[test]
    fn a_command_that_a_browser_copied_is_translated() {
        // Method: commands that Chromium and Firefox put on the clipboard, shortened.
        let chromium = translate(
            "'https://localhost/a?b=c' -X 'PUT' -H 'Accept: */*' -b 'x=1; y' \
             -H 'content-type: application/json' --data-raw '{\"a\": \"@\"}' --insecure",
        );
        assert_eq!(
            chromium.unwrap(),
            [
                "https://localhost/a?b=c",
                "--method=PUT",
                "--header=Accept: */*",
                "--header=content-type: application/json",
                "--header=Cookie: x=1; y",
                "--body={\"a\": \"@\"}",
                "--insecure"
            ]
        );
        let firefox = translate(
            "'http://localhost/' --compressed -H 'User-Agent: M' -H 'Connection: keep-alive' \
             -k --data-raw 'a=1&b=2'",
        );
        assert_eq!(
            firefox.unwrap(),
            [
                "http://localhost/",
                "--header=User-Agent: M",
                "--header=Connection: keep-alive",
                "--header=Content-Type: application/x-www-form-urlencoded",
                "--header=Accept-Encoding: deflate, gzip, br, zstd",
                "--body=a=1&b=2"
            ]
        );
    }

    #[test]
    fn each_flag_has_its_meaning_in_curl() {
        // Method: each flag, letters in one word and in several, and data of every kind.
        let form = "--header=Content-Type: application/x-www-form-urlencoded";
        for (command, words) in [
            ("-sSXPUT u", &["u", "--method=PUT"][..]),
            ("--url u -I", &["u", "--method=HEAD"]),
            ("u -d a=1 -d b=2", &["u", form, "--body=a=1&b=2"]),
            ("u -d a=b -G", &["u?a=b"]),
            ("'u?x' -G --data-urlencode 'q=a b&'", &["u?x&q=a+b%26"]),
            ("u --data-raw @x", &["u", form, "--body=@@x"]),
            ("u --data-binary @f", &["u", form, "--body=@f"]),
            ("u -T f", &["u", "--method=PUT", "--body=@f"]),
            (
                "u --json '{}'",
                &[
                    "u",
                    "--header=Content-Type: application/json",
                    "--header=Accept: application/json",
                    "--body={}",
                ],
            ),
            ("u -u a:b -F x=@y", &["u", "--user=a:b", "--form=x=@y"]),
            (
                "u -H 'A;' -H 'B:' -H 'Content-Length: 3'",
                &["u", "--header=A:"],
            ),
            (
                "u -A me -e you",
                &["u", "--header=User-Agent: me", "--header=Referer: you"],
            ),
            ("u -o /dev/null -w x --http2", &["u", "--http2"]),
            (
                "u/{seq} -d '{\"a\":{uuid}}' -H 'A: {n}'",
                &[
                    "u/{{seq}}",
                    "--header=A: {{n}}",
                    form,
                    "--body={\"a\":{{uuid}}}",
                ],
            ),
            ("u --oauth2-bearer t", &["u", "--bearer=t"]),
        ] {
            assert_eq!(translate(command).unwrap(), words, "{command}");
        }
    }

    #[test]
    fn saved_fuzz_inputs_are_translated_or_refused() {
        // Method: the body of the fuzz target, on saved inputs and mutations of them.
        abx_corpus::replay_text("curl_command", 2_000, fuzz::any_text);
    }

    #[test]
    fn a_url_that_looks_like_a_flag_is_refused() {
        // Method: URLs that abx would take for flags, in each way to give curl a URL.
        for command in ["--url --insecure", "--url=--insecure", "--url -k"] {
            assert!(translate(command).is_err(), "{command}");
        }
        let error = translate("--url -").unwrap_err();
        assert!(error.contains("begins with `-`"), "{error}");
    }

    proptest! {
        #[test]
        fn any_words_are_translated_or_refused(
            words in prop::collection::vec(prop::sample::select(vec![
                "-X", "-XPUT", "-H", "A: b", "A;", "A:", "-d", "@f", "a=b", "--data-raw",
                "--data-urlencode", "=\u{e9}", "n@f", "--json", "{\"a\": 1}", "{seq}", "{{x}}", "-F",
                "-T", "-G", "-I", "-b", "-u", "-A", "--url", "u", "u?v", "https://h/", "-k",
                "--compressed", "-sS", "-sXd", "-", "--", "---", "", "-\u{e9}", "\u{1f980}", "\r\n",
            ]), 0..9),
            odd in any::<String>(),
        ) {
            // Method: random words of curl commands, with any text among them.
            let mut words: Vec<String> = words.into_iter().map(str::to_owned).collect();
            fuzz::any_words(&words);
            words.insert(words.len() / 2, odd);
            fuzz::any_words(&words);
        }
    }

    #[test]
    fn the_unsupported_part_of_a_command_is_named() {
        // Method: a command per error.
        for (command, part) in [
            ("u --proxy p", "curl's --proxy is not supported"),
            ("u -sx p", "curl's -x is not"),
            ("u -L", "redirections are not followed"),
            ("u -H", "curl's -H has no value"),
            ("-s", "has no URL"),
            ("u v", "two URLs, u and v"),
            ("u -d @f", "--data-binary @FILE"),
            ("u --data-urlencode n@f", "--data-binary @FILE"),
            ("u --data-binary @f -d a", "one file or text"),
            ("u -b jar", "NAME=VALUE"),
        ] {
            let error = translate(command).unwrap_err();
            assert!(error.contains(part), "{command}: {error}");
        }
    }
}
