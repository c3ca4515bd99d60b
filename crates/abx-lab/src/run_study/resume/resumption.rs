//! Continues a study from its record: the pilot and the complete blocks stay, and the next block
//! has the seed that it would have had without the pause.

use std::time::Duration;

use abx_evidence::Measured;
use abx_evidence::record::{Continuation, LoadRecord, Settings, StudyEnd};
use abx_study::load_records::load_records;
use abx_study::{Load, Study};

use super::difference::{Difference, difference};
use super::identity::identity;
use crate::measure::rate_search::found_before;
use crate::run_study::block::more_rates::RateGrids;

/// Why a study cannot continue from a record.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    #[error(
        "the study of the record is complete, and more blocks would not be part of it: measure \
         again without --resume"
    )]
    Complete,
    #[error(
        "the record does not identify its study, so abx cannot continue it: measure again without \
         --resume"
    )]
    Unknown,
    #[error(
        "agents generated the load of the record, so abx cannot continue it: measure again \
         without --resume"
    )]
    Fleet,
    #[error(
        "this study differs from that of the record: {0}. Undo the change, or measure again \
         without --resume"
    )]
    Different(Difference),
}

/// Where a study begins.
pub struct Resumption {
    pub measured: Measured,
    /// The loads, as far as they are known.
    pub loads: Vec<Load>,
    pub grids: RateGrids,
    /// How long the study has taken so far.
    pub elapsed_before: Duration,
}

impl Resumption {
    /// Begins a study, or continues it where its saved record ended early. `fresh` is the record of
    /// the study before its first block.
    ///
    /// # Errors
    /// [`ResumeError`].
    pub fn of(
        study: &Study,
        mut fresh: Measured,
        saved: Option<Measured>,
    ) -> Result<Resumption, ResumeError> {
        fresh.identity = Some(identity(study));
        let beginning = Resumption {
            measured: fresh,
            loads: study.loads.clone(),
            grids: RateGrids::default(),
            elapsed_before: Duration::ZERO,
        };
        match saved {
            None => Ok(beginning),
            Some(saved) => beginning.after(study, saved),
        }
    }

    /// Continues the study where this record of it ended.
    fn after(self, study: &Study, saved: Measured) -> Result<Resumption, ResumeError> {
        check(&saved)?;
        let fresh = self.measured;
        let is_piloted = saved.loads.iter().all(|load| load.pilot.is_some());
        let mut loads = if is_piloted {
            loads_of(&study.loads, &saved.loads)
        } else {
            study.loads.clone()
        };
        let offered = load_records(&study.subjects, &loads);
        let compared = Measured {
            // Before the pilot, loads have no results that a change could spoil.
            loads: if is_piloted {
                offered.clone()
            } else {
                saved.loads.clone()
            },
            ..fresh.clone()
        };
        if let Some(difference) = difference(&saved, &compared) {
            return Err(ResumeError::Different(difference));
        }
        let elapsed_before = Duration::try_from_secs_f64(saved.elapsed_s).unwrap_or_default();
        let mut measured = Measured {
            continuations: continuations(&saved, &fresh),
            settings: Settings {
                budget_s: saved.elapsed_s + fresh.settings.budget_s,
                ..saved.settings
            },
            machine: fresh.machine,
            identity: fresh.identity,
            loads: if is_piloted { saved.loads } else { offered },
            end: StudyEnd::Running,
            ..saved
        };
        let grids = RateGrids::of_blocks(&mut measured, &mut loads);
        Ok(Resumption {
            measured,
            loads,
            grids,
            elapsed_before,
        })
    }
}

/// Refuses a record that cannot be continued.
fn check(saved: &Measured) -> Result<(), ResumeError> {
    if saved.identity.is_none() {
        Err(ResumeError::Unknown)
    } else if saved.fleet.is_some() {
        Err(ResumeError::Fleet)
    } else if is_complete(saved) {
        Err(ResumeError::Complete)
    } else {
        Ok(())
    }
}

/// Whether a study has measured everything that was requested.
fn is_complete(saved: &Measured) -> bool {
    match &saved.end {
        StudyEnd::Precision
        | StudyEnd::Certain
        | StudyEnd::Settled
        | StudyEnd::Decided
        | StudyEnd::Blocks
        | StudyEnd::Invalid => true,
        // It may have been killed after its last block.
        _ => {
            let requested = saved.settings.blocks;
            requested.is_some_and(|blocks| saved.complete_blocks().count() >= blocks as usize)
        }
    }
}

/// Whether the study of a record can continue.
#[must_use]
pub fn is_resumable(saved: &Measured) -> bool {
    check(saved).is_ok()
}

/// The loads of a study as its record has them, including those whose rate was found before the
/// pilot. A load that the study does not have is left out.
fn loads_of(loads: &[Load], records: &[LoadRecord]) -> Vec<Load> {
    let of_record = |record: &LoadRecord| {
        let named = |name: &str| loads.iter().find(|load| load.name == name);
        match named(&record.name) {
            Some(load) if !load.rate.is_unresolved() => Some(load.clone()),
            _ => {
                let load = named(record.name_of_grid())?;
                found_before(load, record.settings.arrivals.rate_per_s?)
            }
        }
    };
    records.iter().filter_map(of_record).collect()
}

