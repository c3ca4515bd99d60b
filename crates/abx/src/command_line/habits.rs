//! Flags of other load generators: abx accepts those with one meaning, and for the others a message
//! names the flag to write. docs/reference/flags.md lists all of them.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use abx_lab::{is_address, is_slip_of};
use abx_sys::process::{hide_arguments, keep_memory_private};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory, Error};

use super::cli::{Cli, Command as Verb, try_parse, try_parse_again};
use super::resumed::with_recorded;
use super::secrets;
use crate::ui::invocation;

/// A flag of other tools that abx does not have, and its replacement.
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
    habit(
        &["--against"],
        "an older version runs next to the new one: `abx compare --rev OLD --rev . --build COMMAND \
         'SERVER {port}'`; one that you cannot build any more is a subject by its path",
    ),
    habit(
        &["-a", "-A"],
        "for basic authentication, use -u NAME:PASSWORD",
    ),
    habit(&["-C"], "a cookie is --cookie NAME=VALUE"),
    habit(&["--host"], "the host is a header: -H 'Host: NAME'"),
    habit(
        &["-i"],
        "for HEAD requests (ab's -i), use -m HEAD; a list of URLs (h2load's -i) is --urls FILE; a \
         number of requests (k6's -i) is -n N",
    ),
    habit(&["-I", "--head"], "for HEAD requests, use -m HEAD"),
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
        &["-l", "-L"],
        "percentiles are always printed; bodies of any length (ab's -l) are --expect-body any",
    ),
    habit(
        &[
            "-w",
            "-e",
            "-g",
            "-o",
            "-j",
            "--out",
            "--output",
            "--output-format",
            "--export-json",
            "--export-markdown",
        ],
        "--json FILE saves the measurements (- for standard output), and --html FILE shows them",
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
        "for certificates use --ca FILE (trusted), --insecure (accept any), and --cert FILE --key \
         FILE (client)",
    ),
    habit(
        &["-4", "-6", "--ipv4", "--ipv6"],
        "give the address itself, such as http://127.0.0.1:8080/ or http://[::1]:8080/",
    ),
    habit(
        &["--http-version"],
        "the version of HTTP is --http1.0, --http1.1 or --http2",
    ),
    habit(
        &["--disable-compression", "--compressed"],
        "abx requests compressed responses only with -H 'Accept-Encoding: gzip'",
    ),
    habit(
        &["--disable-redirects", "--redirect", "--location"],
        "abx follows no redirects: give the URL that they lead to",
    ),
    habit(
        &["--baseline"],
        "the baseline of `abx compare` is the first server that you name",
    ),
    habit(
        &["--no-tui", "--no-progress", "--silent"],
        "abx shows progress on terminals only, and -q turns it off",
    ),
    habit(
        &["--revision", "--ref", "--commit", "--branch"],
        "`abx compare --rev REV` builds and compares revisions of a git repository",
    ),
    habit(
        &["--bisect"],
        "`abx bisect GOOD BAD` finds the commit that made a server slower",
    ),
    habit(
        &["--connect-timeout", "--max-time"],
        "--timeout TIME limits each request, including its connection",
    ),
    habit(
        &["--cpus", "--num-threads"],
        "the number of generator threads is -t N",
    ),
];

/// What replaces, in a comparison, flags that only a run has.
const OF_RUNS: &[Habit] = &[
    habit(
        &["-d", "-z", "--duration"],
        "a comparison ends when it is precise enough: --budget TIME bounds how long it may take, \
         and --slice TIME is how long each server is loaded at a time",
    ),
    habit(
        &["-n", "--requests"],
        "a comparison ends when it is precise enough: --blocks N measures exactly N blocks",
    ),
    habit(
        &["--warmup", "--warm-up"],
        "a comparison warms each server up in each block: --cold TIME is the shortest warm-up",
    ),
];

/// What replaces, in a run, flags that only a comparison has.
const OF_COMPARISONS: &[Habit] = &[habit(
    &["--budget", "--blocks", "--slice", "--margin"],
    "a run lasts for -d TIME, or for -n N requests; this is a flag of abx compare",
)];

