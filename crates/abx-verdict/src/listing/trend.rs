//! How the figures of one study change from record to record: [`Trend::of`].

use std::collections::BTreeMap;

use abx_evidence::record::RevisionRecord;
use abx_evidence::{Level, OutputHead, OutputKind, Times};
pub use abx_stats::series::changes::VALUES_MIN;
use abx_stats::series::changes::changes;
use abx_stats::student::Confidence;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::bisect::CommitRecord;
use crate::findings::validity::Validity;
use crate::judge::comparison::Bounds;
use crate::judge::metric::Metric;
use crate::judge::verdict::Verdict;
use crate::listing::history::{Outline, OutlineError};

/// The records of one study over time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Trend {
    #[serde(flatten)]
    pub head: OutputHead,
    /// The requested name of the study.
    pub study: String,
    /// The number of its records.
    pub records: usize,
    /// The number of older records that are left out.
    pub left_out: usize,
    /// One per machine, subject and load, in the order in which they first appear.
    pub series: Vec<TrendSeries>,
}

/// One subject under one load on one machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TrendSeries {
    pub subject: String,
    pub load: String,
    pub metric: Metric,
    pub machine: TrendMachine,
    /// In order of time; records without a valid value have none.
    pub points: Vec<TrendPoint>,
    /// In order of time.
    pub changes: Vec<TrendChange>,
}

/// The machine of a series. Records of different machines are separate series.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct TrendMachine {
    /// The CPU's name.
    pub cpu_model: Option<String>,
    /// The number of CPUs that abx was allowed to use.
    pub cpus: usize,
}

/// One record in a series.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TrendPoint {
    /// The record's id.
    pub record: String,
    /// When it started, in milliseconds since 1970-01-01 UTC.
    pub started_unix_ms: u64,
    /// The text that a person gave the record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The short hash of the commit that the subject was built from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// By the metric: responses per second, µs, or bytes.
    pub value: f64,
}

/// A change of level.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TrendChange {
    /// The index of the first record after it.
    pub at: usize,
    /// The last record before it, and the first after it.
    pub records: [String; 2],
    /// The level after it over the level before it.
    #[serde(flatten)]
    pub bounds: Bounds,
    /// The direction of the change, by the metric.
    pub verdict: Verdict,
}

/// One record, as far as a trend needs it.
#[derive(Debug, Clone, PartialEq)]
pub struct TrendRecord {
    id: String,
    outline: Outline,
    figures: Vec<TrendFigure>,
}

#[derive(Debug, Clone, PartialEq)]
struct TrendFigure {
    subject: String,
    load: String,
    metric: Metric,
    commit: Option<String>,
    value: f64,
}

impl Outline {
    /// Whether it is a record of the study of this name, or has a subject of this name and no
    /// study name.
    #[must_use]
    pub fn is_of_study(&self, name: &str) -> bool {
        match &self.study {
            Some(study) => study == name,
            None => {
                self.search.is_none() && self.subjects.iter().any(|subject| subject.name == name)
            }
        }
    }
}

impl TrendRecord {
    /// Reads the keys that a trend needs of a record with this id. By default the metric is
    /// throughput, or p99 for an open loop, whose throughput a slow server may reach too.
    ///
    /// # Errors
    /// [`OutlineError`] if the text is not a record of a study or a run.
    pub fn read(
        id: String,
        json: &str,
        metric: Option<Metric>,
    ) -> Result<TrendRecord, OutlineError> {
        let outline = Outline::read(json)?;
        let keys: TrendKeys = serde_json::from_str(json)?;
        let commits = keys.subjects.into_iter().filter_map(|subject| {
            let commit = CommitRecord::shortened(&subject.revision?.commit).to_owned();
            Some((subject.name, commit))
        });
        let commits: BTreeMap<String, String> = commits.collect();
        let figure = |summary: SummaryKeys| {
            let metric = metric.unwrap_or(match summary.offered {
                Some(_) => Metric::ResponseP99,
                None => Metric::Throughput,
            });
            let value = summary.value(metric)?;
            let is_void = keys.validity.findings.iter().any(|finding| {
                finding.level == Level::Void
                    && finding.touches(&summary.load, [&summary.subject; 2])
            });
            let is_valid = value > 0.0 && value.is_finite() && !is_void;
            is_valid.then(|| TrendFigure {
                commit: commits.get(&summary.subject).cloned(),
                subject: summary.subject,
                load: summary.load,
                metric,
                value,
            })
        };
        let figures = keys.conclusions.summaries.into_iter().filter_map(figure);
        Ok(TrendRecord {
            id,
            outline,
            figures: figures.collect(),
        })
    }

