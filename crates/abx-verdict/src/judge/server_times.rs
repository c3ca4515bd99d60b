//! The times that subjects report in `Server-Timing`, over blocks, and their differences from the
//! baseline. abx cannot check them, so no verdict rests on them.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::judge::comparison::{Comparison, Role};
use crate::judge::faults::MeanInterval;
use crate::view::{StudyView, SubjectView};
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

/// The times under each name that a subject gave, under each load.
pub(crate) fn server_times(study: &StudyView) -> Vec<ServerTime> {
    let views = study.loads.iter().flat_map(|load| &load.subjects);
    views.flat_map(of_subject).collect()
}

fn of_subject(view: &SubjectView) -> Vec<ServerTime> {
    let times = names(view).into_iter().filter_map(|name| {
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

/// The differences under each name that both subjects gave, for the primary pairs.
pub(crate) fn server_time_differences(
    study: &StudyView,
    comparisons: &[Comparison],
) -> Vec<ServerTimeDifference> {
    let primary = comparisons
        .iter()
        .filter(|comparison| comparison.role == Role::Primary);
    let mut seen = BTreeSet::new();
    // Several metrics may compare the same pair.
    let pairs = primary.filter(|comparison| {
        seen.insert((&comparison.load, &comparison.subject, &comparison.baseline))
    });
    let views = pairs.filter_map(|comparison| {
        let load = study.load(&comparison.load)?;
        Some((
            load.subject(&comparison.subject)?,
            load.subject(&comparison.baseline)?,
        ))
    });
    views
        .flat_map(|(subject, baseline)| between(subject, baseline))
        .collect()
}

fn between(subject: &SubjectView, baseline: &SubjectView) -> Vec<ServerTimeDifference> {
    let [subject_names, baseline_names] = [subject, baseline].map(names);
    let common = subject_names.intersection(&baseline_names);
    let times = common.filter_map(|name| {
        let blocks = means(subject, name).into_iter().zip(means(baseline, name));
        let differences: Vec<f64> = blocks
            .filter_map(|(subject, baseline)| Some(subject? - baseline?))
            .collect();
        Some(ServerTimeDifference {
            load: subject.load.name.clone(),
            subject: subject.subject.to_owned(),
            baseline: baseline.subject.to_owned(),
            name: (*name).to_owned(),
            us: MeanInterval::of(&differences)?,
        })
    });
    times.collect()
}

/// The times that a subject reported in each block.
fn reported<'a>(view: &SubjectView<'a>) -> impl Iterator<Item = Option<&'a ServerTimes>> {
    let blocks = view.blocks.iter();
    blocks.map(|block| Some(&block.histograms()?.server_times))
}

fn names<'a>(view: &SubjectView<'a>) -> BTreeSet<&'a str> {
    let blocks = reported(view).flatten();
    blocks
        .flat_map(|block| block.sums().map(|(name, _)| name))
        .collect()
}

/// The mean under one name in each block, in µs; `None` for a block without it.
fn means(view: &SubjectView, name: &str) -> Vec<Option<f64>> {
    reported(view)
        .map(|block| block?.sum(name).map(ServerTimeSum::mean_us))
        .collect()
}
