//! The calls of a session, and the `--wsesslog` file that describes them.

use super::super::values::HttperfRefusal;

/// Calls of a session that are sent together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttperfBurst {
    pub calls: u32,
    /// From the last reply to the next burst, in ns.
    pub think_ns: u64,
}

/// The description of a session: its bursts, and its calls if a file describes them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Script {
    bursts: Vec<HttperfBurst>,
    calls: Vec<ScriptCall>,
}

/// A call that a file describes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ScriptCall {
    pub(super) uri: String,
    pub(super) method: String,
    /// The body of the request.
    pub(super) contents: Option<Vec<u8>>,
}

impl Script {
    /// Equal calls in bursts, as the other options describe them.
    pub(super) fn same(calls: u32, burst: u32, think_ns: u64) -> Script {
        let mut bursts = Vec::new();
        let mut left = calls;
        while left > 0 {
            let calls = left.min(burst.max(1));
            bursts.push(HttperfBurst { calls, think_ns });
            left -= calls;
        }
        Script {
            bursts,
            calls: Vec::new(),
        }
    }

    /// Reads the sessions of a file; `think_ns` is the think time of a burst without its own.
    pub(super) fn of_log(
        log: &[u8],
        file: &str,
        think_ns: u64,
    ) -> Result<Vec<Script>, HttperfRefusal> {
        // A line end after a backslash belongs to the contents.
        let text = String::from_utf8_lossy(log).replace("\\\r\n", "\\n");
        let text = text.replace("\\\n", "\\n");
        let mut scripts = Vec::new();
        let mut script = Script::default();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            if line.trim().is_empty() {
                scripts.push(std::mem::take(&mut script));
                continue;
            }
            let words = words(line).ok_or_else(|| unread(line, file))?;
            let is_indented = line.starts_with(char::is_whitespace);
            match script.bursts.last_mut().filter(|_| is_indented) {
                Some(burst) => burst.calls += 1,
                None => script.bursts.push(HttperfBurst { calls: 1, think_ns }),
            }
            script.take(&words, file)?;
        }
        scripts.push(script);
        scripts.retain(|script| !script.calls.is_empty());
        if scripts.is_empty() {
            Err(HttperfRefusal(format!("no session in {file}")))
        } else {
            Ok(scripts)
        }
    }

    /// Adds the call of a line: a URI, and the other properties of the call.
    fn take(&mut self, words: &[String], file: &str) -> Result<(), HttperfRefusal> {
        let mut call = ScriptCall {
            uri: words.first().cloned().unwrap_or_default(),
            method: "GET".to_owned(),
            contents: None,
        };
        for word in words.iter().skip(1) {
            match word.split_once('=') {
                Some(("method", method)) if is_method(method) => call.method = method.to_owned(),
                Some(("method", method)) => {
                    return Err(HttperfRefusal(format!(
                        "did not recognize method '{method}' in {file}"
                    )));
                }
                Some(("think", think)) => {
                    let think_s = think.parse().ok();
                    let think_s = think_s.filter(|think_s| (0.0..=1e9).contains(think_s));
                    let think_s: f64 = think_s.ok_or_else(|| unread(word, file))?;
                    // As in httperf, the last think time of a burst counts.
                    if let Some(burst) = self.bursts.last_mut() {
                        burst.think_ns = (think_s * 1e9) as u64;
                    }
                }
                Some(("contents", contents)) => {
                    call.contents = Some(contents.replace("\\n", "\n").into_bytes());
                }
                _ => return Err(unread(word, file)),
            }
        }
        self.calls.push(call);
        Ok(())
    }

    pub(super) fn bursts(&self) -> impl Iterator<Item = HttperfBurst> {
        self.bursts.iter().copied()
    }

    /// The call at this place; `None` if no file describes the calls.
    pub(super) fn call(&self, place: usize) -> Option<&ScriptCall> {
        self.calls.get(place)
    }
}

fn unread(word: &str, file: &str) -> HttperfRefusal {
    let word = word.trim();
    HttperfRefusal(format!("did not recognize arg '{word}' in {file}"))
}

fn is_method(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_uppercase())
}

