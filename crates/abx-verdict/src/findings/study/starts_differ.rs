use crate::findings::prelude::*;
use crate::view::BlockView;
use abx_evidence::median;
use abx_stats::series::two_groups::TwoGroups;

rule! {
    in Load |load| by_subject(load.view);
    StartsDiffer [Note]
        "the starts of a subject fall into two groups: some serve much less than the others, or \
         use more CPU time per response",
        "measure more blocks (`--blocks 24`) so that both groups are represented, and find out \
         with `--why` what differs from start to start";
}

/// The largest share of a difference between blocks that the other subjects may have too: a
/// common difference is one of the machine.
const SHARED_MAX: f64 = 0.25;

fn by_subject<'a>(view: &'a OfferView) -> impl Iterator<Item = Finding> + 'a {
    view.subjects.iter().filter_map(|subject| {
        let starts = differing_starts(view, subject)?;
        Some(finding(starts.message(subject.subject)).about(subject.subject))
    })
}

/// The starts of a subject, in two groups.
pub(crate) struct DifferingStarts {
    /// The indexes of the smaller group among the subject's blocks. Of two groups of the same size,
    /// it is the worse one.
    pub(crate) few: Vec<usize>,
    pub(crate) others: Vec<usize>,
    /// The mean log figures of both groups.
    levels: [f64; 2],
    figure: &'static BlockFigure,
}

/// The groups into which the starts of a subject fall, if abx starts it, by throughput or else
/// by CPU time per response; `None` for levels within the margin.
///
/// Method: the largest gap of the blocks' logarithms (docs/explain/statistics/blocks.md,
/// "Starts that differ").
pub(crate) fn differing_starts(view: &OfferView, subject: &SubjectView) -> Option<DifferingStarts> {
    let mut records = view.study.subjects.iter();
    let is_subject = |record: &&SubjectRecord| record.name == subject.subject;
    records.find(is_subject).filter(|record| record.is_kept())?;
    let is_saturating = view.load.settings.arrivals.is_saturating();
    let mut figures = is_saturating
        .then_some(&THROUGHPUT)
        .into_iter()
        .chain([&CPU_TIME]);
    figures.find_map(|figure| figure.groups(view, subject))
}

impl DifferingStarts {
    fn message(&self, name: &str) -> String {
        let [level, usual] = self.levels;
        let BlockFigure {
            verb,
            what,
            unit,
            digits,
            ..
        } = *self.figure;
        format!(
            "{} of {} starts of {name} {verb} {:.2} times as much{what} as the other {} \
             ({:.digits$} instead of {:.digits$} {unit})",
            self.few.len(),
            self.few.len() + self.others.len(),
            (level - usual).exp(),
            self.others.len(),
            level.exp(),
            usual.exp(),
        )
    }
}

/// A figure by which blocks are grouped.
struct BlockFigure {
    of: fn(&BlockView) -> Option<f64>,
    /// The verb for that figure, as in "served 0.25 times as much".
    verb: &'static str,
    what: &'static str,
    unit: &'static str,
    /// Of two groups of the same size, the worse one is named.
    is_cost: bool,
    digits: usize,
}

static THROUGHPUT: BlockFigure = BlockFigure {
    of: |block| block.throughput(),
    verb: "served",
    what: "",
    unit: "responses/s",
    is_cost: false,
    digits: 0,
};

static CPU_TIME: BlockFigure = BlockFigure {
    of: |block| Some(share(block.sums.server_cpu_ns?, block.sums.all_completed())? / 1e3),
    verb: "used",
    what: " CPU time per response",
    unit: "µs",
    is_cost: true,
    digits: 1,
};

impl BlockFigure {
    fn groups(&'static self, view: &OfferView, subject: &SubjectView) -> Option<DifferingStarts> {
        let groups = TwoGroups::of(&self.logs(subject)?)?;
        let [low, high] = groups.levels;
        let exceeds_margin = (high - low).exp_m1() > view.study.settings.margin;
        let shared = self.shared(view, subject.subject, &groups);
        if !exceeds_margin || shared > SHARED_MAX * (high - low) {
            return None;
        }
        let [count_low, count_high] = [groups.low.len(), groups.high.len()];
        let is_low = count_low < count_high || (count_low == count_high && !self.is_cost);
        let (few, others, levels) = if is_low {
            (groups.low, groups.high, [low, high])
        } else {
            (groups.high, groups.low, [high, low])
        };
        Some(DifferingStarts {
            few,
            others,
            levels,
            figure: self,
        })
    }

    /// The logarithm of each block's figure; `None` if a block has none.
    fn logs(&self, subject: &SubjectView) -> Option<Vec<f64>> {
        let blocks = subject.blocks.iter();
        let logs = blocks.map(|block| Some((self.of)(block)?.ln()).filter(|log| log.is_finite()));
        logs.collect()
    }

    /// The difference of the other subjects between these groups of blocks, from their median in
    /// each block. Settled subjects have only the first blocks.
    fn shared(&self, view: &OfferView, name: &str, groups: &TwoGroups) -> f64 {
        let others = view.subjects.iter().filter(|other| other.subject != name);
        let centered = |logs: Vec<f64>| {
            let mean = mean(logs.iter().copied());
            logs.into_iter().map(|log| log - mean).collect()
        };
        let others: Vec<Vec<f64>> = others
            .filter_map(|other| self.logs(other).map(centered))
            .collect();
        let level = |blocks: &[usize]| {
            let typical =
                |block: &usize| median(others.iter().filter_map(|logs| logs.get(*block).copied()));
            mean(
                blocks
                    .iter()
                    .map(|block| typical(block).unwrap_or_default()),
            )
        };
        level(&groups.high) - level(&groups.low)
    }
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len().max(1) as f64;
    values.sum::<f64>() / count
}