/// Commands that abx runs if its file, or a link to it, has their name.
const GUISES: &[&str] = if cfg!(feature = "classic") {
    &["ab", "httperf"]
} else {
    &[]
};

/// Inserts the command whose name the program's file has, if it has one.
fn with_guise(mut words: Vec<OsString>) -> Vec<OsString> {
    let program = words.first().map(Path::new).and_then(Path::file_name);
    let guise = GUISES
        .iter()
        .find(|guise| program == Some(OsStr::new(guise)));
    if let Some(guise) = guise {
        words.insert(1, (*guise).into());
    }
    words
}

/// Parses the command line; ends the program after help or a mistake.
pub fn parse() -> Cli {
    let words = with_guise(std::env::args_os().collect());
    // Each server has two keepers, whose start counts in its startup time.
    if words.len() == 2 && words[1] == "keeper" {
        return Cli {
            command: Verb::Keeper,
        };
    }
    let cli = read(words.clone()).unwrap_or_else(|error| secrets::hide_invalid(error).exit());
    // Other programs sample a server, which also starts itself again with these words. The command
    // of a timer writes to a file of abx. No record contains the words of these.
    if matches!(cli.command, Verb::Serve(_) | Verb::Timer(_)) {
        return cli;
    }
    let secrets::GivenWords { recorded, secret } = secrets::words(&words);
    invocation::record(recorded);
    if !secret.is_empty() {
        // SUBTLE: No thread runs yet, and nothing reads the words again. If the kernel forbids
        // this, `ps` shows the words, as it does for every program.
        let _ = hide_arguments(&secret);
    }
    keep_memory_private();
    cli
}

/// Parses these words, which may include a curl command or continue a record's command.
fn read(words: Vec<OsString>) -> Result<Cli, Error> {
    let invalid = |message: String| Cli::command().error(ErrorKind::ValueValidation, message);
    let words = secrets::with_curl_translated(words).map_err(invalid)?;
    let command = words.get(1).and_then(|word| word.to_str());
    if let Some(message) = command.and_then(|command| misread(command, &words[2..])) {
        return Err(invalid(message));
    }
    let cli = try_parse(&words).map_err(|error| explained(error, &command_path(&words)))?;
    match with_recorded(&words, &cli).map_err(invalid)? {
        None => Ok(cli),
        Some(words) => {
            let path = command_path(&words);
            try_parse_again(words).map_err(|error| explained(error, &path))
        }
    }
}

/// The path of the command that these words name, such as `study run`; empty if they name none.
fn command_path(words: &[OsString]) -> String {
    let cli = Cli::command();
    let mut command = &cli;
    let mut names = Vec::new();
    for word in words.iter().skip(1) {
        let Some(subcommand) = command.find_subcommand(word) else {
            break;
        };
        names.push(subcommand.get_name());
        command = subcommand;
    }
    names.join(" ")
}

/// The command at a path such as `study run`.
fn command_at<'a>(cli: &'a Command, path: &str) -> Option<&'a Command> {
    let mut names = path.split(' ');
    names.try_fold(cli, |command, name| command.find_subcommand(name))
}

/// The paths of all commands, each before those of its subcommands.
fn command_paths(parent: &Command) -> Vec<String> {
    let mut paths = Vec::new();
    for command in parent.get_subcommands() {
        let name = command.get_name();
        paths.push(name.to_owned());
        let nested = command_paths(command);
        paths.extend(nested.iter().map(|path| format!("{name} {path}")));
    }
    paths
}

/// A message about words of other tools that abx would misread.
fn misread(command: &str, words: &[OsString]) -> Option<String> {
    if !matches!(command, "run" | "compare") {
        return None;
    }
    let words: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
    let is_separate = words
        .windows(2)
        .any(|pair| pair[0] == "-q" && is_rate(pair[1]));
    let is_joined = words
        .iter()
        .filter_map(|word| word.strip_prefix("-q"))
        .any(|value| is_rate(value.trim_start_matches('=')));
    if is_separate || is_joined {
        return Some(
            "-q is --quiet here, and a rate (hey's and oha's -q) is -r RATE: write -r in its place"
                .to_owned(),
        );
    }
    words.iter().find_map(|word| one_dash(command, word))
}

