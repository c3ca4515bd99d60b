//! Known capacities: the verdicts of `abx compare` on servers whose capacity is known and that
//! count what they serve.
//!
//!     truth known --abx FILE --capacity FILE [WORD...]
//!
//! Compares pairs of servers of different kinds, which have the same capacity unless their flags
//! differ in it. The throughput of abx must be within 1 % of the server's own count, the ratio
//! within 1 % of that of the two counts, and neither server of an equal pair may be called faster
//! or slower. About a server that starves connections, no claim may be made. With words, only cases
//! whose name contains one of them run. Prints a Markdown table; exits with 1 if a row is wrong.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use abx_bench::command_line::CommandLine;
use abx_bench::folder::Folder;

use crate::Outcome;
use crate::study::Study;

/// How far from the truth a figure may be.
const OFF_MAX: f64 = 0.01;
/// The default margin of abx: smaller differences are equivalent.
const MARGIN: f64 = 0.03;
/// How long one comparison may take.
const PATIENCE: Duration = Duration::from_secs(900);
/// Blocks of each comparison: enough for a verdict.
const BLOCKS: &str = "7";

/// Two servers and their load.
struct Case {
    name: &'static str,
    one: &'static str,
    other: &'static str,
    load: &'static str,
    /// Whether a server starves connections, so that no claim can be made.
    starves: bool,
}

const fn case(
    name: &'static str,
    one: &'static str,
    other: &'static str,
    load: &'static str,
) -> Case {
    Case {
        name,
        one,
        other,
        load,
        starves: false,
    }
}

/// 20 requests in flight at 1,000/s take 20 ms: slices of 100 ms hold 5 of them.
const CASES: &[Case] = &[
    case(
        "in order, sharing",
        "",
        "--order sharing",
        "-c 20 --slice 100ms",
    ),
    case(
        "the same, 10 response times",
        "",
        "--order sharing",
        "-c 20 --slice 200ms",
    ),
    case(
        "the same, 50 response times",
        "",
        "--order sharing",
        "-c 20 --slice 1s --rounds 4",
    ),
    // abx only counts a sample of such work, here of 84,000 requests.
    case(
        "exponential work: in order, sharing",
        "--work exponential",
        "--work exponential --order sharing",
        "-c 20 --slice 100ms --rounds 120",
    ),
    case(
        "bimodal work: in order, sharing",
        "--work bimodal",
        "--work bimodal --order sharing",
        "-c 20 --slice 200ms",
    ),
    case(
        "rare stalls: in order, sharing",
        "--work stalls",
        "--work stalls --order sharing",
        "-c 20 --slice 200ms",
    ),
    // The same two connections always have the newest requests.
    Case {
        name: "last first, in order",
        one: "--order lifo",
        other: "",
        load: "-c 20 --slice 200ms",
        starves: true,
    },
    case(
        "1 worker, 4 workers",
        "--work exponential",
        "--work exponential --workers 4",
        "-c 20 --slice 200ms",
    ),
    // 64 ms of work each, so that the time of a client between two requests is negligible.
    case(
        "16 workers, 32 workers for 8 connections",
        "--workers 16 --clients 8 --per-second 250 --work exponential",
        "--workers 32 --clients 8 --per-second 500 --work exponential",
        "-c 8 --slice 800ms --rounds 20",
    ),
    case(
        "batches of 8, in order",
        "--order batches:8",
        "",
        "-c 20 --slice 200ms",
    ),
    case(
        "pipelines of 16: by connection, by request",
        "--order turns:1",
        "",
        "-c 4 --pipeline 16 --slice 400ms",
    ),
    case(
        "pipelines of 16, 4 in a row",
        "--order turns:4 --work exponential",
        "--work exponential",
        "-c 4 --pipeline 16 --slice 400ms --rounds 40",
    ),
    case(
        "2 times the load",
        "",
        "--order sharing",
        "-c 20 -r 2000 --slice 500ms --rounds 4",
    ),
    case(
        "5 times the load",
        "",
        "--order sharing",
        "-c 20 -r 5000 --slice 500ms --rounds 4",
    ),
    case(
        "12 times the load",
        "",
        "--order sharing",
        "-c 20 -r 12000 --slice 500ms --rounds 4",
    ),
    case(
        "1,000/s and 900/s at 5,000/s",
        "",
        "--per-second 900",
        "-c 20 -r 5000 --slice 500ms --rounds 4",
    ),
    case(
        "1,000/s and 900/s, exponential work",
        "--work exponential",
        "--work exponential --per-second 900 --order sharing",
        "-c 20 --slice 200ms",
    ),
    case(
        "echoes, 4 in flight: in order, sharing",
        "",
        "--order sharing",
        "--shape echo --path /echo -c 5 --pipeline 4 --slice 200ms",
    ),
    case(
        "broadcasts, 4 in flight",
        "",
        "--work exponential",
        "--shape broadcast --path /chat -c 5 --pipeline 4 --slice 200ms",
    ),
];

/// The number of requests served and the busy time, from the server's log.
struct Count {
    served: f64,
    busy_ns: f64,
}

/// The results of abx for one case, and the counts of the servers.
struct Response {
    /// `None` for a server that starved connections, and was therefore not measured.
    throughput: [Option<f64>; 2],
    counts: [Count; 2],
    ratio: Option<f64>,
    verdict: String,
}

