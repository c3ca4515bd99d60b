//! Gathers the lines of a log.

use std::collections::{BTreeMap, HashMap};

use abx_engine::schedule::{Arrivals, Replay, ReplaySpeed, ReplayedRequest};
use abx_evidence::ExpectedStatus;
use abx_sys::Nanos;

use crate::loads::load::Load;
use crate::requests::numbered::REQUESTS_MAX;
use crate::requests::request_spec::RequestSpec;

use super::line::{LogLineError, logged_request};

/// The most requests that are replayed: a few hundred megabytes of memory.
const LOGGED_MAX: usize = 10_000_000;
/// The longest time that a log may cover: a year.
const SPAN_MAX_S: u64 = 366 * 24 * 3_600;
const SECOND: u64 = 1_000_000_000;
/// A connection that became a WebSocket: as a request alone it would be refused.
const SWITCHED: u16 = 101;

/// Which of a log's requests are replayed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReplayedMethods {
    /// GET and HEAD, which change nothing and have no body.
    #[default]
    Safe,
    /// All, without the bodies, which no log has.
    All,
}

/// Why a log cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum AccessLogError {
    #[error("it cannot be read ({0}): give a text file, or one compressed by gzip or zstd")]
    Unread(#[from] std::io::Error),
    #[error("it has no line of an access log in the common or combined format{0}")]
    NoLog(String),
    #[error(
        "it has no GET or HEAD requests, and {0} by other methods: to send those without \
         bodies, add `--replay-methods all` (`replay_methods` in a study file)"
    )]
    OtherMethods(u64),
    #[error(
        "it has more than {REQUESTS_MAX} different requests up to line {0}: replay a part of it, \
         such as the lines before that one"
    )]
    TooManyDifferent(u64),
    #[error("it has more than {LOGGED_MAX} requests, up to line {0}: replay a part of it")]
    TooMany(u64),
    #[error("its times are {days} days apart, more than a year: replay a part of it")]
    TooLong { days: u64 },
}

/// The content of a log's lines so far.
#[derive(Debug, Default)]
pub struct AccessLog {
    methods: ReplayedMethods,
    /// The second of each request, and its index in `different`.
    logged: Vec<(i64, u32)>,
    different: Vec<DifferentRequest>,
    /// The index in `different` of each method and path.
    indexes: HashMap<(String, String), u32>,
    pub(super) left_out: LeftOutLines,
    lines: u64,
}

/// A method and a path, and how often the log has them.
#[derive(Debug)]
struct DifferentRequest {
    method: String,
    path: String,
    times: u32,
    /// How often each status occurred, of those that can be expected again.
    statuses: BTreeMap<u16, u32>,
}

/// Lines that are not replayed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeftOutLines {
    /// Requests by methods that are not replayed.
    pub other_methods: u64,
    pub websockets: u64,
    /// Lines that are no requests.
    pub damaged: u64,
    /// The first of these, from 1, and the error in it.
    pub first_damaged: Option<(u64, LogLineError)>,
}

/// A log as a load replays it.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayedLog {
    /// The different requests, in the order of their first occurrence in the log. A request's
    /// weight is how often it occurs.
    pub requests: Vec<RequestSpec>,
    /// Which of them is due when.
    pub replay: Replay,
    pub speed: ReplaySpeed,
    pub left_out: LeftOutLines,
}

impl AccessLog {
    /// An empty log, of which these methods will be replayed.
    #[must_use]
    pub fn of(methods: ReplayedMethods) -> AccessLog {
        AccessLog {
            methods,
            ..AccessLog::default()
        }
    }

    /// Takes the next line; an empty one is ignored, and a damaged one is counted.
    ///
    /// # Errors
    /// [`AccessLogError::TooManyDifferent`], [`AccessLogError::TooMany`].
    pub fn take(&mut self, line: &[u8]) -> Result<(), AccessLogError> {
        self.lines += 1;
        let line = line.trim_ascii_end();
        if line.is_empty() {
            return Ok(());
        }
        let logged = match logged_request(line) {
            Ok(logged) => logged,
            Err(wrong) => {
                self.left_out.damaged += 1;
                let damage = (self.lines, wrong);
                self.left_out.first_damaged.get_or_insert(damage);
                return Ok(());
            }
        };
        if !self.methods.include(&logged.method) {
            self.left_out.other_methods += 1;
            return Ok(());
        }
        if logged.status == Some(SWITCHED) {
            self.left_out.websockets += 1;
            return Ok(());
        }
        if self.logged.len() == LOGGED_MAX {
            return Err(AccessLogError::TooMany(self.lines));
        }
        let index = self.index(logged.method, logged.path)?;
        let different = &mut self.different[index as usize];
        different.times += 1;
        if let Some(status) = logged.status.and_then(expected_again) {
            *different.statuses.entry(status).or_default() += 1;
        }
        self.logged.push((logged.at_s, index));
        Ok(())
    }

