//! Studies repeated on real processes: how often their intervals contain the truth, how often
//! verdicts are correct, and how long they take.
//!
//!     truth planted --abx FILE [--runs N] [--quick] [WORD...]
//!
//! 1. The cost of a request to `abx serve` is measured, with work that makes the server the limit,
//!    not the generator. Then the server is compared with itself doing 3, 5 and 10 % more work per
//!    request, N times (10) within 6, 3 and 1.5 minutes. The truth is the ratio of the servers' CPU
//!    time per response over all runs.
//! 2. Identical servers, `abx serve` and nginx, 2 N times within a minute: the truth is
//!    1, and every `faster` and `slower` is false.
//! 3. nginx and lighttpd, 3 N times within a minute. The truth is unknown; the mean of all studies,
//!    weighted by precision, replaces it.
//! 4. A server that stalls for a twentieth of the time, and one whose requests cost that much more,
//!    N / 2 times seven blocks at half of their capacity: their means are equal, p50 is nearly
//!    equal, and p99 distinguishes them.
//!
//! Work is planted in turns of a loop, which are the same in every process. This takes an hour;
//! with `--quick`, two runs of each within 45 s, which only shows that it works. With words, only
//! rows whose name contains one of them run. A row is printed as Markdown as soon as it is
//! complete; progress goes to standard error.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use abx_bench::command_line::CommandLine;
use abx_bench::folder::Folder;

use crate::Outcome;
use crate::study::{Comparison, Study};

/// Turns of work that make the server the limit: about 10 µs.
const BASE_TURNS: u64 = 6_000;
/// The time that a study may take beyond its budget, for its pilot, starts and ends.
const PATIENCE: Duration = Duration::from_secs(120);
/// The share of time in which the stalling server stalls.
const STALLED: f64 = 0.05;

struct Options {
    abx: PathBuf,
    runs: usize,
    quick: bool,
    line: CommandLine,
}

/// Where the truth of a pair comes from.
#[derive(Clone, Copy)]
enum Truth {
    /// The subjects are identical, so the ratio is 1.
    One,
    /// The ratio of the CPU times of `more` and `base`.
    CpuTime,
    /// The pooled ratio of all studies.
    Pooled,
}

/// A pair of servers, compared repeatedly.
struct Pair {
    name: String,
    subjects: Vec<String>,
    truth: Truth,
    runs: usize,
    budget_s: u64,
}

/// The results of the studies of one pair.
#[derive(Default)]
struct Runs {
    comparisons: Vec<Comparison>,
    seconds: Vec<f64>,
    /// The ratio of the CPU times of `more` and `base`, per study.
    costs: Vec<f64>,
}

/// Repeats each selected pair.
pub fn run(words: impl Iterator<Item = String>) -> Outcome {
    const USAGE: &str = "usage: truth planted --abx FILE [--runs N] [--quick] [WORD...]";
    let line = CommandLine::read(words, USAGE, &["--abx", "--runs"], &["--quick"])?;
    let quick = line.has("--quick");
    let options = Options {
        abx: line.program("--abx")?,
        runs: line.value("--runs", if quick { 2 } else { 10 })?,
        quick,
        line,
    };
    print_all(&options, Folder::new("planted")?.path())
}

fn print_all(options: &Options, folder: &Path) -> Outcome {
    let turns = turns_of_all(options, folder)?;
    let mut out = io::stdout();
    writeln!(
        out,
        "| pair | budget | truth | studies | contain it | slower | same | undecided | faster | \
         no result | wall time, mean and longest |\n|---|---|---|---|---|---|---|---|---|---|---|"
    )?;
    for pair in pairs(options, turns)
        .iter()
        .filter(|pair| options.line.selects(&pair.name))
    {
        let runs = repeat(options, folder, pair)?;
        writeln!(out, "{}", runs.row(pair))?;
        out.flush()?;
    }
    if options.line.selects("stalls") {
        print_stalls(options, folder, turns, &mut out)?;
    }
    Ok(())
}

