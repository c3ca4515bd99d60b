//! Merges the counts that agents have kept of a run whose controller is gone.

use std::path::{Path, PathBuf};

use abx_evidence::record::{AgentRecord, FleetRecord, StudyEnd};
use abx_evidence::{Measured, SliceTally};

use crate::finals::{Author, Final};
use crate::pace::{LATE, PaceSums};

/// A run as its agents counted it.
#[derive(Debug, Clone, PartialEq)]
pub struct Collected {
    /// The record of the run before its load, and its agents.
    pub measured: Measured,
    /// The merged counts of the agents.
    pub tally: SliceTally,
}

/// Why files cannot be merged.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    #[error("there is nothing to collect")]
    Nothing,
    #[error("{0}")]
    Differ(Box<MixedFinals>),
    #[error(
        "{} and {} are both part {slot} of {slots} of the same run, but differ: leave one of \
         them out", .file.display(), .first.display()
    )]
    SamePart {
        file: PathBuf,
        first: PathBuf,
        /// The part, from 1.
        slot: usize,
        slots: usize,
    },
    #[error("{} does not list the agents of its run: it is damaged", .file.display())]
    NoFleet { file: PathBuf },
}

/// The difference between two files that do not belong together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the {what} of {} is {own}, and that of {} is {other}: {remedy}", .file.display(),
    .first.display()
)]
pub struct MixedFinals {
    pub file: PathBuf,
    pub first: PathBuf,
    pub what: &'static str,
    pub own: String,
    pub other: String,
    pub remedy: &'static str,
}

/// Merges the parts of one run. A part that is given twice counts once.
pub fn collect(finals: Vec<(PathBuf, Final)>) -> Result<Collected, CollectError> {
    let mut parts: Vec<(PathBuf, Final)> = Vec::new();
    for (file, item) in finals {
        if let Some((first, other)) = parts.first() {
            check_alike((&file, &item), (first, other))?;
        }
        let slot = item.author.slot;
        match parts.iter().find(|(_, other)| other.author.slot == slot) {
            None => parts.push((file, item)),
            Some((_, other)) if other.author == item.author && other.counted == item.counted => {}
            Some((first, _)) => {
                return Err(CollectError::SamePart {
                    first: first.clone(),
                    file,
                    slot: slot + 1,
                    slots: item.author.slots,
                });
            }
        }
    }
    let (file, first) = parts.first().ok_or(CollectError::Nothing)?;
    let mut measured = (*first.counted.record).clone();
    let fleet = measured
        .fleet
        .take()
        .filter(|fleet| fleet.agents.len() == first.author.slots)
        .ok_or_else(|| CollectError::NoFleet { file: file.clone() })?;
    let is_cut = parts.iter().any(|(_, item)| item.counted.is_cut);
    let fleet = together(fleet, &measured, &parts);
    measured.fleet = Some(FleetRecord {
        partial: is_cut || fleet.partial,
        ..fleet
    });
    measured.end = if is_cut {
        StudyEnd::Interrupted
    } else {
        StudyEnd::Blocks
    };
    let mut tallies = parts.into_iter().map(|(_, item)| *item.counted.tally);
    let first = tallies.next().ok_or(CollectError::Nothing)?;
    let tally = tallies.fold(first, |mut sum, tally| {
        sum.merge(&tally);
        sum
    });
    Ok(Collected { measured, tally })
}

/// Checks that both files are parts of one run.
fn check_alike(
    (file, item): (&Path, &Final),
    (first, other): (&Path, &Final),
) -> Result<(), CollectError> {
    let (author, other_author): (&Author, &Author) = (&item.author, &other.author);
    let checks = [
        (
            "run id",
            &author.run,
            &other_author.run,
            "collect one run at a time",
        ),
        (
            "build",
            &author.build,
            &other_author.build,
            "use the same program everywhere",
        ),
        (
            "plan",
            &item.counted.plan_sha256,
            &other.counted.plan_sha256,
            "these are parts of different loads",
        ),
    ];
    match checks
        .into_iter()
        .find(|(_, value, other_value, _)| value != other_value)
    {
        None => Ok(()),
        Some((what, value, other_value, remedy)) => {
            Err(CollectError::Differ(Box::new(MixedFinals {
                file: file.to_owned(),
                first: first.to_owned(),
                what,
                own: value.clone(),
                other: other_value.clone(),
                remedy,
            })))
        }
    }
}

/// The record of the fleet, in which agents without a file are lost.
fn together(fleet: FleetRecord, measured: &Measured, parts: &[(PathBuf, Final)]) -> FleetRecord {
    let load = measured.loads.first();
    let is_open = load.is_some_and(|load| load.settings.arrivals.is_open());
    let pilot = load.and_then(|load| load.pilot.as_ref());
    let timed = pilot.filter(|pilot| pilot.slice_requests.is_none());
    let length_ns = timed.map(|pilot| pilot.slice_ns);
    let agents = fleet.agents.into_iter().enumerate().map(|(slot, agent)| {
        match parts.iter().find(|(_, item)| item.author.slot == slot) {
            Some((_, item)) => {
                let mut pace = PaceSums::default();
                pace.note(&item.counted.tally, is_open);
                let late_ns = item.counted.late_ns;
                let is_late = length_ns.is_some_and(|length| late_ns > length / LATE);
                AgentRecord {
                    slices: 1,
                    late_ns_max: late_ns,
                    late_slices: u64::from(is_late),
                    pace: pace.record(),
                    lost: None,
                    lost_unix_ms: None,
                    ..agent
                }
            }
            None => AgentRecord {
                lost: Some("none of its saved files was given".to_owned()),
                lost_unix_ms: None,
                ..agent
            },
        }
    });
    let agents: Vec<AgentRecord> = agents.collect();
    FleetRecord {
        collected: true,
        partial: agents.iter().any(|agent| agent.lost.is_some()),
        agents,
        ..fleet
    }
}