    /// The index of a request in `different`.
    fn index(&mut self, method: String, path: String) -> Result<u32, AccessLogError> {
        let next = u32::try_from(self.different.len()).unwrap_or(u32::MAX);
        let key = (method, path);
        if let Some(index) = self.indexes.get(&key) {
            return Ok(*index);
        }
        if next == REQUESTS_MAX {
            return Err(AccessLogError::TooManyDifferent(self.lines));
        }
        let (method, path) = key.clone();
        self.indexes.insert(key, next);
        self.different.push(DifferentRequest {
            method,
            path,
            times: 0,
            statuses: BTreeMap::new(),
        });
        Ok(next)
    }

    /// The replay of its requests, at a speed.
    ///
    /// # Errors
    /// [`AccessLogError::NoLog`], [`AccessLogError::OtherMethods`],
    /// [`AccessLogError::TooLong`].
    pub fn replayed(mut self, speed: ReplaySpeed) -> Result<ReplayedLog, AccessLogError> {
        // Stable: requests of one second stay in the order of the log.
        self.logged.sort_by_key(|(at_s, _)| *at_s);
        let (Some((first_s, _)), Some((last_s, _))) = (self.logged.first(), self.logged.last())
        else {
            return Err(self.nothing_to_replay());
        };
        let first_s = *first_s;
        let lasts_s = last_s.abs_diff(first_s) + 1;
        if lasts_s > SPAN_MAX_S {
            let days = lasts_s / (24 * 3_600);
            return Err(AccessLogError::TooLong { days });
        }
        let mut requests = Vec::with_capacity(self.logged.len());
        for second in self.logged.chunk_by(|(left, _), (right, _)| left == right) {
            let begins = second[0].0.abs_diff(first_s) * SECOND;
            let count = second.len() as u64;
            for (number, (_, request)) in (0..).zip(second) {
                requests.push(ReplayedRequest {
                    due: Nanos(begins + number * SECOND / count),
                    request: *request,
                });
            }
        }
        let replay = Replay::new(requests, Nanos(lasts_s * SECOND));
        let replay = replay.expect("each is due in its second, and these are sorted");
        Ok(ReplayedLog {
            requests: self.different.into_iter().map(request).collect(),
            replay: replay.at_speed(speed),
            speed,
            left_out: self.left_out,
        })
    }

    fn nothing_to_replay(&self) -> AccessLogError {
        match (self.left_out.other_methods, self.left_out.first_damaged) {
            (0, first) => AccessLogError::NoLog(first.map_or_else(String::new, damage_text)),
            (others, _) => AccessLogError::OtherMethods(others),
        }
    }
}

impl ReplayedMethods {
    fn include(self, method: &str) -> bool {
        self == ReplayedMethods::All || matches!(method, "GET" | "HEAD")
    }
}

impl ReplayedLog {
    /// Makes a load replay the log, under this name. If `has_status`, the load's own status is
    /// expected of all requests instead of the log's.
    pub fn onto(mut self, load: &mut Load, name: &str, has_status: bool) {
        if has_status {
            for request in &mut self.requests {
                request.status = None;
            }
        }
        load.log = Some(self.words(name));
        load.pacing.arrivals = Arrivals::Replay(self.replay);
        load.requests = self.requests;
    }