/// The number of turns that equals the total cost of a request.
fn turns_of_all(options: &Options, folder: &Path) -> Outcome<f64> {
    let subjects = [
        options.serve("base", BASE_TURNS),
        options.serve("double", 2 * BASE_TURNS),
    ];
    let blocks = ["--blocks".to_owned(), "7".to_owned()];
    let arguments = blocks.iter().chain(&subjects);
    let study = Study::run(&options.abx, folder, arguments, PATIENCE)?;
    let cost = |name| study.figure(name, "server_cpu_us_per_request");
    let (base, double) = (cost("base")?, cost("double")?);
    writeln!(
        io::stderr(),
        "A request costs {base:.2} µs of the server's CPU time, {double:.2} with twice the work."
    )?;
    Ok(base * BASE_TURNS as f64 / (double - base))
}

fn pairs(options: &Options, turns_of_all: f64) -> Vec<Pair> {
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples");
    let foreign = |name: &str| format!("{name}={examples}/{name} {{port}} {{dir}}");
    let base = options.serve("base", BASE_TURNS);
    let planted = [(0.03, 360), (0.05, 180), (0.1, 90)].map(|(share, budget_s)| {
        let more = (share * turns_of_all).round() as u64;
        Pair {
            name: format!("{:.0} % more work ({more} turns)", 100.0 * share),
            subjects: vec![base.clone(), options.serve("more", BASE_TURNS + more)],
            truth: Truth::CpuTime,
            runs: options.runs,
            budget_s: options.budget(budget_s),
        }
    });
    let minute = |name: &str, subjects: Vec<String>, truth, times| Pair {
        name: name.to_owned(),
        subjects,
        truth,
        runs: times * options.runs,
        budget_s: options.budget(60),
    };
    let others = [
        minute(
            "identical `abx serve`",
            vec![base.clone(), options.serve("again", BASE_TURNS)],
            Truth::One,
            2,
        ),
        minute(
            "identical nginx",
            vec!["--aa".to_owned(), foreign("nginx")],
            Truth::One,
            2,
        ),
        minute(
            "nginx and lighttpd",
            vec![foreign("nginx"), foreign("lighttpd")],
            Truth::Pooled,
            3,
        ),
    ];
    planted.into_iter().chain(others).collect()
}

fn repeat(options: &Options, folder: &Path, pair: &Pair) -> Outcome<Runs> {
    let mut runs = Runs::default();
    for seed in 1..=pair.runs {
        let extent = [
            "--budget".to_owned(),
            format!("{}s", pair.budget_s),
            "--seed".to_owned(),
            seed.to_string(),
        ];
        let arguments = extent.iter().chain(&pair.subjects);
        let longest = Duration::from_secs(pair.budget_s) + PATIENCE;
        let study = Study::run(&options.abx, folder, arguments, longest)?;
        let comparison = study.comparison("throughput")?;
        let [ratio, low, high] = comparison.bounds.unwrap_or([f64::NAN; 3]);
        let seconds = study.took.as_secs_f64();
        writeln!(
            io::stderr(),
            "{}, {seed} of {}: {} {ratio:.4} ({low:.4} to {high:.4}), {} blocks, {seconds:.0} s",
            pair.name,
            pair.runs,
            comparison.verdict,
            comparison.per_block.len(),
        )?;
        if matches!(pair.truth, Truth::CpuTime) {
            let cost = |name| study.figure(name, "server_cpu_us_per_request");
            runs.costs.push(cost("more")? / cost("base")?);
        }
        runs.comparisons.push(comparison);
        runs.seconds.push(seconds);
    }
    Ok(runs)
}

impl Runs {
    fn row(&self, pair: &Pair) -> String {
        let truth = self.truth(pair.truth);
        let known = self
            .comparisons
            .iter()
            .filter_map(|comparison| comparison.bounds);
        let hits = known
            .clone()
            .filter(|[_, low, high]| (*low..=*high).contains(&truth))
            .count();
        let count = |verdict: &str| {
            let matching = self
                .comparisons
                .iter()
                .filter(|comparison| comparison.verdict == verdict);
            matching.count().to_string()
        };
        let verdicts = ["slower", "equivalent", "inconclusive", "faster", "invalid"]
            .map(count)
            .join(" | ");
        let longest = self.seconds.iter().copied().fold(0.0, f64::max);
        format!(
            "| {} | {} s | {truth:.4} | {} | {hits} of {} | {verdicts} | {:.0} s, {longest:.0} s |",
            pair.name,
            pair.budget_s,
            self.comparisons.len(),
            known.count(),
            mean(&self.seconds),
        )
    }

