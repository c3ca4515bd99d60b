//! Shows a person how far a study is. Drawn between slices only, so that the
//! drawing never meets the measuring.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use abx_evidence::StudyRecord;
use abx_evidence::stats::stop::BLOCKS_FOR_VERDICT;
use abx_lab::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A line on the terminal that follows the study; nothing where there is no terminal.
pub struct Watch {
    bar: ProgressBar,
    started: Instant,
    budget: Duration,
    ordered: Option<u32>,
    /// What the blocks so far say.
    so_far: String,
    /// How many blocks there will be, as far as one can tell.
    expected: u32,
    /// When the first block began: the pilot takes another time than blocks.
    first_block: Option<Instant>,
}

impl Watch {
    /// Follows a study of this budget, or of this number of blocks.
    pub fn new(quiet: bool, budget: Duration, ordered: Option<u32>) -> Watch {
        let bar = ProgressBar::no_length();
        if quiet || !std::io::stderr().is_terminal() {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        if let Ok(style) = ProgressStyle::with_template("{msg}") {
            bar.set_style(style);
        }
        Watch {
            bar,
            started: Instant::now(),
            budget,
            ordered,
            so_far: String::new(),
            expected: ordered.unwrap_or(BLOCKS_FOR_VERDICT as u32),
            first_block: None,
        }
    }

    /// Takes note of what happens.
    pub fn see(&mut self, progress: &Progress) {
        match progress {
            Progress::Pilot => self.bar.set_message(
                "pilot: how long do the subjects take to warm up, and how long must a slice be?",
            ),
            Progress::Round {
                block,
                round,
                rounds,
            } => {
                let began = *self.first_block.get_or_insert_with(Instant::now);
                let done = f64::from(*block) + f64::from(*round) / f64::from((*rounds).max(1));
                self.bar.set_message(format!(
                    "block {} of {}{}, round {} of {rounds}{}{}",
                    block + 1,
                    if self.ordered.is_some() { "" } else { "about " },
                    self.expected.max(block + 1),
                    round + 1,
                    self.so_far,
                    self.time_left(began, done),
                ));
            }
            Progress::Block(record) => self.learn(record),
        }
        self.bar.tick();
    }

    /// Takes the line away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn learn(&mut self, record: &StudyRecord) {
        let done = u32::try_from(record.complete_blocks().count()).unwrap_or(u32::MAX);
        let more = record.primary().map(|one| one.blocks_more.unwrap_or(0));
        let beside = record.against.iter().flat_map(|one| &one.comparisons);
        let more = more.chain(beside.map(|one| one.blocks_more.unwrap_or(0)));
        let needed = done.saturating_add(more.max().unwrap_or(0));
        self.expected = self
            .ordered
            .unwrap_or(needed.max(BLOCKS_FOR_VERDICT as u32));
        let line = abx_report::progress_line(record);
        self.so_far = if line.is_empty() {
            line
        } else {
            format!(" · {line}")
        };
    }

    fn time_left(&self, began: Instant, done: f64) -> String {
        if done <= 0.0 {
            return String::new();
        }
        let each = began.elapsed().as_secs_f64() / done;
        let wanted = each * (f64::from(self.expected) - done).max(0.0);
        let in_budget = self.budget.saturating_sub(self.started.elapsed());
        let seconds = match self.ordered {
            Some(_) => wanted,
            None => wanted.min(in_budget.as_secs_f64()),
        };
        format!(" · {seconds:.0} s left")
    }
}
