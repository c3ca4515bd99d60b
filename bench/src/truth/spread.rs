//! How the length of slices affects the spread of blocks: two identical servers, loaded in slices
//! of several lengths for the same time, with and without a neighbour that uses their processor.
//!
//!     truth spread --abx FILE [--passes N] [--quick]
//!
//! Both servers are `abx serve`, so every log ratio of a block should be 0, and its spread comes
//! from the machine. The neighbour is this program again: it uses the subjects' processor in bursts
//! and ends with its parent. Configurations alternate in several passes, so that a change of the
//! machine affects all of them. A Markdown table is printed at the end, even if a study fails.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use abx_bench::child;
use abx_bench::command_line::CommandLine;
use abx_bench::folder::Folder;
use rustix::process::{Signal, set_parent_process_death_signal};

use crate::Outcome;
use crate::study::Study;

const LENGTHS_MS: [u64; 5] = [50, 100, 250, 1_000, 4_000];
const LENGTHS_QUICK_MS: [u64; 3] = [100, 1_000, 4_000];
/// The time for which each server is loaded per block, whatever the slices, in ms.
const LOADED_MS: u64 = 4_000;
/// Blocks of one configuration in one pass.
const BLOCKS: u64 = 3;
const PASSES: usize = 3;
/// How long a study may take: pilot and blocks take about 40 s.
const PATIENCE: Duration = Duration::from_secs(180);

/// The ranges of the neighbour's bursts and of the pauses between them, in ms.
const BURST_MS: (u64, u64) = (20, 200);
const REST_MS: (u64, u64) = (50, 450);

/// Whether a neighbour uses the processor, too.
#[derive(Clone, Copy, PartialEq)]
enum Around {
    Quiet,
    Neighbour,
}

/// The log ratios of blocks with slices of one length, with and without a neighbour.
struct Row {
    slice_ms: u64,
    quiet: Vec<f64>,
    beside_neighbour: Vec<f64>,
}

struct Options {
    abx: PathBuf,
    passes: usize,
}

/// Measures every length, in several passes.
pub fn run(words: impl Iterator<Item = String>) -> Outcome {
    const USAGE: &str = "usage: truth spread --abx FILE [--passes N] [--quick]";
    let line = CommandLine::read(words, USAGE, &["--abx", "--passes"], &["--quick"])?;
    let is_quick = line.has("--quick");
    let lengths_ms: &[u64] = if is_quick {
        &LENGTHS_QUICK_MS
    } else {
        &LENGTHS_MS
    };
    let options = Options {
        abx: line.program("--abx")?,
        passes: line.value("--passes", if is_quick { 1 } else { PASSES })?,
    };
    let folder = Folder::new("spread")?;
    let mut rows: Vec<Row> = lengths_ms
        .iter()
        .map(|slice_ms| Row {
            slice_ms: *slice_ms,
            quiet: Vec::new(),
            beside_neighbour: Vec::new(),
        })
        .collect();
    let measured = measure(&options, folder.path(), &mut rows);
    io::stdout().lock().write_all(table(&rows).as_bytes())?;
    measured
}

/// The word that makes this program the neighbour.
pub const NEIGHBOUR: &str = "as-neighbour";

fn measure(options: &Options, folder: &Path, rows: &mut [Row]) -> Outcome {
    let count = options.passes * rows.len() * 2;
    let mut done = 0;
    for pass in 0..options.passes {
        for index in 0..rows.len() {
            // Reversed in every second pass, so that no length is always first.
            let index = if pass % 2 == 0 {
                index
            } else {
                rows.len() - 1 - index
            };
            for around in [Around::Quiet, Around::Neighbour] {
                let row = &mut rows[index];
                let log_ratios = study(options, folder, row.slice_ms, around)?;
                match around {
                    Around::Quiet => row.quiet.extend(log_ratios),
                    Around::Neighbour => row.beside_neighbour.extend(log_ratios),
                }
                done += 1;
                writeln!(io::stderr(), "{done} of {count}")?;
            }
        }
    }
    Ok(())
}

