//! The difference that a planned study can find: from the spread of earlier studies, and the
//! number of blocks for which its budget has room.

use serde::Deserialize;

use crate::judge::comparison::Role;
use crate::judge::metric::Metric;
use crate::listing::fingerprint::Fingerprint;
use crate::listing::history::{Outline, OutlineError, OutlineSubject};
use abx_stats::Margin;
use abx_stats::power::{blocks_to_end, detectable_among};
use abx_stats::stop::blocks_for_verdict;

/// Earlier studies that are read, the newest first.
pub const STUDIES_MOST: usize = 20;

/// A study that is still to be conducted.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedStudy {
    /// The subjects to measure; versions are not known yet.
    pub subjects: Vec<OutlineSubject>,
    /// How many loads there are.
    pub loads: usize,
    /// The number of comparisons that are judged together under a load.
    pub together: usize,
    /// The longest time that it may take, in seconds.
    pub budget_s: f64,
    /// The number of blocks that was set.
    pub blocks: Option<u32>,
    /// Differences up to this do not matter.
    pub margin: Margin,
    /// The part of a block's load that `--why` adds; 0 without it.
    pub why_share: f64,
    /// Whether limits decide when it ends (`--expect`, `--fail-if-slower`).
    pub has_limits: bool,
    /// The machine; the settings of the study in it are ignored.
    pub machine: Fingerprint,
}

/// An earlier study, as evidence for the next.
#[derive(Debug, Clone, PartialEq)]
pub struct PastStudy {
    pub outline: Outline,
    /// Whether it compared a server with itself, for `abx doctor`.
    pub is_of_doctor: bool,
    /// Squared deviations of the log ratios of throughput in its blocks, summed over its
    /// primary comparisons.
    squares: f64,
    degrees: usize,
}

/// The source of a spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpreadSource {
    /// Studies of the same subjects.
    SameSubjects,
    OtherSubjects,
    /// Measurements of `abx doctor`, which compares a server with itself.
    Doctor,
}

/// The spread of blocks on this machine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KnownSpread {
    /// The standard deviation of a log ratio from block to block: 0.02 is about 2 %.
    pub spread: f64,
    pub source: SpreadSource,
    pub studies: usize,
    /// The time of a block per subject and load, including starts, in seconds.
    pub seconds: f64,
}

/// A planned study, with its expected spread and size.
#[derive(Debug, Clone, PartialEq)]
pub struct StudyPlan {
    pub study: PlannedStudy,
    /// The expected spread of its blocks, from earlier studies; `None` if there are none.
    pub known: Option<KnownSpread>,
    /// The number of blocks for which its budget has room.
    pub blocks_most: usize,
}

/// The time of a block per subject and load, in seconds, if there is no earlier study: 1.5 s of
/// load, warm-up and start.
const SECONDS_USUAL: f64 = 3.5;

#[derive(Deserialize)]
struct Keys {
    comparisons: Vec<ComparisonKeys>,
}

#[derive(Deserialize)]
struct ComparisonKeys {
    metric: Metric,
    role: Role,
    #[serde(default)]
    per_block: Vec<Option<f64>>,
}

impl PastStudy {
    /// Reads a record; `None` if no comparison of throughput has two blocks.
    ///
    /// # Errors
    /// [`OutlineError`] if the text is not a record of this version.
    pub fn read(json: &str, is_of_doctor: bool) -> Result<Option<PastStudy>, OutlineError> {
        let outline = Outline::read(json)?;
        let Ok(Keys { comparisons }) = serde_json::from_str(json) else {
            // A run compares nothing.
            return Ok(None);
        };
        let primary = comparisons.into_iter().filter(|comparison| {
            comparison.role == Role::Primary && comparison.metric == Metric::Throughput
        });
        let (mut squares, mut degrees) = (0.0, 0);
        for comparison in primary {
            let ratios = comparison.per_block.iter().flatten();
            let logs: Vec<f64> = ratios.map(|ratio| ratio.ln()).collect();
            let mean = logs.iter().sum::<f64>() / logs.len().max(1) as f64;
            squares += logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>();
            degrees += logs.len().saturating_sub(1);
        }
        Ok((degrees > 0).then_some(PastStudy {
            outline,
            is_of_doctor,
            squares,
            degrees,
        }))
    }

