//! A record as named series of numbers: what OpenMetrics and OTLP both print.

use abx_evidence::record::STUDY_SCHEMA;
use abx_evidence::{
    Comparison, ExpectationResult, Figure, Finding, Level, Phase, PhaseTimes, RunRecord,
    StudyRecord, Summary, Times,
};
use serde_json::{Value, json};

use crate::words::described::Described;

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
    /// Only grows.
    Counter,
    /// Words in its labels, and always 1.
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

/// Everything of a study, series without points left out.
pub(crate) fn study_series(
    record: &StudyRecord,
    expectation_results: &[ExpectationResult],
) -> Vec<Series> {
    let labels = |one: &Summary| vec![("load", one.load.clone()), ("subject", one.subject.clone())];
    let summaries = || record.conclusions.summaries.iter();
    let described: Vec<_> = summaries()
        .map(|one| (labels(one), Described::from(one)))
        .collect();
    let mut all = vec![study_info(record)];
    all.extend(comparisons(record));
    let [requests, generator_busy, more @ ..] = described_series(&described);
    all.extend(more);
    all.push(requests);
    let gauge = |name, help, unit, value: fn(&Summary) -> Option<f64>| {
        let points = summaries().filter_map(|one| Some(float(labels(one), value(one)?)));
        gauge(name, help, unit, points.collect())
    };
    all.extend([
        gauge(
            "ready_time",
            "From a subject's start to its first right answer, the median over blocks.",
            Unit::Seconds,
            |one| one.ready_s,
        ),
        gauge(
            "loaded",
            "For how long a subject was loaded.",
            Unit::Seconds,
            |one| Some(one.loaded_s),
        ),
        gauge(
            "server_busy",
            "The share of its processors that a subject used.",
            Unit::Ratio,
            |one| one.server_busy,
        ),
        generator_busy,
        findings(&record.conclusions.validity.findings),
        expectations(expectation_results),
    ]);
    all.retain(|series| !series.points.is_empty());
    all
}

/// Everything of a run, series without points left out.
pub(crate) fn run_series(record: &RunRecord) -> Vec<Series> {
    let info = vec![
        ("schema", record.schema.clone()),
        ("version", record.abx_version.clone()),
    ];
    let labels = vec![("url", record.settings.url.clone())];
    let described = [(labels, Described::from(record))];
    let [requests, generator_busy, more @ ..] = described_series(&described);
    let what = "What was measured, and by which version of abx.";
    let mut all = vec![
        of_info("run", what, info),
        requests,
        generator_busy,
        findings(&record.findings),
    ];
    all.extend(more);
    all.retain(|series| !series.points.is_empty());
    all
}

/// A word as records have it, such as `faster`.
pub(crate) fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn described_series(all: &[(Labels, Described)]) -> [Series; 10] {
    let of = |value: fn(&Described) -> Option<f64>| {
        let points = all.iter();
        points
            .filter_map(|(labels, one)| Some(float(labels.clone(), value(one)?)))
            .collect()
    };
    let times =
        |pick: fn(&(Labels, Described)) -> Vec<DataPoint>| all.iter().flat_map(pick).collect();
    [
        requests(all),
        gauge(
            "generator_busy",
            "The share of a processor that the generator's busiest thread used.",
            Unit::Ratio,
            of(|one| one.generator_busy),
        ),
        gauge(
            "throughput",
            "Verified answers per second.",
            Unit::PerSecond,
            of(|one| one.throughput_per_s),
        ),
        gauge(
            "response_time",
            "From the intended send to the last byte.",
            Unit::Seconds,
            times(|(labels, one)| figures(labels, one.response)),
        ),
        gauge(
            "response_time_at_least",
            "Which figures of the response time are lower bounds: requests had no answer.",
            Unit::None,
            times(|(labels, one)| bounds(labels, one.response)),
        ),
        gauge(
            "service_time",
            "From the actual send to the last byte.",
            Unit::Seconds,
            times(|(labels, one)| figures(labels, one.service)),
        ),
        gauge(
            "service_time_at_least",
            "Which figures of the service time are lower bounds: requests had no answer.",
            Unit::None,
            times(|(labels, one)| bounds(labels, one.service)),
        ),
        gauge(
            "phase_time",
            "Where the time of a random sample of answers went: parts of the response time.",
            Unit::Seconds,
            times(|(labels, one)| one.phases.map_or(Vec::new(), |times| phases(labels, times))),
        ),
        gauge(
            "server_cpu_per_answer",
            "The server's processor time for each whole answer.",
            Unit::Seconds,
            of(|one| Some(one.cpu_us? / 1e6)),
        ),
        gauge(
            "server_memory",
            "The most memory of the server's processes together.",
            Unit::Bytes,
            of(|one| Some(one.rss_bytes? as f64)),
        ),
    ]
}