/// The words of a line, in which contents may be quoted; `None` for an unclosed quote.
fn words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut rest = line.trim();
    while !rest.is_empty() {
        let quote = rest.strip_prefix("contents=").and_then(|contents| {
            let quote = contents.chars().next()?;
            matches!(quote, '\'' | '"').then(|| (quote, &contents[1..]))
        });
        let (word, after) = match quote {
            Some((quote, contents)) => {
                let (contents, after) = contents.split_once(quote)?;
                (format!("contents={contents}"), after)
            }
            None => {
                let (word, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
                (word.to_owned(), after)
            }
        };
        words.push(word);
        rest = after.trim_start();
    }
    Some(words)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::fuzz;
    use super::*;

    fn of_log(log: &str) -> Result<Vec<Script>, String> {
        Script::of_log(log.as_bytes(), "f", 5).map_err(|refusal| refusal.to_string())
    }

    fn bursts(script: &Script) -> Vec<(u32, u64)> {
        script
            .bursts()
            .map(|burst| (burst.calls, burst.think_ns))
            .collect()
    }

    #[test]
    fn equal_calls_come_in_bursts() {
        // Method: multiples of the burst length and others, sent in bursts as by httperf 0.9.0.
        for (calls, burst, expected) in [
            (8, 4, &[4, 4][..]),
            (7, 3, &[3, 3, 1]),
            (3, 1, &[1, 1, 1]),
            (2, 9, &[2]),
        ] {
            let script = Script::same(calls, burst, 5);
            let expected: Vec<_> = expected.iter().map(|&calls| (calls, 5)).collect();
            assert_eq!(bursts(&script), expected);
        }
    }

    #[test]
    fn a_file_is_read_as_httperf_reads_it() {
        // Method: sessions, bursts, think times and contents in all forms, with the requests that
        // httperf 0.9.0 sent for such files.
        let log = "# two sessions\n/a think=0.2\n\t/b think=0.6\n /c\n/d\n\n  \n# more\n   /e \
            method=PUT contents='sq mix\"ed'\n/f method=POST contents=word\n/g \
            contents=\"a\\nb\\\nc\" think=1\n";
        let scripts = of_log(log).unwrap();
        assert_eq!(scripts.len(), 2);
        assert_eq!(bursts(&scripts[0]), [(3, 600_000_000), (1, 5)]);
        assert_eq!(bursts(&scripts[1]), [(1, 5), (1, 5), (1, 1_000_000_000)]);
        let parts: Vec<(&str, &str, Option<&str>)> = scripts
            .iter()
            .flat_map(|script| &script.calls)
            .map(|call| {
                let contents = call.contents.as_deref();
                let contents = contents.map(|bytes| std::str::from_utf8(bytes).unwrap());
                (call.method.as_str(), call.uri.as_str(), contents)
            })
            .collect();
        let expected = [
            ("GET", "/a", None),
            ("GET", "/b", None),
            ("GET", "/c", None),
            ("GET", "/d", None),
            ("PUT", "/e", Some("sq mix\"ed")),
            ("POST", "/f", Some("word")),
            ("GET", "/g", Some("a\nb\nc")),
        ];
        assert_eq!(parts, expected);
    }

    #[test]
    fn an_unreadable_file_is_refused_with_its_mistake() {
        // Method: one mistake per message; those about arguments and methods are httperf's.
        for (log, message) in [
            ("/a think=x\n", "did not recognize arg 'think=x' in f"),
            ("/a foo=1\n", "did not recognize arg 'foo=1' in f"),
            ("/a method=get\n", "did not recognize method 'get' in f"),
            (
                "/a contents='x\n",
                "did not recognize arg '/a contents='x' in f",
            ),
            ("# nothing\n\n", "no session in f"),
        ] {
            assert_eq!(of_log(log).unwrap_err(), message);
        }
    }

    #[test]
    fn contents_may_begin_with_any_character() {
        // Method: characters of several bytes, with and without a quote after them.
        for contents in ["\u{e9}", "\u{fffd}\"x", "\u{1f980}'"] {
            let scripts = of_log(&format!("/a contents={contents}\n")).unwrap();
            let expected = Some(contents.as_bytes().to_vec());
            assert_eq!(scripts[0].calls[0].contents, expected);
        }
    }

    #[test]
    fn the_fuzzing_corpus_is_read() {
        // Method: the body of the fuzz target, on the corpus and mutations of it.
        abx_corpus::replay("httperf_sessions", 2_000, fuzz::any_session_file);
    }

    proptest! {
        #[test]
        fn no_file_panics(log in "([ /a-z='\"\\\\\n#]|think=|contents=|method=){0,60}") {
            // Method: the body of the fuzz target, on any text of significant characters.
            fuzz::any_session_file(log.as_bytes());
            if let Ok(scripts) = of_log(&log) {
                for script in scripts {
                    let calls: u32 = script.bursts().map(|burst| burst.calls).sum();
                    prop_assert_eq!(calls as usize, script.calls.len());
                }
            }
        }
    }
}
