//! The data of plots: figures of single slices and blocks, and times of all blocks
//! together. No conclusion rests on them.

use std::collections::BTreeMap;

use crate::view::sums::Sums;
use crate::view::{BlockView, SubjectView};
use abx_evidence::record::{CEILING, FaultRecord, LoadRecord, Measured};
use abx_evidence::{Histogram, Quantile, median, share};

/// One slice under one load, with its place among the others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SliceFigures<'a> {
    pub block: u32,
    /// The number of its round in that block, from zero.
    pub round: usize,
    pub subject: &'a str,
    /// The time for which this load had run in its block before this slice, with any
    /// subject, in ns.
    pub before_ns: u64,
    /// How long the slice took, in ns.
    pub wall_ns: u64,
    /// Verified responses per second; `None` when there was no time to count them in.
    pub throughput_per_s: Option<f64>,
    pub failed: u64,
    /// Whether its round was disturbed from outside.
    pub is_disturbed: bool,
}

/// One subject under one load in one block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockFigures {
    pub block: u32,
    /// Verified responses per second; `None` when there was no load.
    pub throughput_per_s: Option<f64>,
    /// The subject's CPU time per complete response, in µs; `None` if not readable.
    pub server_cpu_us_per_request: Option<f64>,
    /// The share of its CPUs that the subject used; `None` if not readable.
    pub server_busy: Option<f64>,
    /// The most memory of its processes in the block, under any load; `None` if not
    /// readable.
    pub rss_bytes_max: Option<u64>,
}

/// Response times of one subject under one load, all complete blocks together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResponseTimes {
    /// The distinct times, the shortest first.
    steps: Vec<CountedTime>,
}

/// The requests of one subject in an interval around a fault, the median over blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FaultMoment {
    /// From the fault to the start of this interval of due times; negative before the fault.
    pub since_ns: i64,
    /// The share of the requests due that had a correct response in time.
    pub in_time: f64,
    /// The share that had no correct response.
    pub failed: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CountedTime {
    /// The shortest time that the histogram does not distinguish from `us`.
    from_us: u64,
    us: u64,
    /// The number of times up to `us`.
    below: u64,
    /// The number of these that are exact and not lower bounds.
    known: u64,
}

impl ResponseTimes {
    pub(crate) fn of(times: &Histogram, at_least: Option<&Histogram>) -> ResponseTimes {
        let (mut below, mut known) = (0, 0);
        let steps = times.spans().map(|([from_us, us], count)| {
            below += count;
            let bounds = at_least.map_or(0, |bounds| bounds.count_at_us(us));
            known += count.saturating_sub(bounds);
            CountedTime {
                from_us,
                us,
                below,
                known,
            }
        });
        ResponseTimes {
            steps: steps.collect(),
        }
    }

    /// The number of times.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.steps.last().map_or(0, |last| last.below)
    }

    /// The time that the share `q` (0 to 1) does not exceed, and whether it is
    /// only known as "at least"; `None` without times. Equal to
    /// [`Quantile::of`], but fast enough for callers that need hundreds.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<Quantile> {
        let rank = ((q * self.count() as f64).ceil() as u64).clamp(1, self.count().max(1));
        let step = self.steps.partition_point(|step| step.below < rank);
        self.steps.get(step).map(|step| Quantile {
            us: step.us,
            at_least: step.known < rank,
        })
    }

    /// The number of times in each of equal parts of a logarithmic axis, from the shortest to
    /// the longest. A part is a tenth of its times wide, unless there would be too few or too many
    /// parts, and at least a microsecond. A counted time is spread evenly over the microseconds
    /// that it stands for.
    #[must_use]
    pub fn bins(&self) -> Vec<TimeBin> {
        let ends = self.steps.first().zip(self.steps.last());
        let Some((first, last)) = ends else {
            return Vec::new();
        };
        let [low, high] = [first.from_us.max(1) as f64 - 0.5, last.us as f64 + 0.5];
        let count = ((high / low).ln() / BIN_RATIO.ln()).ceil() as usize;
        let count = count.clamp(BINS_MIN, BINS_MAX);
        let ratio = (high / low).powf(1.0 / count as f64);
        let mut bins: Vec<TimeBin> = Vec::new();
        let mut from_us = low;
        while from_us < high {
            // Times have no fractions of a microsecond.
            let next = (from_us * ratio).max(from_us + 1.0);
            let is_last = next >= high * (1.0 - 1e-9);
            let to_us = if is_last { high } else { next };
            bins.push(TimeBin {
                from_us,
                to_us,
                count: 0.0,
            });
            from_us = to_us;
        }
        let mut before = 0;
        for step in &self.steps {
            let times = (step.below - before) as f64;
            before = step.below;
            let [from, to] = [step.from_us.max(1) as f64 - 0.5, step.us as f64 + 0.5];
            let begins = bins.partition_point(|bin| bin.to_us <= from);
            for bin in &mut bins[begins..] {
                let width = to.min(bin.to_us) - from.max(bin.from_us);
                if width <= 0.0 {
                    break;
                }
                bin.count += times * width / (to - from);
            }
        }
        bins
    }
}

/// A part of a histogram.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeBin {
    /// Its start, in µs.
    pub from_us: f64,
    pub to_us: f64,
    /// The number of times in it.
    pub count: f64,
}

/// The ratio of the end of a bin to its start, unless this gives fewer or more bins than the
/// limits below.
const BIN_RATIO: f64 = 1.1;
const BINS_MIN: usize = 20;
const BINS_MAX: usize = 80;

