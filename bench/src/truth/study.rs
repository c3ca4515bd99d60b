//! One `abx compare`, and what its record says.

use std::error::Error;
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use abx_bench::child;

/// What a study cost, and its record.
#[derive(Debug)]
pub struct Study {
    /// From its start to its end, on the wall.
    pub took: Duration,
    record: Value,
}

/// One comparison of two subjects by one metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The ratio and its interval's ends, where the verdict allows them.
    pub bounds: Option<[f64; 3]>,
    pub verdict: String,
    /// The ratio of each complete block.
    pub per_block: Vec<f64>,
}

/// What one comparison claims, whatever it is for.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    pub metric: String,
    /// Under which load or fault; empty for what is of none.
    pub load: String,
    pub verdict: String,
    /// The ratio, where the verdict allows one.
    pub ratio: Option<f64>,
}

impl Study {
    /// Runs `abx compare ARGUMENTS`, with records in `folder`, and reads its record.
    /// An exit code of 3 says that there is no verdict, and is no error here.
    ///
    /// # Errors
    /// When there is no record, with what abx said.
    pub fn run(
        abx: &Path,
        folder: &Path,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
        longest: Duration,
    ) -> Result<Study, Box<dyn Error>> {
        let file = folder.join("record.json");
        // Of an earlier study; there may be none.
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
    /// When there is none.
    pub fn comparison(&self, metric: &str) -> Result<Comparison, Box<dyn Error>> {
        comparison(&self.record, metric).ok_or_else(|| format!("nothing compares {metric}").into())
    }

    /// Every comparison's claim.
    pub fn claims(&self) -> Vec<Claim> {
        claims(&self.record)
    }

    /// A figure of a subject, by its name in the record.
    ///
    /// # Errors
    /// When it was not measured.
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
    let flatten = record["comparisons"].as_array().into_iter().flatten();
    let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let each = flatten.map(|value| Claim {
        metric: text(value, "metric"),
        load: text(value, "load"),
        verdict: text(value, "verdict"),
        ratio: value["ratio"].as_f64(),
    });
    each.collect()
}

fn figure(record: &Value, subject: &str, key: &str) -> Option<f64> {
    let values = record["conclusions"]["summaries"].as_array()?;
    values.iter().find(|value| value["subject"] == subject)?[key].as_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_gives_comparisons_and_figures() {
        // Method: a record by hand, with a comparison that may claim nothing.
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
        let all_claims = claims(&record);
        assert_eq!((all_claims.len(), all_claims[0].ratio), (2, Some(0.9)));
        assert_eq!(
            (all_claims[1].verdict.as_str(), all_claims[1].ratio),
            ("invalid", None)
        );
        assert_eq!(figure(&record, "base", "throughput_per_s"), Some(5.0));
        assert_eq!(figure(&record, "more", "throughput_per_s"), None);
    }
}