/// Compares two identical servers, and returns the log ratio of each block.
fn study(options: &Options, folder: &Path, slice_ms: u64, around: Around) -> Outcome<Vec<f64>> {
    let abx = options.abx.display();
    let words = format!(
        "--blocks {BLOCKS} --slice {slice_ms}ms --rounds {}",
        LOADED_MS / slice_ms
    );
    let subjects = ["one", "other"].map(|name| format!("{name}='{abx}' serve --port {{port}}"));
    let arguments = words.split(' ').chain(subjects.iter().map(String::as_str));
    let neighbour = match around {
        Around::Quiet => None,
        Around::Neighbour => Some(Neighbour::start()?),
    };
    let study = Study::run(&options.abx, folder, arguments, PATIENCE);
    drop(neighbour);
    let ratios = study?.comparison("throughput")?.per_block;
    if ratios.len() as u64 != BLOCKS {
        return Err(format!("{} of {BLOCKS} blocks have a ratio", ratios.len()).into());
    }
    Ok(ratios.iter().map(|ratio| ratio.ln()).collect())
}

fn table(rows: &[Row]) -> String {
    let mut text =
        "| slice | quiet | with a noisy neighbour | blocks of each |\n|---|---|---|---|\n"
            .to_owned();
    for row in rows {
        let [quiet, beside] = [row.quiet.len(), row.beside_neighbour.len()];
        let blocks = if quiet == beside {
            quiet.to_string()
        } else {
            format!("{quiet}, {beside}")
        };
        text.push_str(&format!(
            "| {} s | {} | {} | {blocks} |\n",
            row.slice_ms as f64 / 1e3,
            percent(spread(&row.quiet)),
            percent(spread(&row.beside_neighbour)),
        ));
    }
    text
}

fn percent(share: Option<f64>) -> String {
    share.map_or("-".to_owned(), |share| format!("{:.2} %", 100.0 * share))
}

/// The standard deviation; `None` for fewer than two values.
fn spread(log_ratios: &[f64]) -> Option<f64> {
    let count = log_ratios.len() as f64;
    let mean = log_ratios.iter().sum::<f64>() / count;
    let squares: f64 = log_ratios.iter().map(|ratio| (ratio - mean).powi(2)).sum();
    (log_ratios.len() >= 2).then(|| (squares / (count - 1.0)).sqrt())
}

/// The process that uses the subjects' processor; it ends when this is dropped.
struct Neighbour {
    child: Child,
}

impl Neighbour {
    fn start() -> io::Result<Neighbour> {
        let child = Command::new(std::env::current_exe()?)
            .arg(NEIGHBOUR)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()?;
        Ok(Neighbour { child })
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        // Only fails if the process has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Uses the first processor, which is that of the subjects, in bursts.
pub fn neighbour() -> Outcome {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let first = child::processors()?.first().copied();
    child::pin(first.ok_or("no processor may be used")?)?;
    let mut draw = Draw(0x2545_f491_4f6c_dd1d);
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        let burst = Instant::now() + draw.between(BURST_MS);
        while Instant::now() < burst {
            std::hint::spin_loop();
        }
        std::thread::sleep(draw.between(REST_MS));
    }
    Ok(())
}

/// A pseudorandom sequence, the same in every run. Source: Marsaglia, "Xorshift RNGs", Journal of
/// Statistical Software 8 (2003).
struct Draw(u64);

impl Draw {
    fn between(&mut self, (least, most): (u64, u64)) -> Duration {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        Duration::from_millis(least + self.0 % (most - least + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_contains_all_measurements_so_far() {
        // Method: the spread of three values, computed by hand, and of one value.
        let row = Row {
            slice_ms: 50,
            quiet: vec![0.01, 0.02, 0.03],
            beside_neighbour: vec![0.01],
        };
        let text = table(&[row]);
        assert!(text.ends_with("| 0.05 s | 1.00 % | - | 3, 1 |\n"), "{text}");
    }
}
