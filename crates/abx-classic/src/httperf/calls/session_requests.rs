//! The requests of sessions, and the cookie of each.

use std::collections::{BTreeMap, BTreeSet};

use super::super::options::HttperfOptions;
use super::super::session_options::HttperfSessionCalls;
use super::super::values::{HttperfRefusal, refusal};
use super::requests::HttperfRequests;
use super::script::{HttperfBurst, Script, ScriptCall};

/// The requests of sessions. Sessions are numbered in the order in which they begin, and the calls
/// of all sessions in the order in which they are sent.
#[derive(Debug, Clone)]
pub struct HttperfSessionRequests {
    requests: HttperfRequests,
    /// The scripts that sessions use in turn; a single one without a file.
    scripts: Vec<Script>,
    begun: u64,
    cookies: Option<Cookies>,
}

impl HttperfSessionRequests {
    /// The requests of a load of sessions; `log` is the contents of the file of `--wsesslog` or
    /// `--wlog`.
    ///
    /// # Errors
    /// [`HttperfRefusal`] for a file that describes no sessions, and for options without sessions.
    pub fn new(
        options: &HttperfOptions,
        log: &[u8],
    ) -> Result<HttperfSessionRequests, HttperfRefusal> {
        let Some(sessions) = &options.session.load else {
            return Err(refusal("there are no sessions"));
        };
        let think_ns = (sessions.think_s * 1e9) as u64;
        let scripts = match &sessions.calls {
            HttperfSessionCalls::Same(calls) => {
                vec![Script::same(*calls, options.burst_length, think_ns)]
            }
            HttperfSessionCalls::Log(file) => Script::of_log(log, file, think_ns)?,
        };
        for burst in scripts.iter().flat_map(Script::bursts) {
            options.session.check_room(burst.calls, options.is_http10)?;
        }
        Ok(HttperfSessionRequests {
            requests: HttperfRequests::new(options, log),
            scripts,
            begun: 0,
            cookies: options.session.cookies.then(Cookies::default),
        })
    }

    /// Begins the next session, and returns its bursts.
    pub fn begin(&mut self) -> Vec<HttperfBurst> {
        let bursts = self.script(self.begun).bursts().collect();
        self.begun += 1;
        bursts
    }

    /// Appends the request of a call at this place of its session. Returns whether it is for a
    /// head only.
    pub fn write(&mut self, session: u64, place: usize, call: u64, bytes: &mut Vec<u8>) -> bool {
        let script = &self.scripts[self.index(session)];
        let scripted = script.call(place);
        let cookies = self.cookies.as_ref();
        let cookie = cookies.and_then(|cookies| cookies.by_session.get(&session));
        let cookie = cookie.map(Vec::as_slice);
        match scripted {
            Some(scripted) => self.requests.write_scripted(scripted, cookie, bytes),
            // The URIs of sessions never end.
            None => _ = self.requests.write_with(cookie, bytes),
        }
        if let Some(cookies) = &mut self.cookies {
            cookies.sent(session, call);
        }
        match scripted {
            Some(ScriptCall { method, .. }) => method == "HEAD",
            None => self.requests.is_for_heads(),
        }
    }

    /// Receives a part of a reply's head.
    pub fn head(&mut self, call: u64, bytes: &[u8]) {
        if let Some(cookies) = &mut self.cookies {
            let head = cookies.heads.entry(call).or_default();
            if head.len() + bytes.len() > HEAD_BYTES_MAX {
                // Heads of earlier attempts, or interim ones.
                head.clear();
            }
            head.extend_from_slice(bytes);
        }
    }

    /// Ends a call that got its response, and sets the cookie of its session.
    pub fn responded(&mut self, call: u64) {
        if let Some(cookies) = &mut self.cookies {
            cookies.responded(call);
        }
    }

    /// Ends a session.
    pub fn ends(&mut self, session: u64) {
        if let Some(cookies) = &mut self.cookies {
            cookies.ended(session);
        }
    }

    fn index(&self, session: u64) -> usize {
        let count = self.scripts.len() as u64;
        usize::try_from(session % count).unwrap_or_default()
    }

    fn script(&self, session: u64) -> &Script {
        &self.scripts[self.index(session)]
    }
}

/// How much of a call's heads is kept: twice the longest head that is read.
const HEAD_BYTES_MAX: usize = 512 * 1024;

