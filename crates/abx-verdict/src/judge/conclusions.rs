//! All conclusions from a study.

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

/// The conclusions that [`judge`](crate::judge()) draws from the measurements. A record has
/// comparisons and validity in addition.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Conclusions {
    /// The requested pairs, under each load and by each metric, the primary ones first. They are
    /// each subject and the baseline unless the study names others.
    #[serde(skip)]
    pub comparisons: Vec<Comparison>,
    #[serde(skip)]
    pub validity: Validity,
    /// The conditions that the study did not vary.
    pub scope: Scope,
    /// The number of families of comparisons and rankings.
    pub families: Families,
    /// The order of the subjects under each load, if there are more than two.
    pub rankings: Vec<Ranking>,
    /// Loads that differ in one number only, read together.
    pub sweeps: Vec<Sweep>,
    /// The highest rate at which each subject meets each objective.
    pub capacities: Vec<Capacity>,
    /// The ceiling of the generator under each load that was also offered to a server that
    /// does nothing.
    pub ceilings: Vec<Ceiling>,
    /// One per load and subject.
    pub summaries: Vec<Summary>,
    /// The times that subjects reported in `Server-Timing`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server_times: Vec<ServerTime>,
    /// Differences of these times between the pairs of the primary comparisons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server_time_differences: Vec<ServerTimeDifference>,
    /// The CPU ledger of each subject, under each load that was sampled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpu_ledgers: Vec<CpuLedger>,
    /// The differences between the CPU ledgers of the compared pairs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpu_differences: Vec<CpuDifference>,
    /// The differences between the CPU ledgers of a subject's starts, if these fall into two
    /// groups.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub start_differences: Vec<CpuDifference>,
    /// The results of faults: one per fault and subject.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<FaultSummary>,
    /// How many more requests each subject loses than its baseline, per fault.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost_to_faults: Vec<LostDifference>,
}

impl Conclusions {
    /// The primary comparisons.
    pub fn primary(&self) -> impl Iterator<Item = &Comparison> {
        let comparisons = self.comparisons.iter();
        comparisons.filter(|comparison| comparison.role == Role::Primary)
    }

    /// The summaries of one load, by subject.
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
