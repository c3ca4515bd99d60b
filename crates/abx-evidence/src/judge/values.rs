//! One positive number for each subject and block: what a metric says of the
//! blocks of a load.

use std::collections::BTreeMap;

use crate::judge::metric::Metric;
use crate::measure::held::Held;
use crate::measure::quantile::Quantile;
use crate::measure::share::share;
use crate::record::{BlockLoad, BlockRecord, LoadRecord, Measured};
use crate::view::summary::{Pick, Sums};

/// One block's number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Value {
    pub(crate) amount: f64,
    /// Whether the true one may be larger.
    pub(crate) at_least: bool,
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
pub(crate) struct Values<'a>(BTreeMap<&'a str, Vec<Option<Value>>>);

impl<'a> Values<'a> {
    /// Those of one load.
    pub(crate) fn under(
        record: &'a Measured,
        load: &LoadRecord,
        metric: Metric,
        rounds: Rounds,
    ) -> Values<'a> {
        let blocks: Vec<(&BlockRecord, &BlockLoad)> = record
            .complete_blocks()
            .flat_map(|block| block.loads.iter().map(move |part| (block, part)))
            .filter(|(_, part)| part.load == load.name)
            .filter(|(block, part)| metric != Metric::ColdStart || is_first(block, part))
            .collect();
        Values::each(record, |subject| {
            let number = |(block, part): &(&BlockRecord, &BlockLoad)| {
                let spot = Spot {
                    load,
                    block,
                    part,
                    subject,
                };
                spot.value(metric, rounds)
            };
            blocks.iter().map(number).collect()
        })
    }

    /// How long each start took.
    pub(crate) fn of_starts(record: &'a Measured) -> Values<'a> {
        Values::each(record, |subject| {
            let ready = |block: &BlockRecord| block.subjects.get(subject)?.ready_s;
            let blocks = record.complete_blocks();
            blocks.map(|block| ready(block).map(exact)).collect()
        })
    }

    /// Those that a function tells of each subject.
    pub(crate) fn each(
        record: &'a Measured,
        numbers: impl Fn(&str) -> Vec<Option<Value>>,
    ) -> Values<'a> {
        let names = record.subjects.iter().map(|subject| subject.name.as_str());
        Values(names.map(|name| (name, numbers(name))).collect())
    }

    /// A subject's numbers.
    pub(crate) fn of(&self, subject: &str) -> &[Option<Value>] {
        self.0.get(subject).map_or(&[], Vec::as_slice)
    }

    /// Whether both of a pair have a number above zero in every block.
    pub(crate) fn are_whole(&self, pair: [&str; 2]) -> bool {
        let is_there = |number: &Option<Value>| number.is_some_and(|one| one.amount > 0.0);
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

    /// Whether the true number of a subject may be larger in some block.
    pub(crate) fn are_at_least(&self, subject: &str) -> bool {
        let mut numbers = self.of(subject).iter().flatten();
        numbers.any(|number| number.at_least)
    }

    /// The logarithm of the first over the second in each block; infinite or
    /// not a number where one of them has none.
    pub(crate) fn log_ratios(&self, [one, other]: [&str; 2]) -> Vec<f64> {
        let pairs = self.of(one).iter().zip(self.of(other));
        let log = |(one, other): (&Option<Value>, &Option<Value>)| {
            let both = one.zip(*other);
            both.map_or(f64::NAN, |(one, other)| (one.amount / other.amount).ln())
        };
        pairs.map(log).collect()
    }
}

fn exact(amount: f64) -> Value {
    Value {
        amount,
        at_least: false,
    }
}

/// One subject in one load of one block.
#[derive(Clone, Copy)]
struct Spot<'a> {
    load: &'a LoadRecord,
    block: &'a BlockRecord,
    part: &'a BlockLoad,
    subject: &'a str,
}

