//! All that is concluded from a study.

use schemars::JsonSchema;
use serde::Serialize;

use crate::findings::validity::Validity;
use crate::judge::capacities::Capacity;
use crate::judge::comparison::{Comparison, Role};
use crate::judge::families::Families;
use crate::judge::faults::{FaultSummary, LostDifference};
use crate::judge::ranking::Ranking;
use crate::judge::scope::Scope;
use crate::judge::server_times::{ServerTime, ServerTimeDifference};
use crate::judge::sweeps::Sweep;
use crate::judge::why::cpu_difference::CpuDifference;
use crate::judge::why::cpu_ledger::CpuLedger;
use crate::view::ceilings::Ceiling;
use crate::view::summary::Summary;

/// What [`judge`](crate::judge()) makes of what was measured. A record has comparisons and
/// validity beside the others.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Conclusions {
    /// The requested pairs, each subject beside the baseline unless the study names
    /// others, under each load and by each metric, the primary ones first.
    #[serde(skip)]
    pub comparisons: Vec<Comparison>,
    #[serde(skip)]
    pub validity: Validity,
    /// What was not varied.
    pub scope: Scope,
    /// How many families the comparisons and rankings are.
    pub families: Families,
    /// The order of the subjects under each load, where there are more than two.
    pub rankings: Vec<Ranking>,
    /// Loads that differ in one number only, read together.
    pub sweeps: Vec<Sweep>,
    /// The highest rate at which each subject keeps to each objective.
    pub capacities: Vec<Capacity>,
    /// What the generator got from a server that does nothing, for each load
    /// that was offered to one.
    pub ceilings: Vec<Ceiling>,
    /// One for each load and subject.
    pub summaries: Vec<Summary>,
    /// What subjects said of their own time in `Server-Timing`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server_times: Vec<ServerTime>,
    /// Where that differs between the pairs of the primary comparisons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server_time_differences: Vec<ServerTimeDifference>,
    /// Where the CPU time of each subject's responses went, under each load that was sampled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpu_ledgers: Vec<CpuLedger>,
    /// By which lines of their ledgers the compared pairs differ.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpu_differences: Vec<CpuDifference>,
    /// By which lines the starts of a subject differ that fall into two groups.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub start_differences: Vec<CpuDifference>,
    /// What was done on purpose: one for each fault and subject.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<FaultSummary>,
    /// By how many requests each subject loses more than its baseline, for each fault.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost_to_faults: Vec<LostDifference>,
}

impl Conclusions {
    /// The comparisons that the study was made for.
    pub fn primary(&self) -> impl Iterator<Item = &Comparison> {
        let comparisons = self.comparisons.iter();
        comparisons.filter(|comparison| comparison.role == Role::Primary)
    }

    /// What was measured of each subject under one load.
    pub fn under<'a>(&'a self, load: &'a str) -> impl Iterator<Item = &'a Summary> + Clone {
        self.summaries
            .iter()
            .filter(move |summary| summary.load == load)
    }

    /// Whether anything was sent.
    #[must_use]
    pub fn any_sent(&self) -> bool {
        self.summaries.iter().any(|summary| summary.sent > 0)
    }
}