/// The course of a fault, in intervals of so many ns. Intervals in which no request was due are
/// left out.
#[must_use]
pub fn fault_course(
    study: &Measured,
    fault: &FaultRecord,
    subject: &str,
    interval_ns: u64,
) -> Vec<FaultMoment> {
    let interval_ns = i64::try_from(interval_ns.max(1)).unwrap_or(i64::MAX);
    let slices = study.complete_blocks().flat_map(|block| &block.faults);
    let slices = slices.filter(|slice| slice.fault == fault.name && slice.subject == subject);
    let mut shares: BTreeMap<i64, [Vec<f64>; 2]> = BTreeMap::new();
    for slice in slices {
        let Some(struck_ns) = slice.struck_ns else {
            continue;
        };
        let timeline = &slice.timeline;
        let mut sums: BTreeMap<i64, [u64; 3]> = BTreeMap::new();
        let counts = timeline.due.iter();
        let counts = counts.zip(&timeline.failed).zip(&timeline.delayed);
        for (bucket, ((due, failed), delayed)) in (0_u64..).zip(counts) {
            let middle_ns = bucket
                .saturating_mul(timeline.bucket_ns)
                .saturating_add(timeline.bucket_ns / 2);
            let since_ns = middle_ns as i64 - struck_ns as i64;
            let sum = sums.entry(since_ns.div_euclid(interval_ns)).or_default();
            for (sum, more) in sum.iter_mut().zip([due, failed, delayed]) {
                *sum += u64::from(*more);
            }
        }
        for (interval, [due, failed, delayed]) in sums {
            let in_time = due.saturating_sub(failed).saturating_sub(delayed);
            let parts = [in_time, failed].map(|part| share(part, due));
            if let [Some(in_time), Some(failed)] = parts {
                let values = shares.entry(interval).or_default();
                values[0].push(in_time);
                values[1].push(failed);
            }
        }
    }
    let moment = |(interval, [in_time, failed]): (i64, [Vec<f64>; 2])| {
        Some(FaultMoment {
            since_ns: interval * interval_ns,
            in_time: median(in_time)?,
            failed: median(failed)?,
        })
    };
    shares.into_iter().filter_map(moment).collect()
}

/// Every slice of one load that loaded a subject in a complete block, in the
/// order in which they ran.
#[must_use]
pub fn slice_figures<'a>(record: &'a Measured, load: &'a LoadRecord) -> Vec<SliceFigures<'a>> {
    let mut figures = Vec::new();
    for block in record.complete_blocks() {
        let mut before_ns = 0;
        let parts = block.loads.iter().filter(|part| part.load == load.name);
        for (round, of_round) in parts.flat_map(|part| &part.rounds).enumerate() {
            for slice in &of_round.slices {
                let start_ns = before_ns;
                before_ns = slice.wall_ns.saturating_add(before_ns);
                // The throughput of a server that does nothing has another scale.
                if slice.subject == CEILING {
                    continue;
                }
                figures.push(SliceFigures {
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
    figures
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
                    .and_then(|cpu| share(cpu, sums.all_completed()))
                    .map(|ns| ns / 1e3),
                server_busy: cpu.and_then(|cpu| share(cpu, sums.wall_ns.saturating_mul(cpus))),
                rss_bytes_max: block.life().and_then(|life| life.rss_bytes_max),
            }
        };
        self.blocks.iter().map(figures).collect()
    }

    /// Its response times; `None` when none were counted.
    #[must_use]
    pub fn response_times(&self) -> Option<ResponseTimes> {
        let times = self.times(|histograms| &histograms.response)?;
        let at_least = self.times(|histograms| &histograms.response_at_least);
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
        fn quantiles_equal_those_of_the_histogram(
            known in prop::collection::vec(1_u64..1_000_000, 0..20),
            bounds in prop::collection::vec(1_u64..1_000_000, 0..6),
            q in 0.0_f64..=1.0,
        ) {
            // Method: any times, some of them bounds, and the quantile of the
            // histograms as the oracle.
            let times = histogram(known.iter().chain(&bounds));
            let bounds = histogram(&bounds);
            let response_times = ResponseTimes::of(&times, Some(&bounds));
            prop_assert_eq!(response_times.count(), times.count());
            prop_assert_eq!(response_times.quantile(q), Quantile::of(&times, Some(&bounds), q));
        }

        #[test]
        fn bins_have_every_time_in_its_place(
            known in prop::collection::vec(1_u64..10_000_000, 1..40),
        ) {
            // Method: any times. Bins have no gaps and contain all times. Up to the end of each
            // bin there are as many as below it, except for the times that the end cuts.
            let times = histogram(&known);
            let bins = ResponseTimes::of(&times, None).bins();
            let gaps = bins.windows(2).filter(|two| (two[0].to_us - two[1].from_us).abs() > 1e-6);
            prop_assert_eq!(gaps.count(), 0);
            let mut sum = 0.0;
            for bin in &bins {
                sum += bin.count;
                let below = |slack: f64| {
                    let end = bin.to_us * (1.0 + slack) + slack.signum();
                    known.iter().filter(|time| (**time as f64) < end).count() as f64
                };
                let within = below(-0.002) - 1e-6..=below(0.002) + 1e-6;
                prop_assert!(within.contains(&sum), "{sum} {within:?} {bin:?}");
            }
            prop_assert!((sum - known.len() as f64).abs() < 1e-6, "{sum}");
        }
    }
}