/// The cookie of each session: as in httperf, the last one received.
#[derive(Debug, Clone, Default)]
struct Cookies {
    by_session: BTreeMap<u64, Vec<u8>>,
    /// The session of each call in flight.
    sessions: BTreeMap<u64, u64>,
    /// The calls in flight of each session.
    calls: BTreeMap<u64, BTreeSet<u64>>,
    /// The parts of heads received so far, by call.
    heads: BTreeMap<u64, Vec<u8>>,
}

impl Cookies {
    fn sent(&mut self, session: u64, call: u64) {
        self.sessions.insert(call, session);
        self.calls.entry(session).or_default().insert(call);
    }

    fn ended(&mut self, session: u64) {
        self.by_session.remove(&session);
        for call in self.calls.remove(&session).unwrap_or_default() {
            self.sessions.remove(&call);
            self.heads.remove(&call);
        }
    }

    fn responded(&mut self, call: u64) {
        let head = self.heads.remove(&call).unwrap_or_default();
        let Some(session) = self.sessions.remove(&call) else {
            return;
        };
        if let Some(calls) = self.calls.get_mut(&session) {
            calls.remove(&call);
        }
        let lines = head.split(|byte| *byte == b'\n');
        let mut cookies = lines.filter_map(|line| {
            let (name, value) = line.split_at_checked(b"set-cookie:".len())?;
            let is_cookie = name.eq_ignore_ascii_case(b"set-cookie:");
            is_cookie.then(|| value.split(|byte| *byte == b';').next())?
        });
        if let Some(cookie) = cookies.next_back() {
            self.by_session
                .insert(session, cookie.trim_ascii().to_vec());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::HttperfCommand;
    use super::*;

    fn parsed(line: &str) -> Result<HttperfOptions, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        match HttperfCommand::parse(&words).map_err(|refusal| refusal.to_string())? {
            HttperfCommand::Load(options) => Ok(*options),
            other => Err(format!("{other:?}")),
        }
    }

    fn requests(line: &str, log: &str) -> HttperfSessionRequests {
        HttperfSessionRequests::new(&parsed(line).unwrap(), log.as_bytes()).unwrap()
    }

    fn written(requests: &mut HttperfSessionRequests, session: u64, place: usize) -> String {
        let mut bytes = Vec::new();
        let call = 100 * session + place as u64;
        let is_head = requests.write(session, place, call, &mut bytes);
        assert_eq!(is_head, bytes.starts_with(b"HEAD "));
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn options_of_sessions_are_echoed_as_by_httperf() {
        // Method: a command line, with the line that httperf 0.9.0 printed for it.
        let line = "--wsess=1,2,0.05 --hog --retry-on-failure --failure-status=404 \
            --max-connections=4 --max-piped-calls=3 --session-cookies --timeout 3 \
            --think-timeout 2 --method=GET --burst-length=2 --rate=5 --wset 10,1";
        let message = "httperf --hog --think-timeout=2 --timeout=3 --client=0/1 \
            --server=localhost --port=80 --uri=/ --failure-status=404 --max-connections=4 \
            --max-piped-calls=3 --rate=5 --send-buffer=4096 --retry-on-failure \
            --recv-buffer=16384 --session-cookies --method=GET --wsess=1,2,0.050 \
            --burst-length=2 --wset=10,1.000";
        assert_eq!(parsed(line).unwrap().echo(), message);
        let log = parsed("--wsesslog=3,0.25,file --num-conns 8").unwrap();
        assert!(log.echo().ends_with("--wsesslog=3,0.250,file"));
    }

    #[test]
    fn heads_of_calls_that_get_no_response_take_little_memory() {
        // Method: a hundred sessions whose call gets an endless head and fails, and a call that
        // gets megabytes of heads before the head of its response.
        let mut requests = requests("--wsess=100,1,0 --session-cookies", "");
        for session in 0..100 {
            written(&mut requests, session, 0);
            requests.head(100 * session, &[b'x'; 1000]);
            requests.ends(session);
        }
        assert!(requests.cookies.as_ref().unwrap().heads.is_empty());
        written(&mut requests, 100, 0);
        for _ in 0..10_000 {
            requests.head(10_000, &[b'x'; 1000]);
        }
        let kept = requests.cookies.as_ref().unwrap().heads[&10_000].len();
        assert!(kept <= HEAD_BYTES_MAX, "{kept}");
        requests.head(10_000, b"\r\nSet-Cookie: a=b\r\n\r\n");
        requests.responded(10_000);
        assert!(written(&mut requests, 100, 1).contains("Cookie: a=b"));
    }

    #[test]
    fn values_that_mean_nothing_are_refused() {
        // Method: one mistake per part; the messages are httperf's if it has one.
        for (line, message) in [
            (
                "--wsess=x",
                "bad number of sessions (1st param) in --wsess arg (rest: `x')",
            ),
            ("--wsess=0,2,1", "bad number of sessions"),
            ("--wsess=1,0,1", "bad number of calls per session"),
            (
                "--wsess=1,2",
                "bad user think time (3rd param) in --wsess arg (rest: `')",
            ),
            ("--wsess=1,2,-1", "bad user think time"),
            ("--wsess=1,2,3,4", "bad user think time"),
            (
                "--wsesslog=1,x",
                "bad user think time (2nd param) in --wsesslog arg (rest: `x')",
            ),
            (
                "--wsesslog=1,2",
                "bad session filename (3rd param) in --wsesslog arg (rest: `')",
            ),
            (
                "--failure-status=x --wsess=1,1,1",
                "illegal failure status x",
            ),
            ("--session-cookies", "requires session-oriented workload"),
            ("--max-connections=3", "are for sessions"),
            ("--wsess=1,1,1 --wsesslog=1,1,f", "exclude each other"),
            ("--wsess=1,1,1 --wlog=n,f", "--wlog=y"),
            ("--wsesslog=1,1,f --wset=3,1", "--wsesslog has all URIs"),
            (
                "--wsess=1,9,1 --burst-length=6 --max-piped-calls=1",
                "too many calls pending",
            ),
            (
                "--wsess=1,9,1 --burst-length=6 --http-version=1.0",
                "too many calls pending",
            ),
        ] {
            let refused = parsed(line).unwrap_err();
            assert!(refused.contains(message), "{line}: {refused}");
        }
        parsed("--wsess=1,9,1 --burst-length=5 --max-piped-calls=1").unwrap();
    }

    #[test]
    fn sessions_of_a_file_take_turns() {
        // Method: two sessions in a file, and three that begin; the requests are those that httperf
        // 0.9.0 sent.
        let log = "/a\n /b\n/c method=POST contents='x y'\n\n/d method=HEAD think=2\n/e\n";
        let mut requests = requests("--server a --wsesslog=3,0.5,f --add-header X:y\\n", log);
        let burst = |calls, think_ms: u64| HttperfBurst {
            calls,
            think_ns: think_ms * 1_000_000,
        };
        let first = [burst(2, 500), burst(1, 500)];
        assert_eq!(requests.begin(), first);
        assert_eq!(requests.begin(), [burst(1, 2_000), burst(1, 500)]);
        assert_eq!(requests.begin(), first);
        let rest = "User-Agent: httperf/0.9.0\r\nHost: a\r\nX:y\r\n";
        for (session, place, expected) in [
            (0, 1, format!("GET /b HTTP/1.1\r\n{rest}\r\n")),
            (
                2,
                2,
                format!("POST /c HTTP/1.1\r\n{rest}Content-length: 3\r\n\r\nx y"),
            ),
            (1, 0, format!("HEAD /d HTTP/1.1\r\n{rest}\r\n")),
        ] {
            assert_eq!(written(&mut requests, session, place), expected);
        }
    }

    #[test]
    fn a_session_keeps_the_last_cookie_received() {
        // Method: two sessions, one of which gets two cookies; heads arrive in parts.
        let mut requests = requests("--server a --wsess=2,3,0 --session-cookies", "");
        assert!(!written(&mut requests, 0, 0).contains("Cookie"));
        requests.head(0, b"HTTP/1.1 200 OK\r\nSet-Coo");
        requests.head(0, b"kie: a=1; path=/\r\nset-cookie:b=2\r\nX: y\r\n\r\n");
        requests.responded(0);
        assert!(written(&mut requests, 0, 1).contains("\r\nCookie: b=2\r\n\r\n"));
        assert!(!written(&mut requests, 1, 0).contains("Cookie"));
        requests.ends(0);
        assert!(!written(&mut requests, 0, 2).contains("Cookie"));
    }
}