/// Whether a word can only be a rate: a number, with or without a unit.
fn is_rate(text: &str) -> bool {
    let number = text
        .trim_end_matches("/s")
        .trim_end_matches(['k', 'K', 'M']);
    number.starts_with(|first: char| first.is_ascii_digit()) && number.parse::<f64>().is_ok()
}

/// Corrects a long flag that has one dash, as in tools written in Go.
fn one_dash(command: &str, word: &str) -> Option<String> {
    let flag = word.strip_prefix('-').filter(|rest| rest.len() > 2)?;
    let flag = flag.split('=').next().unwrap_or_default();
    let long = format!("--{flag}");
    if flags_of(&Cli::command(), command).contains(&long) {
        return Some(format!(
            "`-{flag}` has one dash, and long flags have two: write {long}"
        ));
    }
    instead(&long, command).map(|instead| format!("`-{flag}`: {instead}"))
}

/// The long flags in the help of the command at a path, with their dashes.
fn flags_of(cli: &Command, path: &str) -> Vec<String> {
    command_at(cli, path)
        .into_iter()
        .flat_map(Command::get_arguments)
        .filter(|arg| !arg.is_hide_set())
        .filter_map(|arg| arg.get_long_and_visible_aliases())
        .flatten()
        .map(|name| format!("--{name}"))
        .collect()
}

/// Replaces the tip of an error: it names the replacement of a flag that abx does not have, or a
/// word that is really close.
fn explained(mut error: Error, path: &str) -> Error {
    let text = |kind: ContextKind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(texts)) => texts.first().cloned(),
        _ => None,
    };
    let tip = match error.kind() {
        ErrorKind::UnknownArgument => {
            let unknown = text(ContextKind::InvalidArg).unwrap_or_default();
            let near = text(ContextKind::SuggestedArg);
            let near = near.filter(|near| is_near(&unknown, near));
            match (instead(&unknown, path), near) {
                (Some(instead), _) => Some(instead.to_owned()),
                (None, Some(_)) => {
                    // The tip that the flag may be meant as a value.
                    error.remove(ContextKind::Suggested);
                    return error;
                }
                (None, None) => elsewhere(&unknown, path),
            }
        }
        ErrorKind::InvalidSubcommand => {
            let unknown = text(ContextKind::InvalidSubcommand).unwrap_or_default();
            Some(instead_of_command(&unknown, path))
        }
        _ => return error,
    };
    error.remove(ContextKind::SuggestedArg);
    error.remove(ContextKind::SuggestedSubcommand);
    // The usage line names the suggestion too.
    let mut cli = Cli::command();
    cli.build();
    let mut names = path.split(' ');
    let command = names.try_fold(&mut cli, |command, name| command.find_subcommand_mut(name));
    if let Some(command) = command {
        let usage = ContextValue::StyledStr(command.render_usage());
        error.insert(ContextKind::Usage, usage);
    }
    error.remove(ContextKind::Suggested);
    if let Some(tip) = tip {
        let tips = vec![tip.into()];
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
    error
}

/// The tip for an unknown command of abx, or an unknown subcommand of the command at this path.
fn instead_of_command(unknown: &str, path: &str) -> String {
    let cli = Cli::command();
    let parent = command_at(&cli, path);
    let before = match parent {
        Some(_) => format!("abx {path}"),
        None => "abx".to_owned(),
    };
    match known_command(unknown, parent.unwrap_or(&cli)) {
        Some(known) => format!("a similar command exists: `{before} {known}`"),
        None if parent.is_none() && (is_address(unknown) || unknown.contains("://")) => {
            format!("`abx run {unknown}` loads one server, and `abx compare` compares several")
        }
        None => format!("`{before} --help` lists the commands"),
    }
}

/// The subcommand that a typo stands for.
fn known_command(unknown: &str, parent: &Command) -> Option<String> {
    parent
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .map(|command| command.get_name().to_owned())
        .find(|name| is_slip_of(unknown, name))
}

/// Whether one flag may be a typo for the other.
fn is_near(unknown: &str, known: &str) -> bool {
    let [unknown, known] = [unknown, known].map(|flag| flag.trim_start_matches('-'));
    is_slip_of(unknown, known)
}