    fn truth(&self, truth: Truth) -> f64 {
        match truth {
            Truth::One => 1.0,
            Truth::CpuTime => 1.0 / mean(&self.costs),
            Truth::Pooled => pooled(
                self.comparisons
                    .iter()
                    .filter_map(|comparison| comparison.bounds),
            ),
        }
    }
}

/// The geometric mean of ratios, weighted by the precision of their intervals.
fn pooled(studies: impl Iterator<Item = [f64; 3]>) -> f64 {
    let (mut sum, mut weights) = (0.0, 0.0);
    for [ratio, low, high] in studies {
        let weight = (high / low).ln().powi(-2);
        sum += weight * ratio.ln();
        weights += weight;
    }
    (sum / weights).exp()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Compares a server that stalls with one that does equally more work.
fn print_stalls(
    options: &Options,
    folder: &Path,
    turns_of_all: f64,
    out: &mut impl Write,
) -> Outcome {
    // A server that stalls for 5 % of the time does 1 / 0.95 of the work in the rest.
    let more = ((1.0 / (1.0 - STALLED) - 1.0) * turns_of_all).round() as u64;
    writeln!(
        out,
        "\n| a server that stalls, over one with {more} turns more work | verdict | ratio | interval |\n\
         |---|---|---|---|"
    )?;
    let subjects = [
        options.serve("slow", BASE_TURNS + more),
        format!("{} --stall 50ms/1s", options.serve("stalls", BASE_TURNS)),
    ];
    for seed in 1..=options.runs.div_ceil(2) {
        let words = format!("-r 50% --blocks 7 --seed {seed}");
        let arguments = words.split(' ').chain(subjects.iter().map(String::as_str));
        let study = Study::run(&options.abx, folder, arguments, 3 * PATIENCE)?;
        for time in ["response_p50", "response_p99"] {
            let comparison = study.comparison(time)?;
            let [ratio, low, high] = comparison.bounds.unwrap_or([f64::NAN; 3]);
            writeln!(
                out,
                "| {}, study {seed} | {} | {ratio:.2} | {low:.2} to {high:.2} |",
                time.trim_start_matches("response_"),
                comparison.verdict,
            )?;
        }
    }
    Ok(())
}

impl Options {
    fn serve(&self, name: &str, turns: u64) -> String {
        format!(
            "{name}='{}' serve --port {{port}} --work {turns}turns",
            self.abx.display()
        )
    }

    fn budget(&self, full_s: u64) -> u64 {
        if self.quick { full_s.min(45) } else { full_s }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison(verdict: &str, bounds: Option<[f64; 3]>) -> Comparison {
        Comparison {
            bounds,
            verdict: verdict.to_owned(),
            per_block: vec![1.0; 7],
        }
    }

    #[test]
    fn a_row_counts_the_intervals_that_contain_the_truth() {
        // Method: four studies by hand, one of which claims nothing and one of which misses the
        // truth; the other server needs 1.25 times the CPU time.
        let runs = Runs {
            comparisons: vec![
                comparison("slower", Some([0.8, 0.7, 0.9])),
                comparison("slower", Some([0.7, 0.65, 0.75])),
                comparison("inconclusive", Some([0.9, 0.75, 1.1])),
                comparison("invalid", None),
            ],
            seconds: vec![10.0, 20.0, 30.0, 40.0],
            costs: vec![1.2, 1.25, 1.25, 1.3],
        };
        let pair = Pair {
            name: "planted".to_owned(),
            subjects: Vec::new(),
            truth: Truth::CpuTime,
            runs: 4,
            budget_s: 60,
        };
        assert_eq!(
            runs.row(&pair),
            "| planted | 60 s | 0.8000 | 4 | 2 of 3 | 2 | 0 | 1 | 0 | 1 | 25 s, 40 s |"
        );
    }

    #[test]
    fn precise_studies_weigh_more() {
        // Method: an interval half as wide in logarithms has four times the weight.
        let wide = [1.0, (-0.2_f64).exp(), 0.2_f64.exp()];
        let narrow = [2.0, (2.0_f64.ln() - 0.1).exp(), (2.0_f64.ln() + 0.1).exp()];
        let mean = pooled([wide, narrow].into_iter());
        assert!((mean - (0.8 * 2.0_f64.ln()).exp()).abs() < 1e-12, "{mean}");
    }
}