/// The continuations of a record, and the one that begins now.
fn continuations(saved: &Measured, fresh: &Measured) -> Vec<Continuation> {
    let mut continuations = saved.continuations.clone();
    let (began_ms, before_s) = match continuations.last() {
        Some(last) => (last.started_unix_ms, last.elapsed_s),
        None => (saved.started_unix_ms, 0.0),
    };
    let since_s = fresh.started_unix_ms.saturating_sub(began_ms) as f64 / 1e3;
    let boot = |record: &Measured| {
        let identity = record.identity.as_ref();
        identity.and_then(|identity| identity.boot.clone())
    };
    continuations.push(Continuation {
        block: u32::try_from(saved.blocks.len()).unwrap_or(u32::MAX),
        started_unix_ms: fresh.started_unix_ms,
        elapsed_s: saved.elapsed_s,
        // The clock may have been set back.
        paused_s: (since_s - (saved.elapsed_s - before_s)).max(0.0),
        ended: saved.end.clone(),
        rebooted: boot(saved) != boot(fresh),
    });
    continuations
}

#[cfg(test)]
mod tests {
    use abx_engine::schedule::Arrivals;
    use abx_evidence::record::{Interleave, StudyIdentity};
    use abx_study::rates::{RateSpec, Spacing};

    use super::*;
    use crate::measure::simulation::blocks::pilot;
    use crate::measure::simulation::scripted::{nothing_measured, study};

    /// A study of one load without rate, and its record before the first block.
    fn begun() -> (Study, Measured) {
        let study = study(None);
        let fresh = Measured {
            started_unix_ms: 1_000_000,
            ..nothing_measured(&study.loads)
        };
        (study, fresh)
    }

    /// The record of that study after some blocks.
    fn ended(study: &Study, fresh: &Measured, end: StudyEnd) -> Measured {
        let mut saved = Measured {
            identity: Some(identity(study)),
            started_unix_ms: 1_000,
            elapsed_s: 30.0,
            end,
            ..fresh.clone()
        };
        for load in &mut saved.loads {
            load.pilot = Some(pilot(Interleave::Slices));
        }
        let block = abx_evidence::record::BlockRecord {
            complete: true,
            ..Default::default()
        };
        saved.blocks = vec![block; 3];
        saved
    }

    #[test]
    fn pilot_and_blocks_stay_and_each_pause_is_noted() {
        // Method: a study that was killed after 30 s, continued 999 s after its start, and killed
        // and continued once more.
        let (study, fresh) = begun();
        let saved = ended(&study, &fresh, StudyEnd::Running);
        let pilots: Vec<_> = saved.loads.iter().map(|load| load.pilot.clone()).collect();
        let resumed = Resumption::of(&study, fresh.clone(), Some(saved)).unwrap();
        let measured = &resumed.measured;
        assert_eq!(resumed.elapsed_before, Duration::from_secs(30));
        assert_eq!(
            (measured.blocks.len(), measured.started_unix_ms),
            (3, 1_000)
        );
        let pilots_after = measured.loads.iter().map(|load| load.pilot.clone());
        assert!(pilots_after.eq(pilots));
        let continuation = &measured.continuations[0];
        assert_eq!(
            (continuation.block, continuation.ended.clone()),
            (3, StudyEnd::Running)
        );
        assert!((continuation.paused_s - 969.0).abs() < 1e-9);
        assert!(!continuation.rebooted);
        let again = Measured {
            elapsed_s: 50.0,
            ..resumed.measured
        };
        let later = Measured {
            started_unix_ms: 1_100_000,
            ..fresh
        };
        let resumed = Resumption::of(&study, later, Some(again)).unwrap();
        let continuations = &resumed.measured.continuations;
        assert_eq!(continuations.len(), 2);
        assert!((continuations[1].paused_s - 80.0).abs() < 1e-9);
    }

    #[test]
    fn only_an_unchanged_study_that_ended_early_continues() {
        // Method: complete studies, a record that does not identify its study, and another study.
        let (study, fresh) = begun();
        let refusal = |saved: Measured| {
            let resumed = Resumption::of(&study, fresh.clone(), Some(saved));
            resumed.err().expect("it is refused")
        };
        for end in [StudyEnd::Precision, StudyEnd::Certain, StudyEnd::Invalid] {
            let complete = ended(&study, &fresh, end);
            assert!(matches!(refusal(complete), ResumeError::Complete));
        }
        let mut killed = ended(&study, &fresh, StudyEnd::Running);
        killed.settings.blocks = Some(3);
        assert!(matches!(refusal(killed), ResumeError::Complete));
        let mut unknown = ended(&study, &fresh, StudyEnd::Interrupted);
        unknown.identity = None;
        assert!(matches!(refusal(unknown), ResumeError::Unknown));
        let mut other = ended(&study, &fresh, StudyEnd::Interrupted);
        other.identity = Some(StudyIdentity::default());
        let message = refusal(other).to_string();
        assert!(
            message.contains("`identity.abx_build` was absent"),
            "{message}"
        );
    }

    #[test]
    fn loads_at_rates_that_were_found_are_restored() {
        // Method: a load without rate, a share of the slowest subject's capacity, and a grid of two
        // rates; then a record with another load.
        let load = |name: &str, rate| Load {
            name: name.to_owned(),
            rate,
            ..Load::default()
        };
        let spacing = Spacing::Constant;
        let loads = [
            load("paced", RateSpec::AsPaced),
            load(
                "half",
                RateSpec::Share {
                    share: 0.5,
                    spacing,
                },
            ),
            load(
                "grid",
                RateSpec::Objective {
                    objective: "p99<50ms".parse().unwrap(),
                    spacing,
                },
            ),
        ];
        let resolved = [
            loads[0].clone(),
            found_before(&loads[1], 500.0).unwrap(),
            found_before(&loads[2], 900.0).unwrap(),
            found_before(&loads[2], 1_000.0).unwrap(),
        ];
        assert!(matches!(
            resolved[3].pacing.arrivals,
            Arrivals::Constant { .. }
        ));
        let mut records = load_records(&[], &resolved);
        assert_eq!(loads_of(&loads, &records), resolved);
        records[0].name = "other".to_owned();
        assert_eq!(loads_of(&loads, &records), resolved[1..]);
    }
}
