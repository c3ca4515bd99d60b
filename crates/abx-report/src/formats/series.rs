//! A record as named series of numbers, for OpenMetrics and OTLP.

use abx_evidence::record::STUDY_SCHEMA;
use abx_evidence::{Figure, Finding, Level, Phase, PhaseTimes, Times};
use abx_verdict::{Comparison, ExpectationResult, RUN_SCHEMA, StudyRecord, Summary};
use serde_json::{Value, json};

use crate::words::wrap::clean_name;

pub(crate) struct Series {
    /// In snake case, without prefix and unit.
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    pub(crate) kind: MetricType,
    pub(crate) unit: Unit,
    pub(crate) points: Vec<DataPoint>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MetricType {
    Gauge,
    /// A number that only grows.
    Counter,
    /// Words as labels. The value is always 1.
    Info,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    None,
    Ratio,
    Seconds,
    Bytes,
    PerSecond,
}

pub(crate) struct DataPoint {
    pub(crate) labels: Labels,
    pub(crate) value: Number,
}

pub(crate) type Labels = Vec<(&'static str, String)>;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Number {
    Float(f64),
    Count(u64),
}

/// All series of a study or of a run that have points, with harmless labels.
pub(crate) fn study_series(record: &StudyRecord, results: &[ExpectationResult]) -> Vec<Series> {
    let is_run = record.run().is_some();
    let labels = |summary: &Summary| {
        if is_run {
            return vec![("url", summary.subject.clone())];
        }
        vec![
            ("load", summary.load.clone()),
            ("subject", summary.subject.clone()),
        ]
    };
    let summaries = || record.conclusions.summaries.iter();
    let labelled: Vec<_> = summaries()
        .map(|summary| (labels(summary), summary))
        .collect();
    let mut out = vec![if is_run {
        run_info(record)
    } else {
        study_info(record)
    }];
    out.extend(comparisons(record));
    let [requests, generator_busy, more @ ..] = summary_series(&labelled);
    out.extend(more);
    out.push(requests);
    let gauge = |name, help, unit, value: fn(&Summary) -> Option<f64>| {
        let points =
            summaries().filter_map(|summary| Some(float(labels(summary), value(summary)?)));
        gauge(name, help, unit, points.collect())
    };
    out.extend([
        gauge(
            "ready_time",
            "From a subject's start to its first correct response, the median over blocks.",
            Unit::Seconds,
            |summary| summary.ready_s,
        ),
        gauge(
            "loaded",
            "How long a subject was loaded.",
            Unit::Seconds,
            |summary| Some(summary.loaded_s),
        ),
        gauge(
            "server_busy",
            "The share of its CPUs that a subject used.",
            Unit::Ratio,
            |summary| summary.server_busy,
        ),
        generator_busy,
        findings(&record.conclusions.validity.findings),
        expectations(results),
    ]);
    out.retain(|series| !series.points.is_empty());
    let points = out.iter_mut().flat_map(|series| &mut series.points);
    for (_, value) in points.flat_map(|point| &mut point.labels) {
        *value = clean_name(value);
    }
    out
}

/// A word in the spelling of records, such as `faster`.
pub(crate) fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn summary_series(labelled: &[(Labels, &Summary)]) -> [Series; 10] {
    let of = |value: fn(&Summary) -> Option<f64>| {
        let points = labelled.iter();
        points
            .filter_map(|(labels, summary)| Some(float(labels.clone(), value(summary)?)))
            .collect()
    };
    let times =
        |pick: fn(&(Labels, &Summary)) -> Vec<DataPoint>| labelled.iter().flat_map(pick).collect();
    [
        requests(labelled),
        gauge(
            "generator_busy",
            "The share of a CPU that the generator's busiest thread used.",
            Unit::Ratio,
            of(|summary| summary.generator_busy),
        ),
        gauge(
            "throughput",
            "Verified responses per second.",
            Unit::PerSecond,
            of(|summary| summary.throughput_per_s),
        ),
        gauge(
            "response_time",
            "From the intended send to the last byte.",
            Unit::Seconds,
            times(|(labels, summary)| figures(labels, &summary.response_time_us)),
        ),
        gauge(
            "response_time_at_least",
            "Which figures of the response time are lower bounds: requests had no response.",
            Unit::None,
            times(|(labels, summary)| bounds(labels, &summary.response_time_us)),
        ),
        gauge(
            "service_time",
            "From the actual send to the last byte.",
            Unit::Seconds,
            times(|(labels, summary)| figures(labels, &summary.service_time_us)),
        ),
        gauge(
            "service_time_at_least",
            "Which figures of the service time are lower bounds: requests had no response.",
            Unit::None,
            times(|(labels, summary)| bounds(labels, &summary.service_time_us)),
        ),
        gauge(
            "phase_time",
            "Where the time of a random sample of responses went: parts of the response time.",
            Unit::Seconds,
            times(|(labels, summary)| {
                let times = summary.phases.as_ref();
                times.map_or(Vec::new(), |times| phases(labels, times))
            }),
        ),
        gauge(
            "server_cpu_per_answer",
            "The server's CPU time per complete response.",
            Unit::Seconds,
            of(|summary| Some(summary.server_cpu_us_per_request? / 1e6)),
        ),
        gauge(
            "server_memory",
            "The most memory of the server's processes together.",
            Unit::Bytes,
            of(|summary| Some(summary.rss_bytes? as f64)),
        ),
    ]
}

/// A point in seconds for each known figure.
fn figures(labels: &Labels, times: &Times) -> Vec<DataPoint> {
    let points = Figure::ALL.into_iter().filter_map(|figure| {
        let time_us = times.figure(figure)?;
        Some(float(with_figure(labels, figure), time_us / 1e6))
    });
    points.collect()
}

fn bounds(labels: &Labels, times: &Times) -> Vec<DataPoint> {
    let figures = times.at_least.iter();
    figures
        .map(|figure| one(with_figure(labels, *figure)))
        .collect()
}

fn phases(labels: &Labels, times: &PhaseTimes) -> Vec<DataPoint> {
    let points = Phase::ALL.iter().flat_map(|phase| {
        let time = times.phase(*phase);
        let mut labels = labels.clone();
        labels.push(("phase", phase.name().replace(' ', "_")));
        let figures = [
            (Figure::Mean, time.p50_us.map(|_| time.mean_us)),
            (Figure::P50, time.p50_us.map(|us| us as f64)),
            (Figure::P99, time.p99_us.map(|us| us as f64)),
        ];
        figures.map(|(figure, us)| Some(float(with_figure(&labels, figure), us? / 1e6)))
    });
    points.flatten().collect()
}

fn with_figure(labels: &Labels, figure: Figure) -> Labels {
    let mut labels = labels.clone();
    labels.push(("figure", figure.name().to_owned()));
    labels
}

fn run_info(record: &StudyRecord) -> Series {
    let labels = vec![
        ("schema", RUN_SCHEMA.to_owned()),
        ("version", record.measured.abx_version.clone()),
    ];
    let help = "Description of the run, with the version of abx.";
    info("run", help, labels)
}

fn study_info(record: &StudyRecord) -> Series {
    let labels = vec![
        ("schema", STUDY_SCHEMA.to_owned()),
        ("version", record.measured.abx_version.clone()),
        (
            "baseline",
            record
                .measured
                .only_baseline()
                .unwrap_or_default()
                .to_owned(),
        ),
        ("seed", record.measured.seed.to_string()),
        ("end", word(&json!(record.measured.end)["reason"])),
        ("validity", word(&json!(record.conclusions.validity.status))),
        (
            "blocks",
            record.measured.complete_blocks().count().to_string(),
        ),
    ];
    let help = "Description of the study and how it ended.";
    info("study", help, labels)
}

fn comparisons(record: &StudyRecord) -> [Series; 4] {
    let labels = |comparison: &Comparison| {
        let mut labels = vec![
            ("metric", comparison.metric.id().to_owned()),
            ("role", word(&json!(comparison.role))),
            ("load", comparison.load.clone()),
            ("subject", comparison.subject.clone()),
            ("baseline", comparison.baseline.clone()),
        ];
        // Labels distinguish time series, so steps need one.
        labels.extend(comparison.step.clone().map(|step| ("step", step)));
        labels
    };
    let of = |name, help, value: fn(&Comparison) -> Option<f64>| {
        let points = record.conclusions.comparisons.iter();
        let points =
            points.filter_map(|comparison| Some(float(labels(comparison), value(comparison)?)));
        gauge(name, help, Unit::Ratio, points.collect())
    };
    let verdict = |comparison: &Comparison| {
        let mut labels = labels(comparison);
        labels.push(("verdict", word(&json!(comparison.verdict))));
        labels.push(("fragile", comparison.fragile.to_string()));
        labels.push(("at_least", comparison.at_least.to_string()));
        one(labels)
    };
    [
        of("comparison", "Subject over baseline.", |comparison| {
            comparison.ratio
        }),
        of(
            "comparison_low",
            "The lower end of the interval of subject over baseline.",
            |comparison| comparison.low,
        ),
        of(
            "comparison_high",
            "The upper end of the interval of subject over baseline.",
            |comparison| comparison.high,
        ),
        Series {
            name: "comparison_verdict",
            help: "Verdict on subject over baseline.",
            kind: MetricType::Info,
            unit: Unit::None,
            points: record.conclusions.comparisons.iter().map(verdict).collect(),
        },
    ]
}

fn requests(labelled: &[(Labels, &Summary)]) -> Series {
    let points = labelled.iter().flat_map(|(labels, summary)| {
        summary.outcomes.iter().map(|(outcome, count)| {
            let mut labels = labels.clone();
            labels.push(("outcome", outcome.name().to_owned()));
            DataPoint {
                labels,
                value: Number::Count(count),
            }
        })
    });
    Series {
        name: "requests",
        help: "Attempts by outcome.",
        kind: MetricType::Counter,
        unit: Unit::None,
        points: points.collect(),
    }
}

fn findings(findings: &[Finding]) -> Series {
    let point = |level: Level| {
        let findings = findings.iter();
        let count = findings.filter(|finding| finding.level == level).count();
        DataPoint {
            labels: vec![("level", word(&json!(level)))],
            value: Number::Count(count as u64),
        }
    };
    let points = [Level::Note, Level::Bound, Level::Void].map(point).into();
    let help = "Findings by level.";
    gauge("findings", help, Unit::None, points)
}

fn expectations(results: &[ExpectationResult]) -> Series {
    let point = |result: &ExpectationResult| {
        let metric = result.metric.map_or("", |metric| metric.id());
        one(vec![
            ("expected", result.expected.clone()),
            ("metric", metric.to_owned()),
            ("load", result.load.clone()),
            ("subject", result.subject.clone()),
            ("baseline", result.other.clone()),
            ("standing", result.standing.word().to_owned()),
        ])
    };
    Series {
        name: "expectation",
        help: "Results of the expectations of the study.",
        kind: MetricType::Info,
        unit: Unit::None,
        points: results.iter().map(point).collect(),
    }
}

fn gauge(name: &'static str, help: &'static str, unit: Unit, points: Vec<DataPoint>) -> Series {
    Series {
        name,
        help,
        kind: MetricType::Gauge,
        unit,
        points,
    }
}

fn info(name: &'static str, help: &'static str, labels: Labels) -> Series {
    Series {
        name,
        help,
        kind: MetricType::Info,
        unit: Unit::None,
        points: vec![one(labels)],
    }
}

fn float(labels: Labels, value: f64) -> DataPoint {
    DataPoint {
        labels,
        value: Number::Float(value),
    }
}

/// A point of an info series, or a flag.
fn one(labels: Labels) -> DataPoint {
    DataPoint {
        labels,
        value: Number::Count(1),
    }
}