/// A time in µs of each figure.
fn figures(labels: &Labels, times: &Times) -> Vec<DataPoint> {
    let each = Figure::ALL.into_iter();
    each.filter_map(|figure| {
        let time_us = times.figure(figure)?;
        Some(float(with_figure(labels, figure), time_us / 1e6))
    })
    .collect()
}

fn bounds(labels: &Labels, times: &Times) -> Vec<DataPoint> {
    let each = times.at_least.iter();
    each.map(|figure| one(with_figure(labels, *figure)))
        .collect()
}

fn phases(labels: &Labels, times: &PhaseTimes) -> Vec<DataPoint> {
    let each = Phase::ALL.iter().flat_map(|phase| {
        let of = times.phase(*phase);
        let mut labels = labels.clone();
        labels.push(("phase", phase.name().replace(' ', "_")));
        let known = [
            (Figure::Mean, of.p50_us.map(|_| of.mean_us)),
            (Figure::P50, of.p50_us.map(|time_us| time_us as f64)),
            (Figure::P99, of.p99_us.map(|time_us| time_us as f64)),
        ];
        known.map(|(figure, time_us)| Some(float(with_figure(&labels, figure), time_us? / 1e6)))
    });
    each.flatten().collect()
}

fn with_figure(labels: &Labels, figure: Figure) -> Labels {
    let mut labels = labels.clone();
    labels.push(("figure", figure.name().to_owned()));
    labels
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
    of_info(
        "study",
        "What was measured, how it ended, and what may be claimed of it.",
        labels,
    )
}

fn comparisons(record: &StudyRecord) -> [Series; 4] {
    let labels = |one: &Comparison| {
        let mut labels = vec![
            ("metric", one.metric.id().to_owned()),
            ("role", word(&json!(one.role))),
            ("load", one.load.clone()),
            ("subject", one.subject.clone()),
            ("baseline", one.baseline.clone()),
        ];
        // A time series is told from others by its labels.
        labels.extend(one.step.clone().map(|step| ("step", step)));
        labels
    };
    let of = |name, help, value: fn(&Comparison) -> Option<f64>| {
        let points = record.conclusions.comparisons.iter();
        let points = points.filter_map(|one| Some(float(labels(one), value(one)?)));
        gauge(name, help, Unit::Ratio, points.collect())
    };
    let verdict = |one: &Comparison| {
        let mut labels = labels(one);
        labels.push(("verdict", word(&json!(one.verdict))));
        labels.push(("fragile", one.fragile.to_string()));
        labels.push(("at_least", one.at_least.to_string()));
        self::one(labels)
    };
    [
        of("comparison", "Subject over baseline.", |one| one.ratio),
        of(
            "comparison_low",
            "The lower end of the interval of subject over baseline.",
            |one| one.low,
        ),
        of(
            "comparison_high",
            "The upper end of the interval of subject over baseline.",
            |one| one.high,
        ),
        Series {
            name: "comparison_verdict",
            help: "What the interval of subject over baseline means.",
            kind: MetricType::Info,
            unit: Unit::None,
            points: record.conclusions.comparisons.iter().map(verdict).collect(),
        },
    ]
}

fn requests(all: &[(Labels, Described)]) -> Series {
    let points = all.iter().flat_map(|(labels, one)| {
        one.outcomes.iter().map(|(outcome, count)| {
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
        help: "Attempts by what became of them.",
        kind: MetricType::Counter,
        unit: Unit::None,
        points: points.collect(),
    }
}

fn findings(all: &[Finding]) -> Series {
    let point = |level: Level| DataPoint {
        labels: vec![("level", word(&json!(level)))],
        value: Number::Count(all.iter().filter(|one| one.level == level).count() as u64),
    };
    let points = [Level::Note, Level::Bound, Level::Void].map(point).into();
    let help = "What limits the claims, by level.";
    gauge("findings", help, Unit::None, points)
}

fn expectations(expectation_results: &[ExpectationResult]) -> Series {
    let point = |expectation_result: &ExpectationResult| {
        let metric = expectation_result.metric.map_or("", |metric| metric.id());
        one(vec![
            ("expected", expectation_result.expected.clone()),
            ("metric", metric.to_owned()),
            ("load", expectation_result.load.clone()),
            ("subject", expectation_result.subject.clone()),
            ("baseline", expectation_result.other.clone()),
            ("standing", expectation_result.standing.word().to_owned()),
        ])
    };
    Series {
        name: "expectation",
        help: "What the study says to what was expected of it.",
        kind: MetricType::Info,
        unit: Unit::None,
        points: expectation_results.iter().map(point).collect(),
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

fn of_info(name: &'static str, help: &'static str, labels: Labels) -> Series {
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

fn one(labels: Labels) -> DataPoint {
    DataPoint {
        labels,
        value: Number::Count(1),
    }
}