    fn machine(&self) -> TrendMachine {
        TrendMachine {
            cpu_model: self.outline.machine.cpu_model.clone(),
            cpus: self.outline.machine.cpus,
        }
    }
}

impl Trend {
    /// Puts records into series, in order of time, and finds where their level changes. Of a
    /// record without a study, only the subject of this name counts.
    #[must_use]
    pub fn of(study: &str, mut records: Vec<TrendRecord>, left_out: usize) -> Trend {
        records.sort_by(|record, other| {
            let key = |record: &TrendRecord| (record.outline.started_unix_ms, record.id.clone());
            key(record).cmp(&key(other))
        });
        let mut series: Vec<TrendSeries> = Vec::new();
        for record in &records {
            let machine = record.machine();
            let is_named =
                |figure: &&TrendFigure| record.outline.study.is_some() || figure.subject == study;
            for figure in record.figures.iter().filter(is_named) {
                let is_same = |series: &&mut TrendSeries| {
                    series.subject == figure.subject
                        && series.load == figure.load
                        && series.metric == figure.metric
                        && series.machine == machine
                };
                let point = TrendPoint {
                    record: record.id.clone(),
                    started_unix_ms: record.outline.started_unix_ms,
                    label: record.outline.label.clone(),
                    commit: figure.commit.clone(),
                    value: figure.value,
                };
                match series.iter_mut().find(is_same) {
                    Some(series) => series.points.push(point),
                    None => series.push(TrendSeries {
                        subject: figure.subject.clone(),
                        load: figure.load.clone(),
                        metric: figure.metric,
                        machine: machine.clone(),
                        points: vec![point],
                        changes: Vec::new(),
                    }),
                }
            }
        }
        series.iter_mut().for_each(TrendSeries::find_changes);
        Trend {
            head: OutputKind::Trend.into(),
            study: study.to_owned(),
            records: records.len(),
            left_out,
            series,
        }
    }
}

impl TrendSeries {
    /// Whether it has enough records to be searched for changes.
    #[must_use]
    pub fn is_searched(&self) -> bool {
        self.points.len() >= VALUES_MIN
    }

    fn find_changes(&mut self) {
        let logs: Vec<f64> = self.points.iter().map(|point| point.value.ln()).collect();
        // Each value is positive and finite.
        let changes = changes(&logs).unwrap_or_default();
        let changes = changes.into_iter().map(|change| {
            let ratios = change.difference.ratios(Confidence::PRINTED.share());
            let records = [change.at - 1, change.at];
            TrendChange {
                at: change.at,
                records: records.map(|index| self.points[index].record.clone()),
                verdict: Verdict::of_change(ratios.ratio, self.metric.sense()),
                bounds: ratios.into(),
            }
        });
        self.changes = changes.collect();
    }
}

/// The keys of a record that a trend needs; the others are skipped.
#[derive(Deserialize)]
struct TrendKeys {
    subjects: Vec<SubjectKeys>,
    #[serde(default)]
    validity: Validity,
    #[serde(default)]
    conclusions: ConclusionKeys,
}

#[derive(Deserialize)]
struct SubjectKeys {
    name: String,
    revision: Option<RevisionRecord>,
}

#[derive(Default, Deserialize)]
struct ConclusionKeys {
    #[serde(default)]
    summaries: Vec<SummaryKeys>,
}

#[derive(Deserialize)]
struct SummaryKeys {
    subject: String,
    load: String,
    throughput_per_s: Option<f64>,
    server_cpu_us_per_request: Option<f64>,
    response_time_us: Times,
    pss_bytes: Option<u64>,
    /// Only in an open loop.
    offered: Option<IgnoredAny>,
}

impl SummaryKeys {
    fn value(&self, metric: Metric) -> Option<f64> {
        match metric {
            Metric::Throughput => self.throughput_per_s,
            Metric::ServerCpu => self.server_cpu_us_per_request,
            Metric::ResponseP99 => self.response_time_us.p99.map(|us| us as f64),
            Metric::Memory => self.pss_bytes.map(|bytes| bytes as f64),
            _ => None,
        }
    }
}
