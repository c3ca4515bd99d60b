//! Which loads have enough blocks, and which subjects under one load. Each load is settled by its
//! own rule and by its own blocks: later blocks leave it out, so they cannot open it again.

use std::collections::BTreeMap;

use crate::judge::comparing::family::ComparedUnder;
use crate::judge::comparing::plan::{ComparisonPlan, PrimaryFamily};
use crate::judge::verdict::{decide_together, settled_for_good};
use crate::view::StudyView;
use abx_evidence::record::{LoadRecord, Measured, SettledReason};
use abx_model::LoadShape;
use abx_stats::Margin;
use abx_stats::stop::{Decision, Reason};

/// Loads that are settled at the same time, and the decision by their blocks so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StopGroup {
    /// The names in their comparisons: of loads, or of a grid of rates.
    pub names: Vec<String>,
    /// The loads; none for a fault, which every block has.
    pub loads: Vec<String>,
    /// Whether each of their primary comparisons is settled.
    pub decision: Decision,
    /// Each requested pair under one load, with the reason why it is settled for good, if it is.
    pairs: Vec<([String; 2], Option<Reason>)>,
}

/// The loads and faults of a study, grouped by what is settled together: the comparisons of one
/// load, of one grid of rates, and of all loads that hold connections. The memory that a larger
/// number of connections takes depends on whether a smaller number came before.
#[must_use]
pub fn stop_groups(study: &Measured) -> Vec<StopGroup> {
    let view = &StudyView::of(study);
    let plan = ComparisonPlan::of(view, &[]);
    let margin = view.margin();
    let mut groups: Vec<(bool, StopGroup)> = Vec::new();
    for family in plan.primary(view) {
        let (is_held, group) = group_of(study, &family, margin);
        let same = groups.iter_mut().find(|(other_is_held, other)| {
            (is_held && *other_is_held) || (!group.loads.is_empty() && other.loads == group.loads)
        });
        match same {
            None => groups.push((is_held, group)),
            Some((_, same)) => same.join(group),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

impl StopGroup {
    /// The subjects all of whose pairs are settled for good, with the joint reason. Loads that hold
    /// connections have none: they are settled together only.
    #[must_use]
    pub fn settled_subjects(&self) -> Vec<(String, Reason)> {
        let mut subjects: BTreeMap<&str, Decision> = BTreeMap::new();
        for (pair, reason) in &self.pairs {
            let decision = reason.map_or(Decision::Continue, Decision::Stop);
            for subject in pair {
                let known = subjects.get(subject.as_str());
                let joint = known.map_or(decision, |known| known.and(decision));
                subjects.insert(subject, joint);
            }
        }
        let settled = subjects.into_iter().filter_map(|(subject, decision)| {
            let Decision::Stop(reason) = decision else {
                return None;
            };
            Some((subject.to_owned(), reason))
        });
        settled.collect()
    }

    fn join(&mut self, other: StopGroup) {
        let add = |names: &mut Vec<String>, more: Vec<String>| {
            for name in more {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        };
        add(&mut self.names, other.names);
        add(&mut self.loads, other.loads);
        self.decision = self.decision.and(other.decision);
        self.pairs.extend(other.pairs);
    }
}

/// The group of one family of comparisons, and whether its load holds connections.
fn group_of(study: &Measured, family: &PrimaryFamily, margin: Margin) -> (bool, StopGroup) {
    let mut is_held = false;
    let (name, loads) = match family.compared_under {
        ComparedUnder::Load(view) => {
            is_held = view.load.settings.exchange.shape == LoadShape::Connections;
            (view.load.name.as_str(), vec![view.load.name.clone()])
        }
        ComparedUnder::Grid(grid) => (grid.name.as_str(), grid.load_names()),
        ComparedUnder::Fault(view) => (view.fault.name.as_str(), Vec::new()),
        ComparedUnder::Starts => ("", Vec::new()),
    };
    let recorded = recorded(study, &loads);
    let is_alone = matches!(family.compared_under, ComparedUnder::Load(_)) && !is_held;
    // A decided family has pairs too, because another family of the same load may be open.
    let group = StopGroup {
        names: vec![name.to_owned()],
        loads,
        pairs: if is_alone && recorded.is_none() {
            family.settled_pairs(margin)
        } else {
            Vec::new()
        },
        decision: recorded.unwrap_or_else(|| family.decide(margin)),
    };
    (is_held, group)
}

/// The recorded decision, if all of these loads were settled.
fn recorded(study: &Measured, loads: &[String]) -> Option<Decision> {
    let reasons: Option<Vec<Decision>> = loads
        .iter()
        .map(|load| {
            let settled = study.load(load)?.settled_as_a_whole()?;
            Some(Decision::Stop(match settled.reason {
                SettledReason::Precision => Reason::Precise,
                SettledReason::Certain | SettledReason::Limits => Reason::Certain,
            }))
        })
        .collect();
    reasons?.into_iter().reduce(Decision::and)
}

impl PrimaryFamily<'_> {
    fn decide(&self, margin: Margin) -> Decision {
        decide_together(&self.comparisons(), margin, self.claims)
    }

    fn settled_pairs(&self, margin: Margin) -> Vec<([String; 2], Option<Reason>)> {
        let reasons = settled_for_good(&self.comparisons(), margin, self.claims);
        let pairs = self.pairs.iter().map(|pair| pair.map(str::to_owned));
        pairs.zip(reasons).collect()
    }

    fn comparisons(&self) -> Vec<&[f64]> {
        self.log_ratios.iter().map(Vec::as_slice).collect()
    }

    /// The log ratios of the pairs whose subjects later blocks will measure.
    pub(crate) fn open(self) -> Vec<Vec<f64>> {
        let is_open = |pair: &[&str; 2]| match self.compared_under {
            ComparedUnder::Load(view) => {
                let mut subjects = pair.iter();
                !subjects.any(|subject| view.load.is_settled_for(subject))
            }
            ComparedUnder::Grid(grid) => !grid.is_settled(),
            ComparedUnder::Fault(_) | ComparedUnder::Starts => true,
        };
        let pairs = self.pairs.iter().zip(self.log_ratios);
        let open = pairs.filter(|(pair, _)| is_open(pair));
        open.map(|(_, log_ratios)| log_ratios).collect()
    }
}

/// Whether the blocks so far settle every primary comparison of the study.
#[must_use]
pub fn may_stop(study: &Measured) -> Decision {
    let groups = stop_groups(study);
    Decision::of_parts(groups.into_iter().map(|group| group.decision))
}

/// The loads that were settled before the last of the judged blocks.
pub fn settled_early(study: &Measured) -> impl Iterator<Item = &LoadRecord> {
    let blocks = study.complete_blocks().count();
    let is_early = move |load: &&LoadRecord| {
        let settled = load.settled_as_a_whole();
        settled.is_some_and(|settled| (settled.blocks as usize) < blocks)
    };
    study.loads.iter().filter(is_early)
}
