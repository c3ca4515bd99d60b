//! Runs `abx compare`, and reads its record.

use std::error::Error;
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use abx_bench::child;

/// A study: its duration and its record.
#[derive(Debug)]
pub struct Study {
    /// The wall time from start to end.
    pub took: Duration,
    record: Value,
}

/// One comparison of two subjects by one metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The ratio and the ends of its interval, if the verdict allows them.
    pub bounds: Option<[f64; 3]>,
    pub verdict: String,
    /// The ratio of each complete block.
    pub per_block: Vec<f64>,
}

/// The claim of a comparison, of whatever kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    pub metric: String,
    /// The load or fault; empty if the comparison has none.
    pub load: String,
    pub verdict: String,
    /// The ratio, if the verdict allows it.
    pub ratio: Option<f64>,
}

impl Study {
    /// Runs `abx compare ARGUMENTS`, with records in `folder`, and reads its record.
    /// An exit code of 3 means that there is no verdict, which is not an error here.
    ///
    /// # Errors
    /// If there is no record, with the message of abx.
    pub fn run(
        abx: &Path,
        folder: &Path,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
        longest: Duration,
    ) -> Result<Study, Box<dyn Error>> {
        let file = folder.join("record.json");
        // An earlier study may have left a record.
        let _ = std::fs::remove_file(&file);
        let mut command = Command::new(abx);
        command
            .env("XDG_STATE_HOME", folder)
            .args(["compare", "--quiet", "--no-ceiling", "--json"])
            .arg(&file)
            .args(arguments);
        let begun = Instant::now();
        let ended = child::run(command, folder, longest)?;
        let took = begun.elapsed();
        let text = std::fs::read_to_string(&file)
            .map_err(|error| format!("no record ({error}): {}", ended.stderr.trim()))?;
        let record = serde_json::from_str(&text)?;
        Ok(Study { took, record })
    }

    /// The first comparison by this metric.
    ///
    /// # Errors
    /// If there is no such comparison.
    pub fn comparison(&self, metric: &str) -> Result<Comparison, Box<dyn Error>> {
        comparison(&self.record, metric).ok_or_else(|| format!("nothing compares {metric}").into())
    }

    /// The claims of all comparisons.
    pub fn claims(&self) -> Vec<Claim> {
        claims(&self.record)
    }

    /// A figure of a subject, by its name in the record.
    ///
    /// # Errors
    /// If the figure was not measured.
    pub fn figure(&self, subject: &str, key: &str) -> Result<f64, Box<dyn Error>> {
        figure(&self.record, subject, key).ok_or_else(|| format!("no {key} of {subject}").into())
    }
}

fn comparison(record: &Value, metric: &str) -> Option<Comparison> {
    let values = record["comparisons"].as_array()?;
    let value = values.iter().find(|value| value["metric"] == metric)?;
    let bounds = || {
        Some([
            value["ratio"].as_f64()?,
            value["low"].as_f64()?,
            value["high"].as_f64()?,
        ])
    };
    let per_block = value["per_block"].as_array()?;
    Some(Comparison {
        bounds: bounds(),
        verdict: value["verdict"].as_str()?.to_owned(),
        per_block: per_block.iter().filter_map(Value::as_f64).collect(),
    })
}

fn claims(record: &Value) -> Vec<Claim> {
    let comparisons = record["comparisons"].as_array().into_iter().flatten();
    let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let claim = |value: &Value| Claim {
        metric: text(value, "metric"),
        load: text(value, "load"),
        verdict: text(value, "verdict"),
        ratio: value["ratio"].as_f64(),
    };
    comparisons.map(claim).collect()
}

fn figure(record: &Value, subject: &str, key: &str) -> Option<f64> {
    let values = record["conclusions"]["summaries"].as_array()?;
    values.iter().find(|value| value["subject"] == subject)?[key].as_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_and_figures_are_read_from_a_record() {
        // Method: a record by hand, with a comparison without a claim.
        let record = serde_json::json!({
            "comparisons": [
                { "metric": "throughput", "verdict": "slower", "ratio": 0.9, "low": 0.8,
                  "high": 0.95, "per_block": [0.91, null, 0.89] },
                { "metric": "response_p99", "verdict": "invalid", "ratio": null, "low": null,
                  "high": null, "per_block": [] },
            ],
            "conclusions": { "summaries": [
                { "subject": "base", "throughput_per_s": 5.0 },
            ] },
        });
        let slower = comparison(&record, "throughput").unwrap();
        assert_eq!(slower.bounds, Some([0.9, 0.8, 0.95]));
        assert_eq!(
            (slower.verdict.as_str(), slower.per_block),
            ("slower", vec![0.91, 0.89])
        );
        assert_eq!(comparison(&record, "response_p99").unwrap().bounds, None);
        assert_eq!(comparison(&record, "memory"), None);
        let claims = claims(&record);
        assert_eq!((claims.len(), claims[0].ratio), (2, Some(0.9)));
        assert_eq!(
            (claims[1].verdict.as_str(), claims[1].ratio),
            ("invalid", None)
        );
        assert_eq!(figure(&record, "base", "throughput_per_s"), Some(5.0));
        assert_eq!(figure(&record, "more", "throughput_per_s"), None);
    }
}
