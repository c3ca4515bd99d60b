//! What plots show of a record: figures of single slices and blocks, and times
//! of all blocks together. Nothing is concluded from them.

use crate::measure::histogram::Histogram;
use crate::measure::quantile::Quantile;
use crate::measure::share::share;
use crate::record::{CEILING, LoadRecord, Measured};
use crate::view::sums::Sums;
use crate::view::{BlockView, SubjectView};

/// One slice under one load, with its place among the others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SliceFigures<'a> {
    /// The number of its block.
    pub block: u32,
    /// The number of its round in that block, from zero.
    pub round: usize,
    /// Who was loaded.
    pub subject: &'a str,
    /// For how long this load had run in its block before this slice, whoever
    /// was loaded, in ns.
    pub before_ns: u64,
    /// How long the slice took, in ns.
    pub wall_ns: u64,
    /// Verified answers per second; `None` when there was no time to count them in.
    pub throughput_per_s: Option<f64>,
    /// Attempts that failed.
    pub failed: u64,
    /// Whether its round was disturbed from outside.
    pub is_disturbed: bool,
}

/// One subject under one load in one block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockFigures {
    /// The number of the block.
    pub block: u32,
    /// Verified answers per second; `None` when there was no load.
    pub throughput_per_s: Option<f64>,
    /// The subject's processor time for each whole answer, in µs; `None` when
    /// not readable.
    pub server_cpu_us_per_request: Option<f64>,
    /// The share of its processors that the subject used; `None` when not readable.
    pub server_busy: Option<f64>,
    /// The most memory of its processes that was seen in the block, under
    /// whichever load; `None` when not readable.
    pub rss_bytes_max: Option<u64>,
}

/// Response times of one subject under one load, all complete blocks together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResponseTimes {
    /// The times that were counted, shortest first.
    steps: Vec<CountedTime>,
}

/// A time that was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CountedTime {
    us: u64,
    /// How many were at most so long.
    below: u64,
    /// How many of these are no bounds.
    known: u64,
}

impl ResponseTimes {
    fn of(times: &Histogram, at_least: Option<&Histogram>) -> ResponseTimes {
        let (mut below, mut known) = (0, 0);
        let steps = times.steps().map(|(us, count)| {
            below += count;
            let bounds = at_least.map_or(0, |bounds| bounds.count_at_us(us));
            known += count.saturating_sub(bounds);
            CountedTime { us, below, known }
        });
        ResponseTimes {
            steps: steps.collect(),
        }
    }

    /// How many times there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.steps.last().map_or(0, |last| last.below)
    }

    /// The time that the share `q` (0 to 1) does not exceed, and whether it is
    /// only known as "at least"; `None` without times. The same as
    /// [`Quantile::of`], for those who ask for hundreds.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<Quantile> {
        let rank = ((q * self.count() as f64).ceil() as u64).clamp(1, self.count().max(1));
        let step = self.steps.partition_point(|step| step.below < rank);
        self.steps.get(step).map(|step| Quantile {
            us: step.us,
            at_least: step.known < rank,
        })
    }
}

/// Every slice of one load that loaded a subject in a complete block, in the
/// order in which they ran.
#[must_use]
pub fn slice_figures<'a>(record: &'a Measured, load: &'a LoadRecord) -> Vec<SliceFigures<'a>> {
    let mut all = Vec::new();
    for block in record.complete_blocks() {
        let mut before_ns = 0;
        let parts = block.loads.iter().filter(|part| part.load == load.name);
        for (round, of_round) in parts.flat_map(|part| &part.rounds).enumerate() {
            for slice in &of_round.slices {
                let start_ns = before_ns;
                before_ns += slice.wall_ns;
                // What the generator gets from a server that does nothing is of
                // another size.
                if slice.subject == CEILING {
                    continue;
                }
                all.push(SliceFigures {
                    block: block.index,
                    round,
                    subject: &slice.subject,
                    before_ns: start_ns,
                    wall_ns: slice.wall_ns,
                    throughput_per_s: Sums::from(slice).throughput(&load.settings),
                    failed: slice.outcomes.failed(),
                    is_disturbed: !of_round.disturbed.is_empty(),
                });
            }
        }
    }
    all
}

impl SubjectView<'_> {
    /// Figures of each complete block, in the order of the blocks.
    #[must_use]
    pub fn block_figures(&self) -> Vec<BlockFigures> {
        let cpus = self.study.settings.subject_cpus.len().max(1) as u64;
        let figures = |block: &BlockView| {
            let sums = &block.sums;
            let cpu = sums.server_cpu_ns.filter(|_| sums.slices > 0);
            BlockFigures {
                block: block.block.index,
                throughput_per_s: block.throughput(),
                server_cpu_us_per_request: cpu
                    .and_then(|cpu| share(cpu, sums.outcomes.completed()))
                    .map(|ns| ns / 1e3),
                server_busy: cpu.and_then(|cpu| share(cpu, sums.wall_ns * cpus)),
                rss_bytes_max: block.life().and_then(|life| life.rss_bytes_max),
            }
        };
        self.blocks.iter().map(figures).collect()
    }

    /// Its response times; `None` when none were counted.
    #[must_use]
    pub fn response_times(&self) -> Option<ResponseTimes> {
        let times = self.times(|all| &all.response)?;
        let at_least = self.times(|all| &all.response_at_least);
        Some(ResponseTimes::of(&times, at_least.as_ref()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn histogram<'a>(times: impl IntoIterator<Item = &'a u64>) -> Histogram {
        let mut histogram = Histogram::new();
        times
            .into_iter()
            .for_each(|us| histogram.record_ns(us * 1_000));
        histogram
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn many_quantiles_are_those_that_are_asked_for_one_by_one(
            known in prop::collection::vec(1_u64..1_000_000, 0..20),
            bounds in prop::collection::vec(1_u64..1_000_000, 0..6),
            q in 0.0_f64..=1.0,
        ) {
            // Method: any times, some of them bounds, and the quantile of the
            // histograms as the oracle.
            let times = histogram(known.iter().chain(&bounds));
            let bounds = histogram(&bounds);
            let all = ResponseTimes::of(&times, Some(&bounds));
            prop_assert_eq!(all.count(), times.count());
            prop_assert_eq!(all.quantile(q), Quantile::of(&times, Some(&bounds), q));
        }
    }
}