/// Compares each selected pair.
pub fn run(words: impl Iterator<Item = String>) -> Outcome {
    const USAGE: &str = "usage: truth known --abx FILE --capacity FILE [WORD...]";
    let line = CommandLine::read(words, USAGE, &["--abx", "--capacity"], &[])?;
    let programs = [line.program("--abx")?, line.program("--capacity")?];
    let folder = Folder::new("known")?;
    if compare_all(&programs, folder.path(), &line)? {
        return Ok(());
    }
    Err("a row is wrong".into())
}

fn compare_all(programs: &[PathBuf; 2], folder: &Path, line: &CommandLine) -> Outcome<bool> {
    let mut out = io::stdout();
    let heading = "| servers | own count | abx | off | own ratio | abx | verdict | |";
    writeln!(out, "{heading}\n|---|---|---|---|---|---|---|---|")?;
    let mut is_correct = true;
    let selected = CASES.iter().filter(|case| line.selects(case.name));
    for (index, case) in selected.enumerate() {
        let path = folder.join(index.to_string());
        std::fs::create_dir(&path)?;
        let response = compare(programs, &path, case)?;
        let wrong = response.wrong(case);
        is_correct &= wrong.is_empty();
        writeln!(out, "{}", response.row(case.name, &wrong))?;
        out.flush()?;
    }
    Ok(is_correct)
}

fn compare([abx, capacity]: &[PathBuf; 2], folder: &Path, case: &Case) -> Outcome<Response> {
    let log = |name: &str| folder.join(format!("{name}.log"));
    let subject = |name: &str, flags: &str| {
        let (program, log) = (capacity.display(), log(name));
        format!(
            "{name}='{program}' --port {{port}} --log '{}' {flags}",
            log.display()
        )
    };
    let subjects = [subject("one", case.one), subject("other", case.other)];
    let words = ["--blocks", BLOCKS].into_iter().chain(case.load.split(' '));
    let arguments = words.chain(subjects.iter().map(String::as_str));
    let study = Study::run(abx, folder, arguments, PATIENCE)
        .map_err(|error| format!("{}: {error}", case.name))?;
    let comparison = study.comparison("throughput")?;
    Ok(Response {
        throughput: [
            study.figure("one", "throughput_per_s").ok(),
            study.figure("other", "throughput_per_s").ok(),
        ],
        counts: [count(&log("one"))?, count(&log("other"))?],
        ratio: comparison.bounds.map(|[ratio, ..]| ratio),
        verdict: comparison.verdict,
    })
}

/// Sums the lines of a log: requests served, and the busy time in ns.
fn count(log: &Path) -> Outcome<Count> {
    let text = std::fs::read_to_string(log)?;
    let mut sum = Count {
        served: 0.0,
        busy_ns: 0.0,
    };
    for line in text.lines() {
        let (served, busy_ns) = line.split_once(' ').ok_or("a line of a log is cut")?;
        sum.served += served.parse::<f64>()?;
        sum.busy_ns += busy_ns.parse::<f64>()?;
    }
    Ok(sum)
}

impl Count {
    fn per_s(&self) -> f64 {
        1e9 * self.served / self.busy_ns
    }
}

impl Response {
    /// The relative error of abx's throughput, compared with a server's own count.
    fn off(&self, which: usize) -> Option<f64> {
        Some(self.throughput[which]? / self.counts[which].per_s() - 1.0)
    }

    /// The ratio of the servers' own counts, the second to the first.
    fn own_ratio(&self) -> f64 {
        self.counts[1].per_s() / self.counts[0].per_s()
    }

    /// The wrong results; empty if all are correct.
    fn wrong(&self, case: &Case) -> Vec<&'static str> {
        if case.starves {
            let is_claimed = self.ratio.is_some() || self.verdict != "invalid";
            return is_claimed.then_some("a claim").into_iter().collect();
        }
        let mut wrong = Vec::new();
        if (0..2).any(|which| self.off(which).is_none_or(|off| off.abs() > OFF_MAX)) {
            wrong.push("throughput");
        }
        let own_ratio = self.own_ratio();
        if self
            .ratio
            .is_none_or(|ratio| (ratio / own_ratio - 1.0).abs() > OFF_MAX)
        {
            wrong.push("ratio");
        }
        let differs_by = (own_ratio - 1.0).abs();
        let has_direction = matches!(self.verdict.as_str(), "faster" | "slower");
        let is_false = has_direction && differs_by <= OFF_MAX;
        let is_missed = !has_direction && differs_by > MARGIN + OFF_MAX;
        if is_false || is_missed {
            wrong.push("verdict");
        }
        wrong
    }

    fn row(&self, name: &str, wrong: &[&str]) -> String {
        let both = |format: &dyn Fn(usize) -> String| format!("{}, {}", format(0), format(1));
        let counted = both(&|which| format!("{:.1}", self.counts[which].per_s()));
        let given = |figure: Option<String>| figure.unwrap_or_else(|| "none".to_owned());
        let abx = both(&|which| given(self.throughput[which].map(|figure| format!("{figure:.1}"))));
        let off = both(&|which| given(self.off(which).map(|off| format!("{:+.2} %", 100.0 * off))));
        let ratio = given(self.ratio.map(|ratio| format!("{ratio:.4}")));
        let mark = match wrong {
            [] => "correct".to_owned(),
            wrong => format!("**wrong: {}**", wrong.join(", ")),
        };
        let (own_ratio, verdict) = (self.own_ratio(), &self.verdict);
        format!(
            "| {name} | {counted} | {abx} | {off} | {own_ratio:.4} | {ratio} | {verdict} | {mark} |"
        )
    }
}
