//! OTLP metrics in their JSON encoding, ready to be posted to a collector.

use abx_verdict::{ExpectationResult, StudyRecord};
use serde_json::{Value, json};

use crate::formats::series::{DataPoint, Labels, MetricType, Number, Series, Unit, study_series};
use crate::words::wrap::clean_name;

/// A study as the body of a request to `/v1/metrics`.
#[must_use]
pub fn study_otlp(record: &StudyRecord, results: &[ExpectationResult]) -> String {
    let measured = &record.measured;
    let elapsed_s = record
        .run()
        .map_or(measured.elapsed_s, |run| run.elapsed_s());
    let span = Span::of(measured.started_unix_ms, elapsed_s);
    let version = &clean_name(&measured.abx_version);
    let all_series = study_series(record, results);
    let metrics = all_series.iter().map(|series| metric(series, span));
    let metrics: Vec<Value> = metrics.collect();
    let service = vec![
        ("service.name", "abx".to_owned()),
        ("service.version", version.clone()),
    ];
    let document = json!({"resourceMetrics": [{
        "resource": {"attributes": attributes(&service)},
        "scopeMetrics": [{
            "scope": {"name": "abx", "version": version},
            "metrics": metrics,
        }],
    }]});
    document.to_string()
}

/// The time of measurement, in ns since 1970. OTLP's JSON has such numbers as strings.
#[derive(Clone, Copy)]
struct Span {
    start_ns: u128,
    end_ns: u128,
}

impl Span {
    fn of(started_unix_ms: u64, elapsed_s: f64) -> Span {
        let start_ns = u128::from(started_unix_ms) * 1_000_000;
        Span {
            start_ns,
            end_ns: start_ns + (elapsed_s.max(0.0) * 1e9) as u128,
        }
    }
}

fn metric(series: &Series, span: Span) -> Value {
    let points = series.points.iter();
    let points: Vec<Value> = points.map(|point| data_point(point, span)).collect();
    let mut metric = json!({
        "name": format!("abx.{}", series.name),
        "description": series.help,
        "unit": unit(series),
    });
    match series.kind {
        MetricType::Counter => {
            metric["sum"] = json!({
                "dataPoints": points,
                "aggregationTemporality": CUMULATIVE,
                "isMonotonic": true,
            });
        }
        MetricType::Gauge | MetricType::Info => metric["gauge"] = json!({"dataPoints": points}),
    }
    metric
}

fn data_point(point: &DataPoint, span: Span) -> Value {
    let mut data = json!({
        "attributes": attributes(&point.labels),
        "startTimeUnixNano": span.start_ns.to_string(),
        "timeUnixNano": span.end_ns.to_string(),
    });
    match point.value {
        Number::Float(value) => data["asDouble"] = json!(value),
        Number::Count(count) => data["asInt"] = json!(count.to_string()),
    }
    data
}

fn attributes(labels: &Labels) -> Value {
    let attributes = labels.iter();
    attributes
        .map(|(key, value)| json!({"key": key, "value": {"stringValue": value}}))
        .collect()
}

fn unit(series: &Series) -> &'static str {
    match (series.kind, series.unit) {
        (MetricType::Counter, _) => "{request}",
        (_, Unit::None | Unit::Ratio) => "1",
        (_, Unit::Seconds) => "s",
        (_, Unit::Bytes) => "By",
        (_, Unit::PerSecond) => "{request}/s",
    }
}

/// `AGGREGATION_TEMPORALITY_CUMULATIVE`.
const CUMULATIVE: u8 = 2;
