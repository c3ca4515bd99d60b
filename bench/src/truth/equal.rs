//! Equal servers: the verdicts of `abx compare` on a server and itself, by every metric.
//!
//!     truth equal --abx FILE [--seeds N]
//!
//! One server under two names, in one study per seed: requests in a closed and an open loop,
//! broadcasts, idle connections, an objective and a fault. Only chance or an order (of starts,
//! readings, warm-ups or loads) can distinguish the two. Counts for each metric how often a
//! direction was claimed, and on which side of 1 the ratios are. Prints a Markdown table; exits
//! with 1 if either is more than chance.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use abx_bench::command_line::CommandLine;
use abx_bench::folder::Folder;

use crate::Outcome;
use crate::study::{Claim, Study};

/// The default number of studies.
const SEEDS: u64 = 20;
/// How long one study may take.
const PATIENCE: Duration = Duration::from_secs(600);
/// How often an interval may miss the truth: printed intervals are 95 %.
const MISSED: f64 = 0.05;
/// Results with a lower probability than this are not chance.
const CHANCE_MIN: f64 = 0.001;

/// The server begins with some work, like one that compiles or reads files.
const STUDY: &str = r#"
schema = "abx.study_file/1"
baseline = "one"

[[subject]]
name = "one"
command = COMMAND

[[subject]]
name = "other"
command = COMMAND

[[load]]
name = "closed"
connections = 20
requests = [{ path = "/" }]

[[load]]
name = "paced"
connections = 20
rate = 25000
requests = [{ path = "/" }]

[[load]]
name = "room"
shape = "broadcast"
connections = 8
requests = [{ path = "/chat/a" }]

[[load]]
name = "held"
shape = "connections"
connections = 500
hold = "50ms"
requests = [{ path = "/echo" }]

[[load]]
name = "objective"
connections = 8
slo = "p50<50ms"
requests = [{ path = "/" }]

[[fault]]
name = "restart"
load = "paced"
action = "restart"
at = "300ms"
within = "1500ms"
"#;

const COMMAND: &str = r#"["sh", "-c", "i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done; exec ABX serve --port {port} --websocket"]"#;

/// The results of all seeds for one metric under one load.
#[derive(Debug, Clone, Default, PartialEq)]
struct Tally {
    studies: u64,
    /// Verdicts that claim a direction.
    directions: u64,
    /// Ratios above and below 1.
    above: u64,
    below: u64,
    log_sum: f64,
}

/// Runs every seed.
pub fn run(words: impl Iterator<Item = String>) -> Outcome {
    const USAGE: &str = "usage: truth equal --abx FILE [--seeds N]";
    let line = CommandLine::read(words, USAGE, &["--abx", "--seeds"], &[])?;
    let folder = Folder::new("equal")?;
    let abx = line.program("--abx")?;
    let tallies = compare_all(&abx, folder.path(), line.value("--seeds", SEEDS)?)?;
    if print(&tallies)? {
        return Ok(());
    }
    Err("equal servers were called different".into())
}

/// Runs one study per seed, and returns the results by metric and load.
fn compare_all(
    abx: &Path,
    folder: &Path,
    seeds: u64,
) -> Outcome<BTreeMap<(String, String), Tally>> {
    let command = COMMAND.replace("ABX", &abx.display().to_string());
    let study = folder.join("study.toml");
    std::fs::write(&study, STUDY.replace("COMMAND", &command))?;
    let mut tallies: BTreeMap<(String, String), Tally> = BTreeMap::new();
    for seed in 1..=seeds {
        let seed = seed.to_string();
        let study = study.display().to_string();
        let words = [
            &study, "--trust", "--seed", &seed, "--blocks", "6", "--rounds", "5", "--slice",
            "100ms", "--pilot", "brief",
        ];
        let study = Study::run(abx, folder, words, PATIENCE)?;
        for claim in study.claims() {
            let key = (claim.metric.clone(), claim.load.clone());
            tallies.entry(key).or_default().add(&claim);
        }
        writeln!(
            io::stderr(),
            "{seed} of {seeds} in {:.0} s",
            study.took.as_secs_f64()
        )?;
    }
    Ok(tallies)
}

