//! The values of a metric: one positive number per subject and block.

use std::collections::BTreeMap;

use crate::judge::metric::Metric;
use crate::view::sums::Sums;
use crate::view::{BlockView, OfferView, Pick};
use abx_evidence::record::{BlockRecord, Measured};
use abx_evidence::{Histogram, Quantile, QuantileBracket, share};

/// The value of a metric in one block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct BlockValue {
    pub(crate) amount: f64,
    pub(crate) known: Known,
}

/// The relation of the true value to the measured amount.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Known {
    Exactly,
    /// The true value may be larger, up to this.
    UpTo(f64),
    /// The true value may be larger, without a limit.
    AtLeast,
    /// The true value may be smaller.
    AtMost,
}

/// Which rounds of a block count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rounds {
    All,
    Undisturbed,
}

/// The values of a metric by subject: one per block, in the order of the blocks; `None` for a
/// block without one.
#[derive(Debug, Default)]
pub(crate) struct Values<'a>(BTreeMap<&'a str, Vec<Option<BlockValue>>>);

impl<'a> Values<'a> {
    /// The values under one load.
    pub(crate) fn under(view: &OfferView<'a>, metric: Metric, rounds: Rounds) -> Values<'a> {
        let counts = |block: &&BlockView| metric != Metric::ColdStart || block.is_first();
        Values::by_subject(view.subjects.iter().map(|subject| {
            let blocks = subject.blocks.iter().filter(counts);
            let values = blocks.map(|block| value(block, metric, rounds));
            (subject.subject, values.collect())
        }))
    }

    /// The values of one step of a scenario, by its index.
    pub(crate) fn of_step(view: &OfferView<'a>, metric: Metric, step: usize) -> Values<'a> {
        Values::by_subject(view.subjects.iter().map(|subject| {
            let blocks = subject.blocks.iter();
            let values = blocks.map(|block| step_quantile(block, metric, step));
            (subject.subject, values.collect())
        }))
    }

    /// The time that each start took, in seconds.
    pub(crate) fn of_starts(study: &'a Measured) -> Values<'a> {
        Values::by_subject(study.subjects.iter().map(|subject| {
            let ready = |block: &BlockRecord| block.subjects.get(&subject.name)?.ready_s;
            let mut failed = study.failed_starts();
            let has_failed = failed.any(|start| start.subject == subject.name);
            // A subject that is settled under every load is not started any more.
            let takes_part =
                |block: &&BlockRecord| has_failed || block.subjects.contains_key(&subject.name);
            let blocks = study.complete_blocks().filter(takes_part);
            let values = blocks.map(|block| ready(block).map(exact));
            (subject.name.as_str(), values.collect())
        }))
    }

    pub(crate) fn by_subject(
        values: impl Iterator<Item = (&'a str, Vec<Option<BlockValue>>)>,
    ) -> Values<'a> {
        Values(values.collect())
    }

    /// A subject's values.
    pub(crate) fn of(&self, subject: &str) -> &[Option<BlockValue>] {
        self.0.get(subject).map_or(&[], Vec::as_slice)
    }

    /// Whether both subjects of a pair have a value above zero in every block.
    pub(crate) fn are_complete(&self, pair: [&str; 2]) -> bool {
        let is_positive = |value: &Option<BlockValue>| value.is_some_and(BlockValue::is_positive);
        pair.into_iter().all(|name| {
            let values = self.of(name);
            !values.is_empty() && values.iter().all(is_positive)
        })
    }

    /// The number of blocks.
    pub(crate) fn blocks(&self) -> usize {
        self.0.values().map(Vec::len).max().unwrap_or_default()
    }

    /// The number of blocks in which exactly this is known of a subject's value.
    pub(crate) fn count(&self, subject: &str, known: Known) -> usize {
        let values = self.of(subject).iter().flatten();
        values.filter(|value| value.known == known).count()
    }

    /// Whether a subject's true value may be larger in some block, without a limit.
    pub(crate) fn are_at_least(&self, subject: &str) -> bool {
        self.count(subject, Known::AtLeast) > 0
    }

    /// Whether a subject's value is only known to lie between two bounds in some block.
    pub(crate) fn is_bracketed(&self, subject: &str) -> bool {
        let mut values = self.of(subject).iter().flatten();
        values.any(|value| matches!(value.known, Known::UpTo(_)))
    }

    /// `ln(first / second)` in each block; infinite or not a number if one of them has no value.
    pub(crate) fn log_ratios(&self, pair: [&str; 2]) -> Vec<f64> {
        self.logs_of(pair, |value, baseline| value.amount / baseline.amount)
    }

    /// The lowest and the highest log ratio that the values in each block permit. A value without
    /// an upper bound counts as measured.
    pub(crate) fn log_ratio_bounds(&self, pair: [&str; 2]) -> [Vec<f64>; 2] {
        [
            self.logs_of(pair, |value, baseline| value.amount / baseline.highest()),
            self.logs_of(pair, |value, baseline| value.highest() / baseline.amount),
        ]
    }

    fn logs_of(
        &self,
        [subject, baseline]: [&str; 2],
        ratio: impl Fn(BlockValue, BlockValue) -> f64,
    ) -> Vec<f64> {
        let blocks = self.of(subject).iter().zip(self.of(baseline));
        let log = |(value, baseline): (&Option<BlockValue>, &Option<BlockValue>)| {
            let both = value.zip(*baseline);
            both.map_or(f64::NAN, |(value, baseline)| ratio(value, baseline).ln())
        };
        blocks.map(log).collect()
    }
}

impl BlockValue {
    pub(crate) fn is_positive(self) -> bool {
        self.amount > 0.0
    }

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
        Metric::HandshakeP50 => median_us(block, |times| &times.handshake),
        Metric::BroadcastFirstP50 => median_us(block, |times| &times.first_listener),
        Metric::BroadcastMedianP50 => median_us(block, |times| &times.median_listener),
        Metric::MemoryPerConnection => held()?.memory_per_connection(),
        Metric::ConnectRate => held()?.connect_rate_per_s(),
        Metric::ReadyTime => block.life()?.ready_s,
        // Needs several loads; see `RateGrid::values`.
        Metric::Capacity => None,
        // Needs a fault; see `recoveries`.
        Metric::Recovery => None,
        // Needs a step; see `Values::of_step`.
        Metric::StepP50 | Metric::StepP99 => None,
        Metric::ColdStart => cold_start(block),
        Metric::ResponseP50 | Metric::ResponseP90 | Metric::ResponseP99 | Metric::ResponseP999 => {
            return quantile(block, metric);
        }
    };
    amount.map(exact)
}

fn median_us(block: &BlockView, pick: Pick) -> Option<f64> {
    let times = pick(block.histograms()?);
    if times.count() < Metric::ResponseP50.requests_min() {
        return None;
    }
    let quantile = Quantile::of(times, None, 0.5)?;
    Some(quantile.us.max(1) as f64)
}

/// Includes disturbed rounds, because a record has the times of a whole block together.
fn quantile(block: &BlockView, metric: Metric) -> Option<BlockValue> {
    let times = block.histograms()?;
    bounded_quantile([&times.response, &times.response_at_least], metric)
}

fn step_quantile(block: &BlockView, metric: Metric, step: usize) -> Option<BlockValue> {
    let step = block.histograms()?.steps.get(step)?;
    bounded_quantile([&step.response, &step.response_at_least], metric)
}

/// A quantile of `times`, of which `at_least` are lower bounds.
fn bounded_quantile([times, at_least]: [&Histogram; 2], metric: Metric) -> Option<BlockValue> {
    if times.count() < metric.requests_min() {
        return None;
    }
    let bounds = (!at_least.is_empty()).then_some(at_least);
    let bracket = QuantileBracket::of(times, bounds, metric.quantile()?)?;
    // A histogram does not resolve times below 1 µs.
    let amount = bracket.low_us.max(1) as f64;
    let highest = bracket.high_us.map(|us| us.max(1) as f64);
    let known = match highest {
        None => Known::AtLeast,
        Some(highest) if highest > amount => Known::UpTo(highest),
        Some(_) => Known::Exactly,
    };
    Some(BlockValue { amount, known })
}

/// Counts pages that processes share once, if the system reports that.
fn memory(block: &BlockView) -> Option<f64> {
    let pss = block.readings().and_then(|readings| readings.pss_bytes);
    let rss = || block.life().and_then(|life| life.rss_bytes_max);
    Some(pss.or_else(rss)? as f64)
}

fn cold_start(block: &BlockView) -> Option<f64> {
    // A server that was already running did not start cold.
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
    fn ratios_span_the_bounds_of_both_values() {
        // Method: by hand: 2 to 4 over 1 to 1.6, exact values, and a value without an upper bound.
        let value = |amount, known| Some(BlockValue { amount, known });
        let values = Values::by_subject(
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
        let is_near = |ratios: Vec<f64>, expected: [f64; 3]| {
            ratios
                .iter()
                .zip(expected)
                .all(|(ratio, expected)| (ratio / expected - 1.0).abs() < 1e-9)
        };
        let [low, high] = values.log_ratio_bounds(["a", "b"]);
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
    fn a_pair_is_complete_with_positive_values_in_every_block() {
        // Method: two blocks, the second with a value, with zero and without a value; no block.
        let are_complete = |amounts: &[Option<f64>]| {
            let values = |name| {
                let values = amounts.iter().map(|amount| amount.map(exact));
                (name, values.collect())
            };
            Values::by_subject(["a", "b"].map(values).into_iter()).are_complete(["a", "b"])
        };
        assert!(are_complete(&[Some(1.0), Some(0.5)]));
        assert!(!are_complete(&[Some(1.0), Some(0.0)]));
        assert!(!are_complete(&[Some(1.0), None]));
        assert!(!are_complete(&[]));
    }
}
