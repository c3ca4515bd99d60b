//! Flags that people know from other load generators: those that mean one thing are
//! understood, and for the others this says what to write. docs/flags.md has all of them.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Error, Parser};

use super::{Cli, command_line};

/// A flag of other tools that abx does not have, and what to write instead.
#[derive(Debug)]
struct Habit {
    flags: &'static [&'static str],
    instead: &'static str,
}

const fn habit(flags: &'static [&'static str], instead: &'static str) -> Habit {
    Habit { flags, instead }
}

const HABITS: &[Habit] = &[
    habit(
        &["-p"],
        "the body from a file (ab's -p) is -b @FILE; pipelining (autocannon's -p) is --pipeline N",
    ),
    habit(
        &["-T"],
        "the content type (of ab, hey and oha) is -H 'Content-Type: TYPE'; a timeout (wrk's -T) \
         is --timeout TIME",
    ),
    habit(
        &["-D"],
        "the body from a file (of hey and oha) is -b @FILE; a duration (h2load's -D) is -d TIME",
    ),
    habit(
        &["--data", "--data-binary", "--data-raw", "--body-file"],
        "the body is -b TEXT, or -b @FILE",
    ),
    habit(&["--request"], "the method is -m METHOD"),
    habit(&["-a", "-A"], "who asks is -u NAME:PASSWORD"),
    habit(&["-C"], "a cookie is --cookie NAME=VALUE"),
    habit(&["--host"], "the host is a header: -H 'Host: NAME'"),
    habit(
        &["-i"],
        "heads alone (ab's -i) are -m HEAD; a list of URLs (h2load's -i) is --urls FILE; a number \
         of requests (k6's -i) is -n N",
    ),
    habit(&["-I", "--head"], "heads alone are -m HEAD"),
    habit(
        &[
            "-s",
            "--script",
            "--targets",
            "--urls-from-file",
            "--input-file",
        ],
        "different requests are --request-file FILE, --urls FILE, several --path, or {n} in path, \
         headers and body with --count N; a timeout (ab's -s) is --timeout TIME",
    ),
    habit(
        &["-l", "-L", "--latency"],
        "percentiles are always printed; bodies of any length (ab's -l) are --expect-body any",
    ),
    habit(
        &["-w", "-e", "-g", "-o", "-j", "--output", "--output-format"],
        "what was measured is in --json FILE (- for standard output), and readable in --html FILE",
    ),
    habit(
        &[
            "--vus",
            "--concurrency",
            "--clients",
            "--conns",
            "--num-conns",
            "--workers",
        ],
        "the number of connections is -c N",
    ),
    habit(
        &["--iterations", "--num-requests"],
        "the number of requests is -n N",
    ),
    habit(
        &["--stage", "--ramp-up"],
        "a rate that changes is --stages, such as 0:2000@30s,2000@60s",
    ),
    habit(
        &["--threshold", "--thresholds"],
        "thresholds (k6's) are --expect, such as --expect 'p99<50ms,errors<0.1%'",
    ),
    habit(&["-W"], "a warm-up (autocannon's -W) is --warmup TIME"),
    habit(
        &["-x", "--proxy"],
        "a server is loaded directly: abx uses no proxy",
    ),
    habit(
        &["--cacert", "-E"],
        "certificates are --ca FILE to believe, --insecure to believe all, and --cert FILE --key \
         FILE to show",
    ),
    habit(
        &["-4", "-6", "--ipv4", "--ipv6"],
        "give the address itself, such as http://127.0.0.1:8080/ or http://[::1]:8080/",
    ),
];

/// What a comparison has instead of what only a run has.
const OF_RUNS: &[Habit] = &[
    habit(
        &["-d", "-z", "--duration"],
        "a comparison ends when it is precise enough: --budget TIME bounds how long it may take, \
         and --slice TIME is how long each server is loaded at a time",
    ),
    habit(
        &["-n", "--requests"],
        "a comparison ends when it is precise enough: --blocks N measures exactly so many blocks",
    ),
    habit(
        &["--warmup", "--warm-up"],
        "a comparison warms each server up in each block: --cold TIME is the shortest warm-up",
    ),
];

/// What a run has instead of what only a comparison has.
const OF_COMPARISONS: &[Habit] = &[habit(
    &[
        "--budget",
        "--blocks",
        "--slice",
        "--margin",
        "--fail-if-slower",
    ],
    "a run lasts for as long as -d TIME says, or for -n N requests; this is a flag of abx compare",
)];

/// Commands that abx is when its file, or a link to it, is called so.
const GUISES: [&str; 2] = ["ab", "httperf"];

