//! One positive number for each subject and block: the value of a metric in the
//! blocks of a load.

use std::collections::BTreeMap;

use crate::judge::metric::Metric;
use crate::view::sums::Sums;
use crate::view::{BlockView, OfferView, Pick};
use abx_evidence::record::{BlockRecord, Measured};
use abx_evidence::{Histogram, Quantile, QuantileBracket, share};

/// One block's number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct BlockValue {
    pub(crate) amount: f64,
    pub(crate) known: Known,
}

/// What is known of the true number beside an amount.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Known {
    Exactly,
    /// It may be larger, up to this.
    UpTo(f64),
    /// It may be larger.
    AtLeast,
    /// It may be smaller.
    AtMost,
}

/// Which rounds of a block count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rounds {
    All,
    Undisturbed,
}

/// A metric's numbers: for each subject one in each block, in their order;
/// `None` where it has none.
#[derive(Debug, Default)]
pub(crate) struct Values<'a>(BTreeMap<&'a str, Vec<Option<BlockValue>>>);

impl<'a> Values<'a> {
    /// Those of one load.
    pub(crate) fn under(view: &OfferView<'a>, metric: Metric, rounds: Rounds) -> Values<'a> {
        let counts = |block: &&BlockView| metric != Metric::ColdStart || block.is_first();
        Values::each(view.subjects.iter().map(|subject| {
            let blocks = subject.blocks.iter().filter(counts);
            let numbers = blocks.map(|block| value(block, metric, rounds));
            (subject.subject, numbers.collect())
        }))
    }

    /// Those of one step of a scenario, by its number.
    pub(crate) fn of_step(view: &OfferView<'a>, metric: Metric, step: usize) -> Values<'a> {
        Values::each(view.subjects.iter().map(|subject| {
            let blocks = subject.blocks.iter();
            let numbers = blocks.map(|block| step_quantile(block, metric, step));
            (subject.subject, numbers.collect())
        }))
    }

    /// How long each start took.
    pub(crate) fn of_starts(study: &'a Measured) -> Values<'a> {
        Values::each(study.subjects.iter().map(|subject| {
            let ready = |block: &BlockRecord| block.subjects.get(&subject.name)?.ready_s;
            let mut failed = study.failed_starts();
            let has_failed = failed.any(|start| start.subject == subject.name);
            // A subject that is settled under every load is not started any more.
            let takes_part =
                |block: &&BlockRecord| has_failed || block.subjects.contains_key(&subject.name);
            let blocks = study.complete_blocks().filter(takes_part);
            let numbers = blocks.map(|block| ready(block).map(exact));
            (subject.name.as_str(), numbers.collect())
        }))
    }

    /// Those of each subject.
    pub(crate) fn each(
        numbers: impl Iterator<Item = (&'a str, Vec<Option<BlockValue>>)>,
    ) -> Values<'a> {
        Values(numbers.collect())
    }

    /// A subject's numbers.
    pub(crate) fn of(&self, subject: &str) -> &[Option<BlockValue>] {
        self.0.get(subject).map_or(&[], Vec::as_slice)
    }

    /// Whether both of a pair have a number above zero in every block.
    pub(crate) fn are_whole(&self, pair: [&str; 2]) -> bool {
        let is_there = |number: &Option<BlockValue>| {
            number.is_some_and(|block_value| block_value.amount > 0.0)
        };
        let is_whole = |name| {
            let numbers = self.of(name);
            !numbers.is_empty() && numbers.iter().all(is_there)
        };
        pair.into_iter().all(is_whole)
    }

    /// How many blocks there are.
    pub(crate) fn blocks(&self) -> usize {
        self.0.values().map(Vec::len).max().unwrap_or_default()
    }

    /// In how many blocks only this is known of a subject's number.
    pub(crate) fn count(&self, subject: &str, known: Known) -> usize {
        let numbers = self.of(subject).iter().flatten();
        numbers.filter(|number| number.known == known).count()
    }

    /// Whether the true number of a subject may be larger in some block.
    pub(crate) fn are_at_least(&self, subject: &str) -> bool {
        self.count(subject, Known::AtLeast) > 0
    }

    /// Whether the number of a subject is only known to lie between two ends in some block.
    pub(crate) fn is_bracketed(&self, subject: &str) -> bool {
        let mut numbers = self.of(subject).iter().flatten();
        numbers.any(|number| matches!(number.known, Known::UpTo(_)))
    }

    /// The logarithm of the first over the second in each block; infinite or
    /// not a number where one of them has none.
    pub(crate) fn log_ratios(&self, pair: [&str; 2]) -> Vec<f64> {
        self.logs_of(pair, |block_value, other| block_value.amount / other.amount)
    }

    /// The same at both ends of what the numbers may be: the lowest ratio in each block, and
    /// the highest. A number without an end counts as it is.
    pub(crate) fn log_ratio_ends(&self, pair: [&str; 2]) -> [Vec<f64>; 2] {
        [
            self.logs_of(pair, |block_value, other| {
                block_value.amount / other.highest()
            }),
            self.logs_of(pair, |block_value, other| {
                block_value.highest() / other.amount
            }),
        ]
    }

    fn logs_of(
        &self,
        [text, other]: [&str; 2],
        ratio: impl Fn(BlockValue, BlockValue) -> f64,
    ) -> Vec<f64> {
        let pairs = self.of(text).iter().zip(self.of(other));
        let log = |(block_value, other): (&Option<BlockValue>, &Option<BlockValue>)| {
            let both = block_value.zip(*other);
            both.map_or(f64::NAN, |(block_value, other)| {
                ratio(block_value, other).ln()
            })
        };
        pairs.map(log).collect()
    }
}

impl BlockValue {
    fn highest(self) -> f64 {
        match self.known {
            Known::UpTo(highest) => highest,
            Known::Exactly | Known::AtLeast | Known::AtMost => self.amount,
        }
    }
}

pub(crate) fn exact(amount: f64) -> BlockValue {
    BlockValue {
        amount,
        known: Known::Exactly,
    }
}

/// The value of a metric in one block.
fn value(block: &BlockView, metric: Metric, rounds: Rounds) -> Option<BlockValue> {
    let sums = match rounds {
        Rounds::All => &block.sums,
        Rounds::Undisturbed => &block.undisturbed,
    };
    let held = || block.readings()?.held;
    let amount = match metric {
        Metric::Throughput => sums.throughput(&block.load.settings),
        Metric::ServerCpu => share(sums.server_cpu_ns?, sums.all_completed()),
        Metric::WireBytes => share(sums.bytes, sums.outcomes.completed()),
        Metric::Memory => memory(block),
        Metric::ServerUserCpu => share(sums.server_user_ns?, sums.all_completed()),
        Metric::ServerSystemCpu => share(sums.server_system_ns?, sums.all_completed()),
        Metric::PageFaults => share(sums.server_page_faults?, sums.all_completed()),
        Metric::ContextSwitches => share(sums.server_switches?, sums.all_completed()),
        Metric::HandshakeP50 => half(block, |times| &times.handshake),
        Metric::BroadcastFirstP50 => half(block, |times| &times.first_listener),
        Metric::BroadcastMedianP50 => half(block, |times| &times.median_listener),
        Metric::MemoryPerConnection => held()?.memory_per_connection(),
        Metric::ConnectRate => held()?.connect_rate_per_s(),
        Metric::ReadyTime => block.life()?.ready_s,
        // Of several loads together; see `RateGrid::values`.
        Metric::Capacity => None,
        // Of faults; see `recoveries`.
        Metric::Recovery => None,
        // Of a step; see `Values::of_step`.
        Metric::StepP50 | Metric::StepP99 => None,
        Metric::ColdStart => cold_start(block),
        Metric::ResponseP50 | Metric::ResponseP90 | Metric::ResponseP99 | Metric::ResponseP999 => {
            return quantile(block, metric);
        }
    };
    amount.map(exact)
}

/// Half of these took at most so long.
fn half(block: &BlockView, pick: Pick) -> Option<f64> {
    let times = pick(block.histograms()?);
    if times.count() < Metric::ResponseP50.requests_min() {
        return None;
    }
    let quantile = Quantile::of(times, None, 0.5)?;
    Some(quantile.us.max(1) as f64)
}

/// Times are kept for a block as a whole, so disturbed rounds are in them.
fn quantile(block: &BlockView, metric: Metric) -> Option<BlockValue> {
    let times = block.histograms()?;
    of_times([&times.response, &times.response_at_least], metric)
}

/// The same of one step.
fn step_quantile(block: &BlockView, metric: Metric, step: usize) -> Option<BlockValue> {
    let step = block.histograms()?.steps.get(step)?;
    of_times([&step.response, &step.response_at_least], metric)
}

/// A quantile of these times, of which some are lower bounds.
fn of_times([times, at_least]: [&Histogram; 2], metric: Metric) -> Option<BlockValue> {
    if times.count() < metric.requests_min() {
        return None;
    }
    let bounds = (!at_least.is_empty()).then_some(at_least);
    let quantile_bracket = QuantileBracket::of(times, bounds, metric.quantile()?)?;
    // Below the resolution of the histogram all is one.
    let amount = quantile_bracket.low_us.max(1) as f64;
    let highest = quantile_bracket.high_us.map(|us| us.max(1) as f64);
    let known = match highest {
        None => Known::AtLeast,
        Some(highest) if highest > amount => Known::UpTo(highest),
        Some(_) => Known::Exactly,
    };
    Some(BlockValue { amount, known })
}

/// Pages that processes share are counted once, where that can be read.
fn memory(block: &BlockView) -> Option<f64> {
    let shared_once = block.readings().and_then(|side| side.pss_bytes);
    let seen = || block.life().and_then(|life| life.rss_bytes_max);
    Some(shared_once.or_else(seen)? as f64)
}

fn cold_start(block: &BlockView) -> Option<f64> {
    // A server that was running already was not started for this.
    block.life()?.ready_s?;
    let cold = Sums::from(block.readings()?.warm_up.as_ref()?);
    let cold = cold.throughput(&block.load.settings)?;
    let steady = block.throughput()?;
    (steady > 0.0).then_some(cold / steady)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_reach_as_far_as_the_numbers_may() {
        // Method: by hand: 2 to 4 over 1 to 1.6, then exact numbers, then one without an end.
        let value = |amount, known| Some(BlockValue { amount, known });
        let values = Values::each(
            [
                (
                    "a",
                    vec![
                        value(2.0, Known::UpTo(4.0)),
                        exact_value(3.0),
                        value(5.0, Known::AtLeast),
                    ],
                ),
                (
                    "b",
                    vec![
                        value(1.0, Known::UpTo(1.6)),
                        exact_value(2.0),
                        exact_value(1.0),
                    ],
                ),
            ]
            .into_iter(),
        );
        let ratios = |logs: Vec<f64>| -> Vec<f64> { logs.into_iter().map(f64::exp).collect() };
        let is_near = |found_values: Vec<f64>, wanted: [f64; 3]| {
            found_values
                .iter()
                .zip(wanted)
                .all(|(value, other)| (value / other - 1.0).abs() < 1e-9)
        };
        let [low, high] = values.log_ratio_ends(["a", "b"]);
        assert!(is_near(ratios(low), [1.25, 1.5, 5.0]));
        assert!(is_near(ratios(high), [4.0, 1.5, 5.0]));
        assert!(is_near(
            ratios(values.log_ratios(["a", "b"])),
            [2.0, 1.5, 5.0]
        ));
    }

    fn exact_value(amount: f64) -> Option<BlockValue> {
        Some(exact(amount))
    }

    #[test]
    fn a_pair_is_whole_with_numbers_above_zero_in_every_block() {
        // Method: two blocks of a subject, in the second of which it has a number, zero, or
        // none; and no block.
        let are_whole = |numbers: &[Option<f64>]| {
            let mine = |name| {
                (
                    name,
                    numbers.iter().map(|number| number.map(exact)).collect(),
                )
            };
            Values::each(["a", "b"].map(mine).into_iter()).are_whole(["a", "b"])
        };
        assert!(are_whole(&[Some(1.0), Some(0.5)]));
        assert!(!are_whole(&[Some(1.0), Some(0.0)]));
        assert!(!are_whole(&[Some(1.0), None]));
        assert!(!are_whole(&[]));
    }
}
