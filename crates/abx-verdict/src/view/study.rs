//! All loads of a study, and all subjects under one of them.

use super::subject::SubjectView;
use super::sums::Sums;
use abx_evidence::record::{BlockLoad, CEILING, LoadRecord, Measured};
use abx_stats::Margin;

/// All loads of a study.
pub(crate) struct StudyView<'a> {
    pub(crate) study: &'a Measured,
    /// In the order of the study.
    pub(crate) loads: Vec<OfferView<'a>>,
}

/// All subjects under one load.
pub(crate) struct OfferView<'a> {
    pub(crate) study: &'a Measured,
    pub(crate) load: &'a LoadRecord,
    /// In the order of the study.
    pub(crate) subjects: Vec<SubjectView<'a>>,
    /// The server that does nothing, which was loaded in only some of the rounds.
    pub(crate) ceiling: SubjectView<'a>,
}

impl<'a> StudyView<'a> {
    pub(crate) fn of(study: &'a Measured) -> StudyView<'a> {
        let loads = study.loads.iter();
        StudyView {
            study,
            loads: loads.map(|load| OfferView::of(study, load)).collect(),
        }
    }

    /// See [`margin`].
    pub(crate) fn margin(&self) -> Margin {
        margin(self.study)
    }

    pub(crate) fn load(&self, name: &str) -> Option<&OfferView<'a>> {
        self.loads.iter().find(|view| view.load.name == name)
    }
}

/// The margin up to which differences do not matter.
pub(crate) fn margin(study: &Measured) -> Margin {
    Margin::new(study.settings.margin).unwrap_or(Margin::DEFAULT)
}

impl<'a> OfferView<'a> {
    pub(crate) fn of(study: &'a Measured, load: &'a LoadRecord) -> OfferView<'a> {
        let names = study.subjects.iter().map(|subject| &subject.name);
        OfferView {
            study,
            load,
            subjects: names
                .map(|name| SubjectView::of(study, load, name))
                .filter(|view| view.is_loaded() || !load.is_never_offered(view.subject))
                .collect(),
            ceiling: SubjectView::of(study, load, CEILING),
        }
    }

    pub(crate) fn subject(&self, name: &str) -> Option<&SubjectView<'a>> {
        self.subjects.iter().find(|view| view.subject == name)
    }

    /// Whether the subject of this name has failed.
    pub(crate) fn has_failed(&self, name: &str) -> bool {
        self.subject(name).is_some_and(SubjectView::has_failed)
    }

    /// The subjects in the order of their names.
    pub(crate) fn by_name(&self) -> Vec<&SubjectView<'a>> {
        let mut subjects: Vec<_> = self.subjects.iter().collect();
        subjects.sort_by_key(|view| view.subject);
        subjects
    }

    /// The sums of all slices, of subjects and of the ceiling.
    pub(crate) fn sums(&self) -> Sums {
        let subjects = self.subjects.iter();
        subjects.fold(self.ceiling.sums.clone(), |sums, view| {
            sums.plus(&view.sums)
        })
    }

    pub(crate) fn parts(&self) -> impl Iterator<Item = &'a BlockLoad> {
        self.study.block_loads(&self.load.name)
    }

    /// The number of disturbed rounds, and of all rounds.
    pub(crate) fn disturbed_rounds(&self) -> (u64, u64) {
        let rounds = self.parts().flat_map(|part| &part.rounds);
        rounds.fold((0, 0), |(disturbed, total), round| {
            (
                disturbed + u64::from(!round.disturbed.is_empty()),
                total + 1,
            )
        })
    }

    /// The number of blocks in which each subject has an undisturbed slice, and of all blocks.
    pub(crate) fn clean_blocks(&self) -> (usize, usize) {
        let total = self.parts().count();
        let is_clean = |index: &usize| {
            self.subjects
                .iter()
                .filter_map(|subject| subject.blocks.get(*index))
                .all(|block| block.undisturbed.slices > 0)
        };
        ((0..total).filter(is_clean).count(), total)
    }
}