    /// Its kind of evidence for a study; `None` if it was measured on another machine.
    fn spread_source(&self, planned: &PlannedStudy) -> Option<SpreadSource> {
        if !self.outline.machine.is_same_machine(&planned.machine) {
            return None;
        }
        let has_subject = |planned: &OutlineSubject| {
            self.outline.subjects.iter().any(|subject| {
                subject.name == planned.name
                    && subject.command == planned.command
                    && subject.address == planned.address
            })
        };
        Some(if planned.subjects.iter().all(has_subject) {
            SpreadSource::SameSubjects
        } else if self.is_of_doctor {
            SpreadSource::Doctor
        } else {
            SpreadSource::OtherSubjects
        })
    }

    fn seconds(&self) -> f64 {
        let outline = &self.outline;
        // A load that was settled before the others has fewer blocks.
        let blocks = |load: &String| {
            let comparisons = outline.comparisons.iter();
            let under_load = comparisons.filter(|comparison| comparison.load == *load);
            let most = under_load.map(|comparison| comparison.blocks).max();
            most.filter(|most| *most > 0).unwrap_or(outline.blocks)
        };
        let blocks: usize = outline.loads.iter().map(blocks).sum();
        let parts = blocks.max(1) * outline.subjects.len().max(1);
        outline.elapsed_s.unwrap_or_default() / parts as f64
    }
}

impl StudyPlan {
    /// Plans a study by earlier studies on the same machine: those of the same subjects, else those
    /// of other subjects, else the measurements of `abx doctor`.
    #[must_use]
    pub fn of(study: PlannedStudy, past: &[PastStudy]) -> StudyPlan {
        let sources = [
            SpreadSource::SameSubjects,
            SpreadSource::OtherSubjects,
            SpreadSource::Doctor,
        ];
        let known = sources.into_iter().find_map(|source| {
            let studies = past
                .iter()
                .filter(|past| past.spread_source(&study) == Some(source));
            spread(&studies.collect::<Vec<_>>(), source)
        });
        let seconds = known.map_or(SECONDS_USUAL, |known| known.seconds);
        let seconds = seconds * (1.0 + study.why_share);
        let block_s = seconds * (study.subjects.len().max(1) * study.loads.max(1)) as f64;
        let blocks_most = match study.blocks {
            Some(ordered) => ordered as usize,
            None => (study.budget_s / block_s).floor() as usize,
        };
        StudyPlan {
            study,
            known,
            blocks_most,
        }
    }

    /// The fewest blocks with which it has a verdict.
    #[must_use]
    pub fn fewest(&self) -> usize {
        blocks_for_verdict(self.study.blocks.is_some())
    }

    /// The number of blocks that it will have with this spread: the number that was set, else the
    /// number after which it ends by itself or uses up its budget. With limits it may end sooner.
    #[must_use]
    pub fn blocks(&self, spread: f64) -> usize {
        let PlannedStudy {
            margin, together, ..
        } = self.study;
        match self.study.blocks {
            Some(ordered) => ordered as usize,
            // A ratio close to its limit takes the whole budget.
            None if self.study.has_limits => self.blocks_most,
            None => blocks_to_end(spread, margin, together, self.blocks_most),
        }
    }

    /// The difference, as a share, that a study with this spread finds in 4 of 5 cases, adjusted
    /// for the comparisons judged together; `None` if it has too few blocks for a verdict.
    #[must_use]
    pub fn detectable(&self, spread: f64) -> Option<f64> {
        let blocks = self.blocks(spread);
        let result = detectable_among(spread, blocks, self.study.together);
        result.filter(|_| blocks >= self.fewest())
    }
}

fn spread(past: &[&PastStudy], source: SpreadSource) -> Option<KnownSpread> {
    let degrees: usize = past.iter().map(|study| study.degrees).sum();
    let squares: f64 = past.iter().map(|study| study.squares).sum();
    let seconds: f64 = past.iter().map(|study| study.seconds()).sum();
    (degrees > 0).then(|| KnownSpread {
        spread: (squares / degrees as f64).sqrt(),
        source,
        studies: past.len(),
        seconds: seconds / past.len() as f64,
    })
}