/// Prints all results, and returns whether none is more than chance.
fn print(tallies: &BTreeMap<(String, String), Tally>) -> io::Result<bool> {
    let mut out = io::stdout();
    writeln!(
        out,
        "| metric | load | studies | directions | above 1 | below 1 | mean ratio | |\n\
         |---|---|--:|--:|--:|--:|--:|---|"
    )?;
    let mut is_correct = true;
    for ((metric, load), tally) in tallies {
        let wrong = tally.wrong();
        is_correct &= wrong.is_empty();
        let mark = match &wrong[..] {
            [] => "correct".to_owned(),
            wrong => format!("**{}**", wrong.join(", ")),
        };
        writeln!(
            out,
            "| {metric} | {load} | {} | {} | {} | {} | {:.4} | {mark} |",
            tally.studies,
            tally.directions,
            tally.above,
            tally.below,
            (tally.log_sum / (tally.above + tally.below).max(1) as f64).exp()
        )?;
    }
    Ok(is_correct)
}

impl Tally {
    fn add(&mut self, claim: &Claim) {
        self.studies += 1;
        let has_direction = ["faster", "slower", "less", "more"].contains(&claim.verdict.as_str());
        self.directions += u64::from(has_direction);
        if let Some(ratio) = claim.ratio.filter(|ratio| *ratio > 0.0) {
            self.above += u64::from(ratio > 1.0);
            self.below += u64::from(ratio < 1.0);
            self.log_sum += ratio.ln();
        }
    }

    /// The deviations that are more than chance.
    fn wrong(&self) -> Vec<&'static str> {
        let mut wrong = Vec::new();
        if at_least(self.directions, self.studies, MISSED) < CHANCE_MIN {
            wrong.push("false directions");
        }
        let (sided, total) = (self.above.max(self.below), self.above + self.below);
        if 2.0 * at_least(sided, total, 0.5) < CHANCE_MIN {
            wrong.push("leans to one side");
        }
        wrong
    }
}

/// The probability of at least `count` hits in `total` trials, each with this probability.
fn at_least(count: u64, total: u64, probability: f64) -> f64 {
    let odds = probability / (1.0 - probability);
    let mut term = (1.0 - probability).powi(i32::try_from(total).unwrap_or(i32::MAX));
    let mut below = 0.0;
    for hits in 0..count {
        below += term;
        term *= odds * (total - hits) as f64 / (hits + 1) as f64;
    }
    (1.0 - below).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deviations_beyond_chance_are_wrong() {
        // Method: of twenty studies, the number of directions that a rate of 5 % exceeds once in
        // 3,000 times, and one fewer, by tables of the binomial distribution; and ratios of which
        // eighteen or seventeen are on one side.
        assert!((at_least(1, 20, 0.05) - 0.641_5).abs() < 1e-4);
        assert!((at_least(6, 20, 0.05) - 0.000_33).abs() < 1e-5);
        assert!((at_least(18, 20, 0.5) - 0.000_201).abs() < 1e-6);
        let tally = |directions, above| Tally {
            studies: 20,
            directions,
            above,
            below: 20 - above,
            log_sum: 0.0,
        };
        assert_eq!(tally(5, 10).wrong(), Vec::<&str>::new());
        assert_eq!(tally(6, 10).wrong(), ["false directions"]);
        assert_eq!(tally(0, 17).wrong(), Vec::<&str>::new());
        assert_eq!(tally(0, 18).wrong(), ["leans to one side"]);
        assert_eq!(tally(0, 2).wrong(), ["leans to one side"]);
    }

    #[test]
    fn a_claim_is_counted_by_its_verdict_and_its_side() {
        // Method: a direction above 1, a bound without a ratio, and no difference at all.
        let mut tally = Tally::default();
        for (verdict, ratio) in [
            ("more", Some(1.2)),
            ("invalid", None),
            ("equivalent", Some(1.0)),
        ] {
            tally.add(&Claim {
                metric: "memory".to_owned(),
                load: "closed".to_owned(),
                verdict: verdict.to_owned(),
                ratio,
            });
        }
        assert_eq!((tally.studies, tally.directions), (3, 1));
        assert_eq!((tally.above, tally.below), (1, 0));
    }
}