/// The same words with the command in front that the program is called as, if it is.
fn with_guise(mut words: Vec<OsString>) -> Vec<OsString> {
    let called = words.first().map(Path::new).and_then(Path::file_name);
    let guise = { GUISES.into_iter() }.find(|guise| called == Some(OsStr::new(guise)));
    if let Some(guise) = guise {
        words.insert(1, guise.into());
    }
    words
}

/// Reads the command line; ends the program where that is help, or wrong.
pub fn parse() -> Cli {
    let words = with_guise(std::env::args_os().collect());
    let words = command_line::in_our_words(words).unwrap_or_else(|wrong| {
        Cli::command()
            .error(ErrorKind::ValueValidation, wrong)
            .exit()
    });
    Cli::try_parse_from(&words).unwrap_or_else(|error| explained(error, &words).exit())
}

/// The same error, with what to write instead of a flag that abx does not have.
fn explained(mut error: Error, words: &[OsString]) -> Error {
    let command = words.get(1).and_then(|word| word.to_str());
    if error.kind() != ErrorKind::UnknownArgument || !matches!(command, Some("run" | "compare")) {
        return error;
    }
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    if let Some(instead) = instead(unknown, command == Some("compare"), words) {
        error.remove(ContextKind::SuggestedArg);
        let tips = vec![instead.to_owned().into()];
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
    error
}

/// What to write instead of an unknown word.
fn instead(unknown: &str, is_comparison: bool, words: &[OsString]) -> Option<&'static str> {
    let of_others = if is_comparison {
        OF_RUNS
    } else {
        OF_COMPARISONS
    };
    let mut all = HABITS.iter().chain(of_others);
    if let Some(habit) = all.find(|habit| habit.flags.contains(&unknown)) {
        return Some(habit.instead);
    }
    let mut pairs = words.windows(2);
    let follows_quiet = pairs.any(|pair| pair[0] == "-q" && pair[1] == unknown);
    follows_quiet.then_some("-q is --quiet here, and a rate (hey's and oha's -q) is -r RATE")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said to these words.
    fn said(words: &str) -> String {
        let words: Vec<OsString> = words.split(' ').map(Into::into).collect();
        let error = Cli::try_parse_from(&words).expect_err("it is wrong");
        let text = explained(error, &words).to_string();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn flags_of_other_tools_are_answered_with_what_to_write() {
        // Method: each of them with a value, where it is unknown; then the rate of hey.
        let tables = [
            ("run", HABITS),
            ("run", OF_COMPARISONS),
            ("compare", HABITS),
            ("compare", OF_RUNS),
        ];
        for (command, habits) in tables {
            for habit in habits {
                for flag in habit.flags {
                    let said = said(&format!("abx {command} http://127.0.0.1/ {flag} 5"));
                    assert!(said.contains(habit.instead), "{command} {flag}: {said}");
                }
            }
        }
        assert!(said("abx run http://127.0.0.1/ -q 100").contains("-r RATE"));
        assert!(!said("abx view --latency").contains("percentiles"));
    }

    #[test]
    fn a_program_that_is_called_as_another_tool_is_that() {
        // Method: names with and without a folder; one of abx's own.
        for (program, expected) in [
            ("/usr/local/bin/httperf", &["httperf", "--hog"][..]),
            ("httperf", &["httperf", "--hog"]),
            ("/usr/bin/ab", &["ab", "--hog"]),
            ("./httperf/abx", &["--hog"]),
            ("abx", &["--hog"]),
        ] {
            let words = with_guise(vec![program.into(), "--hog".into()]);
            assert_eq!(words[1..], *expected, "{program}");
        }
    }

    #[test]
    fn what_is_understood_or_answered_is_documented() {
        // Method: each flag of the tables has its place in the page, as have the flags of
        // other tools that abx understands; those are read.
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/flags.md");
        let page = std::fs::read_to_string(page).unwrap();
        let understood = [
            "-k",
            "-X POST",
            "-z 5s",
            "-d 5",
            "-n 10k",
            "-c 1k",
            "-r 2k",
            "-R 100",
            "--rps 100",
            "--qps 100",
            "--disable-keepalive",
            "--http2",
            "--h2",
            "-u a:b",
            "--user a:b",
            "--cookie a=b",
            "-F a=b",
            "--unix-socket /x",
        ];
        for flag in understood {
            let words = format!("abx run localhost:8080 {flag}");
            let read = Cli::try_parse_from(words.split(' '));
            assert!(read.is_ok(), "{flag}: {}", read.unwrap_err());
        }
        let all = HABITS.iter().chain(OF_RUNS).chain(OF_COMPARISONS);
        let answered = all.flat_map(|habit| habit.flags);
        for flag in understood.iter().chain(answered) {
            let flag = flag.split(' ').next().unwrap();
            let is_there = ["`", " "].map(|end| page.contains(&format!("`{flag}{end}")));
            assert!(is_there.contains(&true), "{flag} is not in docs/flags.md");
        }
    }
}
