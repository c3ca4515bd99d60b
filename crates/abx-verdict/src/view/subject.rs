//! One subject under one load, in all blocks and in each.

use super::sums::Sums;
use abx_evidence::record::{
    BlockLoad, BlockRecord, BlockSubject, Histograms, LedgerRecord, LoadRecord, Measured,
    SliceRecord, SubjectReadings,
};
use abx_evidence::{Course, Histogram, Offered, Phases, Statuses};

/// One subject under one load, in every complete block until it was settled there.
pub struct SubjectView<'a> {
    pub(crate) study: &'a Measured,
    pub(crate) load: &'a LoadRecord,
    pub(crate) subject: &'a str,
    /// In the order in which they were measured.
    pub(crate) blocks: Vec<BlockView<'a>>,
    /// The sums of all blocks.
    pub(crate) sums: Sums,
}

/// One subject under one load in one block.
pub(crate) struct BlockView<'a> {
    pub(crate) load: &'a LoadRecord,
    pub(crate) block: &'a BlockRecord,
    pub(crate) part: &'a BlockLoad,
    subject: &'a str,
    /// The sums of all its slices.
    pub(crate) sums: Sums,
    /// The sums of its undisturbed slices.
    pub(crate) undisturbed: Sums,
}

/// Picks one of a block's histograms.
pub(crate) type Pick = fn(&Histograms) -> &Histogram;

impl<'a> SubjectView<'a> {
    /// The view of the subject of this name.
    #[must_use]
    pub fn of(study: &'a Measured, load: &'a LoadRecord, subject: &'a str) -> SubjectView<'a> {
        let parts = study
            .complete_blocks()
            .flat_map(|block| block.loads.iter().map(move |part| (block, part)))
            .filter(|(_, part)| part.load == load.name);
        let is_settled = load.is_settled_for(subject);
        let parts = parts.take_while(|(_, part)| !is_settled || part.has_loaded(subject));
        let blocks: Vec<BlockView> = parts
            .map(|(block, part)| BlockView::of(study, load, block, part, subject))
            .collect();
        let sums = blocks
            .iter()
            .fold(Sums::none(), |sums, block| sums.plus(&block.sums));
        SubjectView {
            study,
            load,
            subject,
            blocks,
            sums,
        }
    }

    /// Whether the load was offered to it in a block.
    pub(crate) fn is_loaded(&self) -> bool {
        let mut blocks = self.blocks.iter();
        blocks.any(|block| block.part.has_loaded(self.subject))
    }

    /// Verified responses per second; `None` when there was no load.
    pub(crate) fn throughput(&self) -> Option<f64> {
        self.sums.throughput(&self.load.settings)
    }

    /// The requests that were due, and those that were sent; `None` in a closed loop.
    pub(crate) fn offered(&self) -> Option<Offered> {
        self.sums.offered(&self.load.settings.arrivals)
    }

    /// The readings outside its slices, in each block that has them.
    pub(crate) fn readings(&self) -> impl Iterator<Item = &'a SubjectReadings> {
        self.blocks.iter().filter_map(BlockView::readings)
    }

    /// Its warm-up in each block that has one.
    pub(crate) fn warm_ups(&self) -> impl Iterator<Item = &'a SliceRecord> {
        self.readings()
            .filter_map(|readings| readings.warm_up.as_ref())
    }

    /// Whether it left so many requests without a response, in the pilot or in a block, that this
    /// load is not offered to it any more, or whether it failed at the start of a block.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        let in_pilot = self.load.failure_in_pilot(self.subject).is_some();
        let in_blocks = self.sums.stopped_responding > 0;
        let at_start = self
            .study
            .failed_starts()
            .any(|start| start.subject == self.subject);
        in_pilot || in_blocks || at_start || self.warm_ups().any(|slice| slice.stopped_responding)
    }

    /// Times of all blocks together; `None` if there are none.
    #[must_use]
    pub fn times(&self, pick: Pick) -> Option<Histogram> {
        let histograms = self.histograms().map(pick);
        let known = histograms.filter(|histogram| !histogram.is_empty());
        known.fold(None, |sum, histogram| {
            let mut sum = sum.unwrap_or_else(Histogram::new);
            sum.merge(histogram);
            Some(sum)
        })
    }

    /// The phases of responses in all blocks together.
    pub(super) fn phases(&self) -> Phases {
        let mut phases = Phases::default();
        self.histograms()
            .for_each(|histograms| phases.merge(&histograms.phases));
        phases
    }

    /// The unexpected statuses in all blocks together.
    pub(crate) fn wrong_statuses(&self) -> Statuses {
        let mut statuses = Statuses::default();
        self.histograms()
            .for_each(|histograms| statuses.merge(&histograms.wrong_statuses));
        statuses
    }

    fn histograms(&self) -> impl Iterator<Item = &'a Histograms> {
        self.blocks.iter().filter_map(BlockView::histograms)
    }
}

impl<'a> BlockView<'a> {
    fn of(
        study: &Measured,
        load: &'a LoadRecord,
        block: &'a BlockRecord,
        part: &'a BlockLoad,
        subject: &'a str,
    ) -> BlockView<'a> {
        let threads = study.settings.threads;
        let sums = |are_disturbed: bool| -> Sums {
            let rounds = part.rounds.iter();
            let slices = rounds.flat_map(|round| {
                let slices = round.slices.iter();
                slices.filter(move |slice| round.is_disturbed_in(slice, threads) == are_disturbed)
            });
            of_subject(slices, subject).collect()
        };
        let undisturbed = sums(false);
        BlockView {
            load,
            block,
            part,
            subject,
            sums: undisturbed.clone().plus(&sums(true)),
            undisturbed,
        }
    }

    /// Verified responses per second; `None` when there was no load.
    pub(crate) fn throughput(&self) -> Option<f64> {
        self.sums.throughput(&self.load.settings)
    }

    /// Its slices, in their order.
    pub(crate) fn slices(&self) -> impl Iterator<Item = &'a SliceRecord> {
        let rounds = self.part.rounds.iter();
        of_subject(rounds.flat_map(|round| &round.slices), self.subject)
    }

    /// The times of its counted requests.
    pub(crate) fn histograms(&self) -> Option<&'a Histograms> {
        self.part.histograms.get(self.subject)
    }

    /// The course of its load over time, if the record has it.
    pub(crate) fn course(&self) -> Option<&'a Course> {
        self.part.courses.get(self.subject)
    }

    /// Its CPU samples, if it was sampled.
    pub(crate) fn ledger(&self) -> Option<&'a LedgerRecord> {
        self.part.ledgers.get(self.subject)
    }

    /// The readings outside its slices.
    pub(crate) fn readings(&self) -> Option<&'a SubjectReadings> {
        self.part.sides.get(self.subject)
    }

    /// Its life in this block, under all loads.
    pub(crate) fn life(&self) -> Option<&'a BlockSubject> {
        self.block.subjects.get(self.subject)
    }

    /// Whether the load was the first of its block, so that subjects had not been loaded before.
    pub(crate) fn is_first(&self) -> bool {
        let first = self.block.loads.first();
        first.is_some_and(|first| first.load == self.load.name)
    }
}

/// The slices that loaded this subject.
fn of_subject<'a>(
    slices: impl Iterator<Item = &'a SliceRecord>,
    subject: &'a str,
) -> impl Iterator<Item = &'a SliceRecord> {
    slices.filter(move |slice| slice.subject == subject)
}