impl Spot<'_> {
    fn value(self, metric: Metric, rounds: Rounds) -> Option<Value> {
        let life = self.block.subjects.get(self.subject);
        let amount = match metric {
            Metric::Throughput => self.sums(rounds).throughput(&self.load.settings),
            Metric::ServerCpu => {
                let sums = self.sums(rounds);
                share(sums.server_cpu_ns?, sums.all_completed())
            }
            Metric::WireBytes => {
                let sums = self.sums(rounds);
                share(sums.bytes, sums.outcomes.completed())
            }
            Metric::Memory => self.memory(),
            Metric::ContextSwitches => {
                let sums = self.sums(rounds);
                share(sums.server_switches?, sums.all_completed())
            }
            Metric::BroadcastFirstP50 => self.listener(|times| &times.first_listener),
            Metric::BroadcastMedianP50 => self.listener(|times| &times.median_listener),
            Metric::MemoryPerConnection => self.held()?.memory_per_connection(),
            Metric::ConnectRate => self.held()?.connect_rate_per_s(),
            Metric::ReadyTime => life?.ready_s,
            // Of several loads together; see `Grid::values`.
            Metric::Capacity => None,
            Metric::ColdStart => self.cold_start(),
            Metric::ResponseP50
            | Metric::ResponseP90
            | Metric::ResponseP99
            | Metric::ResponseP999 => return self.quantile(metric),
        };
        amount.map(exact)
    }

    /// Half of the broadcasts took one listener at most so long.
    fn listener(self, pick: Pick) -> Option<f64> {
        let times = pick(self.part.histograms.get(self.subject)?);
        if times.count() < Metric::ResponseP50.requests_min() {
            return None;
        }
        let found = Quantile::of(times, None, 0.5)?;
        Some(found.us.max(1) as f64)
    }

    fn held(self) -> Option<Held> {
        self.part.sides.get(self.subject)?.held
    }

    fn sums(self, rounds: Rounds) -> Sums {
        let slices = self
            .part
            .rounds
            .iter()
            .filter(|round| rounds == Rounds::All || round.disturbed.is_empty())
            .flat_map(|round| &round.slices)
            .filter(|slice| slice.subject == self.subject);
        Sums::of(slices)
    }

    /// Times are kept for a block as a whole, so disturbed rounds are in them.
    fn quantile(self, metric: Metric) -> Option<Value> {
        let times = self.part.histograms.get(self.subject)?;
        if times.response.count() < metric.requests_min() {
            return None;
        }
        let bounds = (!times.response_at_least.is_empty()).then_some(&times.response_at_least);
        let found = Quantile::of(&times.response, bounds, metric.quantile()?)?;
        Some(Value {
            // Below the resolution of the histogram all is one.
            amount: found.us.max(1) as f64,
            at_least: found.at_least,
        })
    }

    /// Pages that processes share are counted once, where that can be read.
    fn memory(self) -> Option<f64> {
        let life = self.block.subjects.get(self.subject);
        let side = self.part.sides.get(self.subject);
        let shared_once = side.and_then(|side| side.pss_bytes);
        let bytes = shared_once.or(life.and_then(|life| life.rss_bytes_max))?;
        Some(bytes as f64)
    }

    fn cold_start(self) -> Option<f64> {
        // A server that was running already was not started for this.
        self.block.subjects.get(self.subject)?.ready_s?;
        let cold = self.part.sides.get(self.subject)?.warm_up.as_ref()?;
        let cold = Sums::of(std::iter::once(cold)).throughput(&self.load.settings)?;
        let steady = self.sums(Rounds::All).throughput(&self.load.settings)?;
        (steady > 0.0).then_some(cold / steady)
    }
}

/// Whether a load was the first of its block: only that one meets subjects that
/// nobody has loaded yet.
fn is_first(block: &BlockRecord, part: &BlockLoad) -> bool {
    block
        .loads
        .first()
        .is_some_and(|first| first.load == part.load)
}