    /// Its description in the record, under this name.
    #[must_use]
    pub fn words(&self, file: &str) -> String {
        let speed = match self.speed {
            ReplaySpeed::RECORDED => String::new(),
            speed => format!(" at speed {speed}"),
        };
        let lasts = humantime::format_duration(self.replay.lasts().into());
        let requests = match self.replay.requests().len() {
            1 => "1 request".to_owned(),
            count => format!("{count} requests"),
        };
        let out = self.left_out;
        let mut left_out: Vec<String> = [
            (out.other_methods, "by other methods"),
            (out.websockets, "of WebSockets"),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
        if let Some(first) = out.first_damaged {
            left_out.push(format!("{} damaged{}", out.damaged, damage_text(first)));
        }
        let left_out = if left_out.is_empty() {
            String::new()
        } else {
            format!("; left out: {}", left_out.join(", "))
        };
        format!("of {file}{speed}, {requests} in {lasts}{left_out}")
    }
}

/// A request of a log, whose usual status is the expected one.
fn request(different: DifferentRequest) -> RequestSpec {
    let DifferentRequest {
        method,
        path,
        times,
        statuses,
    } = different;
    // Among equally frequent statuses, the lowest.
    let usual = statuses.into_iter().rev().max_by_key(|(_, times)| *times);
    RequestSpec {
        method,
        path: Some(path),
        weight: times,
        status: usual.map(|(status, _)| ExpectedStatus::exactly(status)),
        is_logged: true,
        ..RequestSpec::default()
    }
}

/// The status to expect if a request that had this status is sent again: `None` for a status that
/// depends on the moment, such as an overload, rather than on the page.
fn expected_again(status: u16) -> Option<u16> {
    match status {
        // The request was conditional or for a range; the replay requests the whole page.
        206 | 304 => Some(200),
        // A slow client, too many requests, and nginx's own codes for clients that left.
        408 | 429 | 444 | 499 => None,
        100..=199 | 500.. => None,
        _ => Some(status),
    }
}

/// The number of a damaged line and the error in it, in parentheses.
fn damage_text((line, wrong): (u64, LogLineError)) -> String {
    format!(" (line {line}: {wrong})")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A line at this second of a minute.
    fn line(second: u32, request: &str, status: &str) -> String {
        format!("h - - [01/Jan/2020:10:00:{second:02} +0100] \"{request} HTTP/1.1\" {status} 5")
    }

    fn log(methods: ReplayedMethods, lines: &[String]) -> AccessLog {
        let mut log = AccessLog::of(methods);
        for line in lines {
            log.take(line.as_bytes()).unwrap();
        }
        log
    }

    fn replayed(lines: &[String]) -> ReplayedLog {
        log(ReplayedMethods::Safe, lines)
            .replayed(ReplaySpeed::RECORDED)
            .unwrap()
    }

    /// When each path is due, in ms.
    fn due(log: &ReplayedLog) -> Vec<(u64, &str)> {
        let requests = log.replay.requests().iter();
        requests
            .map(|request| {
                let path = log.requests[request.request as usize].path.as_deref();
                (request.due.0 / 1_000_000, path.unwrap())
            })
            .collect()
    }

    #[test]
    fn requests_of_a_second_are_spread_over_it_in_their_order() {
        // Method: four lines of one second, an early line of a later second, and a line that is
        // alone in its second.
        let lines = [
            line(3, "GET /a", "200"),
            line(5, "GET /late", "200"),
            line(3, "GET /b", "200"),
            line(3, "GET /a", "200"),
            line(3, "HEAD /a", "200"),
            line(9, "GET /a", "200"),
        ];
        let log = replayed(&lines);
        assert_eq!(
            due(&log),
            [
                (0, "/a"),
                (250, "/b"),
                (500, "/a"),
                (750, "/a"),
                (2_000, "/late"),
                (6_000, "/a")
            ]
        );
        assert_eq!(log.replay.lasts(), Nanos(7 * SECOND));
        let weights: Vec<_> = log
            .requests
            .iter()
            .map(|request| (request.method.as_str(), request.weight))
            .collect();
        assert_eq!(weights, [("GET", 3), ("GET", 1), ("GET", 1), ("HEAD", 1)]);
        assert_eq!(log.words("x.log"), "of x.log, 6 requests in 7s");
    }

    #[test]
    fn lines_left_out_are_counted_and_the_first_damaged_line_is_named() {
        // Method: one line of each kind, replayed with safe methods and with all of them.
        let lines = [
            String::new(),
            line(0, "GET /", "200"),
            "# a remark".to_owned(),
            line(0, "POST /", "200"),
            line(0, "GET /chat", "101"),
            "cut off".to_owned(),
        ];
        let words = replayed(&lines).words("x.log");
        assert_eq!(
            words,
            "of x.log, 1 request in 1s; left out: 1 by other methods, 1 of WebSockets, 2 damaged \
             (line 3: it has no time such as [10/Oct/2000:13:55:36 -0700])"
        );
        let twice = "2".parse().unwrap();
        let replayed_log = log(ReplayedMethods::All, &lines[1..5])
            .replayed(twice)
            .unwrap();
        assert_eq!(
            replayed_log.words("x.log"),
            "of x.log at speed 2, 2 requests in 500ms; left out: 1 of WebSockets, 1 damaged \
             (line 2: it has no time such as [10/Oct/2000:13:55:36 -0700])"
        );
    }

    #[test]
    fn the_most_frequent_status_of_the_log_is_expected() {
        // Method: lists of the statuses of one path, each with the expected status.
        for (statuses, expected) in [
            (&["404"][..], Some(404)),
            (&["404", "200", "200"], Some(200)),
            (&["404", "200"], Some(200)),
            (&["304", "206", "404"], Some(200)),
            (&["301", "499", "503", "-", "503"], Some(301)),
            (&["500", "429", "408", "444"], None),
        ] {
            let lines: Vec<String> = statuses
                .iter()
                .map(|status| line(0, "GET /", status))
                .collect();
            let [request] = &replayed(&lines).requests[..] else {
                panic!("it is one request");
            };
            assert_eq!(
                request.status,
                expected.map(ExpectedStatus::exactly),
                "{statuses:?}"
            );
        }
    }

    #[test]
    fn logs_that_cannot_be_replayed_are_refused() {
        // Method: one log per reason.
        let refused = |lines: &[String]| {
            let replayed = log(ReplayedMethods::Safe, lines).replayed(ReplaySpeed::RECORDED);
            replayed.unwrap_err().to_string()
        };
        assert!(refused(&[]).ends_with("combined format"));
        assert!(refused(&["{}".to_owned()]).contains("(line 1: it has no time"));
        assert!(refused(&[line(0, "PUT /", "200")]).contains("and 1 by other methods"));
        let years = line(0, "GET /", "200").replace("2020", "2022");
        let years = refused(&[line(0, "GET /", "200"), years]);
        assert!(years.contains("731 days apart"), "{years}");
        let mut many = AccessLog::of(ReplayedMethods::Safe);
        let path = |number: u32| line(0, &format!("GET /{number}"), "200");
        (0..REQUESTS_MAX).for_each(|number| many.take(path(number).as_bytes()).unwrap());
        assert!(many.take(path(7).as_bytes()).is_ok());
        let refused = many.take(path(REQUESTS_MAX).as_bytes()).unwrap_err();
        assert!(
            refused.to_string().contains("up to line 10002"),
            "{refused}"
        );
    }

    #[test]
    fn inputs_kept_by_fuzzing_are_read_or_counted() {
        // Method: the fuzz target's body, on kept inputs and changes of them.
        abx_corpus::replay("access_log", 2_000, crate::access_log::fuzz::any_bytes);
    }

    proptest! {
        #[test]
        fn every_line_is_replayed_once_and_in_order(
            seconds in prop::collection::vec(0_u32..60, 1..200),
            speed in 10_u64..5_000,
        ) {
            // Method: lines of random seconds, each with its own path, at a random speed. All are
            // due in the order of their seconds and then of the log, each within its second.
            let lines: Vec<String> = seconds.iter().enumerate()
                .map(|(number, second)| line(*second, &format!("GET /{number}"), "200"))
                .collect();
            let speed_text = format!("{}.{:03}", speed / 1_000, speed % 1_000);
            let log = log(ReplayedMethods::Safe, &lines);
            let log = log.replayed(speed_text.parse().unwrap()).unwrap();
            let mut wanted: Vec<usize> = (0..seconds.len()).collect();
            wanted.sort_by_key(|number| seconds[*number]);
            let first = seconds[wanted[0]];
            let due = due(&log);
            prop_assert_eq!(due.len(), seconds.len());
            let mut before = 0;
            for (number, ((_, path), request)) in
                wanted.into_iter().zip(due.iter().zip(log.replay.requests()))
            {
                prop_assert_eq!(*path, format!("/{number}"));
                prop_assert!(request.due.0 >= before && request.due < log.replay.lasts());
                before = request.due.0;
                // At the recorded speed, where rounding down takes less than 1 ms.
                let recorded_ms = request.due.0 * speed / 1_000 / 1_000_000;
                let second_ms = u64::from(seconds[number] - first) * 1_000;
                let second = second_ms.saturating_sub(1)..second_ms + 1_000;
                prop_assert!(second.contains(&recorded_ms));
            }
        }

        #[test]
        fn any_bytes_are_read_or_counted(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            // Method: the fuzz target's body, on random bytes.
            crate::access_log::fuzz::any_bytes(&bytes);
        }

        #[test]
        fn any_words_of_logs_are_read_or_counted(
            words in prop::collection::vec(prop::sample::select(WORDS), 0..40),
        ) {
            // Method: the fuzz target's body, on random sequences of parts of logs.
            crate::access_log::fuzz::any_bytes(words.concat().as_bytes());
        }
    }

    const WORDS: &[&str] = &[
        "h - - ",
        "[",
        "]",
        "[10/Oct/2000:13:55:36 -0700]",
        "[29/Feb/2001:00:00:00 +0000]",
        " ",
        "\"",
        "\"GET /a HTTP/1.1\"",
        "\"HEAD / HTTP/2.0\"",
        "POST",
        "/",
        "\\x2",
        "\\\"",
        "\\",
        " 200 5",
        " 404",
        " -",
        "\n",
        "\r\n",
        "\u{1f}\u{8b}",
        "\u{e9}",
    ];
}
