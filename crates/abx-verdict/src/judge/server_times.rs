//! The subjects' own times from `Server-Timing`, over blocks, and where a subject
//! differs from its baseline. abx cannot check them, so no verdict rests on them.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::judge::comparison::{Comparison, Role};
use crate::judge::faults::MeanInterval;
use crate::view::{BlockView, StudyView, SubjectView};
use abx_evidence::{ServerTimeSum, ServerTimes, sum};

/// A duration that a subject reported under a load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerTime {
    /// The load.
    pub load: String,
    /// The subject.
    pub subject: String,
    /// The name that the subject gave to the duration.
    pub name: String,
    /// How often it was reported in the sample.
    pub count: u64,
    /// The mean over blocks of the mean in each block, in µs.
    pub us: MeanInterval,
}

/// The difference of a duration that a subject and its baseline reported under one name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerTimeDifference {
    /// The load.
    pub load: String,
    /// The subject.
    pub subject: String,
    /// The subject that it is compared with.
    pub baseline: String,
    /// The name that both gave to the duration.
    pub name: String,
    /// Subject minus baseline over blocks, in µs.
    pub us: MeanInterval,
}

/// Each name that a subject gave, under each load.
pub(crate) fn server_times(study: &StudyView) -> Vec<ServerTime> {
    let views = study.loads.iter().flat_map(|load| &load.subjects);
    views.flat_map(of_subject).collect()
}

fn of_subject(view: &SubjectView) -> Vec<ServerTime> {
    let each = names(view).into_iter();
    let times = each.filter_map(|name| {
        let means: Vec<f64> = means(view, name).into_iter().flatten().collect();
        let sums = reported(view).filter_map(|block| block?.sum(name));
        Some(ServerTime {
            load: view.load.name.clone(),
            subject: view.subject.to_owned(),
            name: name.to_owned(),
            count: sum(sums.map(|sum| sum.count)),
            us: MeanInterval::of(&means)?,
        })
    });
    times.collect()
}

/// Each name that both sides gave, for the pairs that the study was made for.
pub(crate) fn server_time_differences(
    study: &StudyView,
    comparisons: &[Comparison],
) -> Vec<ServerTimeDifference> {
    let primary = comparisons
        .iter()
        .filter(|comparison| comparison.role == Role::Primary);
    let mut seen = BTreeSet::new();
    // By several metrics it is one pair.
    let pairs = primary.filter(|comparison| {
        seen.insert((&comparison.load, &comparison.subject, &comparison.baseline))
    });
    let each = pairs.filter_map(|comparison| {
        let load = study.load(&comparison.load)?;
        Some((
            load.subject(&comparison.subject)?,
            load.subject(&comparison.baseline)?,
        ))
    });
    each.flat_map(|(subject, baseline)| between(subject, baseline))
        .collect()
}

fn between(subject: &SubjectView, baseline: &SubjectView) -> Vec<ServerTimeDifference> {
    let [texts, other] = [subject, baseline].map(names);
    let each = texts.intersection(&other).filter_map(|name| {
        let pairs = means(subject, name).into_iter().zip(means(baseline, name));
        let less: Vec<f64> = pairs
            .filter_map(|(own_value, other)| Some(own_value? - other?))
            .collect();
        Some(ServerTimeDifference {
            load: subject.load.name.clone(),
            subject: subject.subject.to_owned(),
            baseline: baseline.subject.to_owned(),
            name: (*name).to_owned(),
            us: MeanInterval::of(&less)?,
        })
    });
    each.collect()
}

/// The times that it reported in each block.
fn reported<'a>(view: &SubjectView<'a>) -> impl Iterator<Item = Option<&'a ServerTimes>> {
    let each = view.blocks.iter().map(BlockView::histograms);
    each.map(|histograms| histograms.map(|histograms| &histograms.server_times))
}

fn names<'a>(view: &SubjectView<'a>) -> BTreeSet<&'a str> {
    let each = reported(view).flatten();
    each.flat_map(|block| block.sums().map(|(name, _)| name))
        .collect()
}

/// The mean of one name in each block that has it, in µs.
fn means(view: &SubjectView, name: &str) -> Vec<Option<f64>> {
    let each = reported(view).map(|block| block?.sum(name).map(ServerTimeSum::mean_us));
    each.collect()
}
