//! OpenMetrics text for Prometheus. It is also valid for readers of the older text format, such as
//! collectors of text files and promtool.

use std::fmt::Write;

use abx_verdict::{ExpectationResult, StudyRecord};

use crate::formats::series::{MetricType, Number, Unit, study_series};

/// A study as OpenMetrics text, without timestamps, so that a collector of text files accepts it.
#[must_use]
pub fn study_openmetrics(record: &StudyRecord, results: &[ExpectationResult]) -> String {
    let mut out = String::new();
    for series in study_series(record, results) {
        let (unit, kind) = (unit(series.unit), kind(series.kind));
        let mut name = format!("abx_{}", series.name);
        if let Some(unit) = unit {
            write!(name, "_{unit}").expect("strings take everything");
        }
        // The older format has no type for this, so it is a gauge that is always 1.
        if series.kind == MetricType::Info {
            name.push_str("_info");
        }
        line(&mut out, &format!("# TYPE {name} {kind}"));
        if let Some(unit) = unit {
            line(&mut out, &format!("# UNIT {name} {unit}"));
        }
        line(&mut out, &format!("# HELP {name} {}", escape(series.help)));
        let suffix = match series.kind {
            MetricType::Gauge | MetricType::Info => "",
            MetricType::Counter => "_total",
        };
        for point in &series.points {
            let labels: Vec<String> = point
                .labels
                .iter()
                .map(|(name, value)| format!("{name}=\"{}\"", escape(value)))
                .collect();
            let value = match point.value {
                Number::Float(value) => value.to_string(),
                Number::Count(count) => count.to_string(),
            };
            let labels = labels.join(",");
            line(&mut out, &format!("{name}{suffix}{{{labels}}} {value}"));
        }
    }
    out + "# EOF\n"
}

fn line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

fn unit(unit: Unit) -> Option<&'static str> {
    match unit {
        Unit::None => None,
        Unit::Ratio => Some("ratio"),
        Unit::Seconds => Some("seconds"),
        Unit::Bytes => Some("bytes"),
        Unit::PerSecond => Some("per_second"),
    }
}

fn kind(kind: MetricType) -> &'static str {
    match kind {
        MetricType::Gauge | MetricType::Info => "gauge",
        MetricType::Counter => "counter",
    }
}

/// Source: OpenMetrics 1.0, "Escaping".
fn escape(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('\n', "\\n")
        .replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn label_values_are_escaped() {
        // Method: the three letters that the standard names.
        assert_eq!(escape("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
    }
}