/// The replacement of an unknown flag of other tools.
fn instead(unknown: &str, command: &str) -> Option<&'static str> {
    let of_others = match command {
        "run" => OF_COMPARISONS,
        "compare" => OF_RUNS,
        _ => return None,
    };
    let mut habits = HABITS.iter().chain(of_others);
    let habit = habits.find(|habit| habit.flags.contains(&unknown))?;
    Some(habit.instead)
}

/// Names the commands that have a flag which this one lacks, or states that none has it.
fn elsewhere(unknown: &str, path: &str) -> Option<String> {
    let cli = Cli::command();
    command_at(&cli, path)?;
    if !unknown.starts_with('-') {
        return (path == "run")
            .then(|| "`abx run` loads one server; `abx compare` compares several".to_owned());
    }
    let others: Vec<String> = command_paths(&cli)
        .iter()
        .filter(|path| flags_of(&cli, path).iter().any(|flag| flag == unknown))
        .map(|path| format!("`abx {path}`"))
        .collect();
    Some(match &others[..] {
        [] => format!(
            "`abx {path}` has no {unknown} and nothing close to it: `abx {path} --help` lists \
             its flags"
        ),
        _ => format!("{unknown} is a flag of {}", others.join(", ")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(words: &str) -> String {
        let words: Vec<OsString> = words.split(' ').map(Into::into).collect();
        let error = read(words).expect_err("these words are wrong");
        let text = error.to_string();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn flags_of_other_tools_lead_to_their_replacement() {
        // Method: each flag of the tables with a value; then a flag of a command that has no
        // table.
        let tables = [
            ("run", HABITS),
            ("run", OF_COMPARISONS),
            ("compare", HABITS),
            ("compare", OF_RUNS),
        ];
        for (command, habits) in tables {
            for habit in habits {
                for flag in habit.flags {
                    let text = message(&format!("abx {command} http://127.0.0.1/ {flag} 5"));
                    assert!(text.contains(habit.instead), "{command} {flag}: {text}");
                }
            }
        }
        assert!(!message("abx view -l").contains("percentiles"));
    }

    #[test]
    fn a_rate_of_hey_is_recognized_in_any_order() {
        // Method: -q with a rate at each place among other flags, apart and joined, in both
        // commands; then -q without one.
        for words in [
            "run -z 2s -q 100 -c 10 http://127.0.0.1/",
            "run http://127.0.0.1/ -q 100",
            "run -q 2.5k http://127.0.0.1/",
            "run -q100 http://127.0.0.1/",
            "run -c 10 -q=100 http://127.0.0.1/",
            "run -q 100/s -z 2s http://127.0.0.1/",
            "compare -q 100 http://127.0.0.1:1/ http://127.0.0.1:2/",
            "compare http://127.0.0.1:1/ http://127.0.0.1:2/ -q 100 -c 10",
        ] {
            let text = message(&format!("abx {words}"));
            assert!(text.contains("-r RATE"), "{words}: {text}");
        }
        for words in [
            "run -q -c 10 http://127.0.0.1/",
            "run -q 127.0.0.1:81",
            "run -q 127.0.0.1",
            "run 127.0.0.1 -q",
        ] {
            let words = format!("abx {words}");
            assert!(
                read(words.split(' ').map(Into::into).collect()).is_ok(),
                "{words}"
            );
        }
    }

    #[test]
    fn only_a_word_that_is_close_is_suggested() {
        // Method: flags that are close to none of abx's or belong to another command, each with a
        // part of its message; then typos, each with the suggestion.
        for (words, part) in [
            ("run --disable-compression", "Accept-Encoding"),
            ("compare --revision main", "--rev REV"),
            ("run --bisect", "abx bisect GOOD BAD"),
            ("compare --bisect", "abx bisect GOOD BAD"),
            ("run --http-version 2", "--http1.1 or --http2"),
            ("run --baseline a", "the first server"),
            ("compare --no-tui", "-q turns it off"),
            ("run --svg f", "is a flag of `abx compare`"),
            ("compare --quick", "is a flag of"),
            ("history --slo 1", "is a flag of"),
            ("run --entirely-unknown", "nothing close to it"),
            ("compare --entirely-unknown", "nothing close to it"),
            ("view --entirely-unknown", "`abx view --help`"),
        ] {
            let (command, flag) = words.split_once(' ').unwrap();
            let text = message(&format!("abx {command} {flag}"));
            assert!(text.contains(part), "{words}: {text}");
            for wrong in [
                "a similar argument exists",
                "as a value, use",
                "--insecure",
                "--quiet",
            ] {
                assert!(!text.contains(wrong), "{words}: {text}");
            }
        }
        for (words, suggestion) in [
            ("run --conections 5", "'--connections'"),
            ("compare --bugdet 5s", "'--budget'"),
            ("run --querry", "nothing close"),
            ("repot last", "`abx report`"),
            ("conpare", "`abx compare`"),
            ("study rnu", "`abx study run`"),
            ("study chekc", "`abx study check`"),
            ("cache lsit", "`abx cache list`"),
            ("study study", "`abx study --help`"),
            ("study serve", "`abx study --help`"),
            ("ob", "`abx --help`"),
        ] {
            let text = message(&format!("abx {words}"));
            assert!(text.contains(suggestion), "{words}: {text}");
        }
    }

    #[test]
    fn a_subcommand_is_named_in_full() {
        // Method: an unknown flag of each subcommand, and a flag that only one of them has.
        let paths = command_paths(&Cli::command());
        let nested: Vec<&String> = paths.iter().filter(|path| path.contains(' ')).collect();
        assert!(nested.iter().any(|path| *path == "study run"), "{paths:?}");
        for path in nested {
            let text = message(&format!("abx {path} --entirely-unknown"));
            for part in [
                format!("`abx {path} --help` lists its flags"),
                format!("Usage: abx {path}"),
            ] {
                assert!(text.contains(&part), "{path}: {text}");
            }
        }
        let text = message("abx compare --tiny");
        assert!(text.contains("a flag of `abx study run`"), "{text}");
    }

    #[test]
    fn a_word_in_place_of_a_command_leads_to_a_command() {
        // Method: an address, a URL, a word that is neither, and a second server for a run.
        for (words, part) in [
            ("localhost:3000", "`abx run localhost:3000`"),
            ("http://127.0.0.1/", "`abx run http://127.0.0.1/`"),
            ("elephant", "`abx --help`"),
            ("run http://127.0.0.1/ http://127.0.0.2/", "`abx compare`"),
        ] {
            let text = message(&format!("abx {words}"));
            assert!(text.contains(part), "{words}: {text}");
        }
    }

    #[test]
    fn a_long_flag_with_one_dash_is_corrected() {
        // Method: flags of vegeta and hey, and joined values that look like such flags.
        for (words, part) in [
            ("-duration=5s", "write --duration"),
            ("-rate 50", "write --rate"),
            ("-disable-compression", "Accept-Encoding"),
            ("-cpus 2", "-t N"),
        ] {
            let text = message(&format!("abx run http://127.0.0.1/ {words}"));
            assert!(text.contains(part), "{words}: {text}");
        }
        let words = "abx run http://127.0.0.1/ -bpath -n5 -Hrate:5";
        assert!(read(words.split(' ').map(Into::into).collect()).is_ok());
    }

    #[test]
    fn a_program_with_the_name_of_a_tool_runs_its_command() {
        // Method: names with and without a folder, a folder with such a name, and abx's own name.
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
    fn every_known_flag_of_other_tools_is_documented() {
        // Method: the page lists each flag of the tables, and each flag of other tools that abx
        // understands; those are also parsed.
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/flags.md");
        let page = std::fs::read_to_string(page).unwrap();
        let understood = [
            "-k",
            "--latency",
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
            let cli = try_parse(words.split(' '));
            assert!(cli.is_ok(), "{flag}: {}", cli.unwrap_err());
        }
        let habits = HABITS.iter().chain(OF_RUNS).chain(OF_COMPARISONS);
        let explained = habits.flat_map(|habit| habit.flags);
        for flag in understood.iter().chain(explained) {
            let flag = flag.split(' ').next().unwrap();
            let is_listed = ["`", " "]
                .iter()
                .any(|end| page.contains(&format!("`{flag}{end}")));
            assert!(is_listed, "{flag} is not in docs/reference/flags.md");
        }
    }
}
