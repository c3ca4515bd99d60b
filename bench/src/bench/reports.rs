//! Reads the output of generators into the same figures; `None` if a figure is missing.

use serde_json::Value;

/// The figures that a generator reports.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Correct responses, as far as the generator verifies them.
    pub completed: u64,
    /// All other reported requests.
    pub failed: u64,
    /// Requests per second, as the generator counts them.
    pub per_second: f64,
    /// Connections that never got a response; `None` if this is not reported.
    pub silent: Option<u64>,
    /// How late requests were; `None` if this is not reported.
    pub late: Option<Late>,
    /// CPU time spent waiting without sleeping, in µs; `None` if this is not reported.
    pub awake_us: Option<f64>,
}

/// How late the generator sent requests, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Late {
    pub median_us: f64,
    /// The 99th percentile.
    pub p99_us: f64,
}

/// Reads the output of a bare loop, paced or not.
pub fn bare(text: &str) -> Option<Report> {
    let completed = number_after(text, "requests ")? as u64;
    Some(Report {
        completed,
        failed: number_after(text, "failures ")? as u64,
        per_second: completed as f64 / number_after(text, "seconds ")?,
        silent: Some(number_after(text, "silent ")? as u64),
        late: number_after(text, "late_p50_us ")
            .zip(number_after(text, "late_p99_us "))
            .map(|(median_us, p99_us)| Late { median_us, p99_us }),
        awake_us: number_after(text, "awake_us "),
    })
}

/// Reads the record of abx.
pub fn abx(text: &str) -> Option<Report> {
    let record: Value = serde_json::from_str(text).ok()?;
    let completed = record["ok"].as_u64()?;
    // Columns of zeroes are left out.
    let slice = &record["blocks"][0]["loads"][0]["slices"];
    let count = |column: &str| slice[column][0].as_u64().unwrap_or(0);
    Some(Report {
        completed,
        failed: record["sent"].as_u64()? - completed,
        per_second: record["throughput_per_s"].as_f64()?,
        silent: Some(count("silent")),
        late: record["lateness_us"]["p50"]
            .as_f64()
            .zip(record["lateness_us"]["p99"].as_f64())
            .map(|(median_us, p99_us)| Late { median_us, p99_us }),
        awake_us: Some(count("waiting_awake_ns") as f64 / 1e3),
    })
}

/// Reads the report of wrk.
pub fn wrk(text: &str) -> Option<Report> {
    let summary = text.lines().find(|line| line.contains(" requests in "))?;
    let broken = text.lines().find(|line| line.contains("Socket errors:"));
    let wrong = number_after(text, "Non-2xx or 3xx responses: ").unwrap_or(0.0);
    let completed = summary.split_whitespace().next()?.parse::<u64>().ok()?;
    Some(Report {
        completed: completed.checked_sub(wrong as u64)?,
        failed: wrong as u64 + broken.map_or(0, sum_of_numbers),
        per_second: number_after(text, "Requests/sec:")?,
        silent: None,
        late: None,
        awake_us: None,
    })
}

/// Reads the report of ab.
pub fn ab(text: &str) -> Option<Report> {
    let wrong = number_after(text, "Non-2xx responses:").unwrap_or(0.0) as u64;
    let failed = number_after(text, "Failed requests:")? as u64 + wrong;
    Some(Report {
        // Complete requests include failed ones.
        completed: (number_after(text, "Complete requests:")? as u64).checked_sub(failed)?,
        failed,
        per_second: number_after(text, "Requests per second:")?,
        silent: None,
        late: None,
        awake_us: None,
    })
}

/// Reads the report of h2load.
pub fn h2load(text: &str) -> Option<Report> {
    let (_, requests) = text.split_once("\nrequests: ")?;
    let count = |name| {
        let part = requests
            .lines()
            .next()?
            .split(", ")
            .find(|part| part.ends_with(name))?;
        part.split(' ').next()?.parse::<u64>().ok()
    };
    let (_, finished) = text.split_once("finished in ")?;
    let rate = finished.split(", ").nth(1)?;
    Some(Report {
        completed: count(" succeeded")?,
        // Failed requests include errors and timeouts.
        failed: count(" failed")?,
        per_second: rate.split(' ').next()?.parse().ok()?,
        silent: None,
        late: None,
        awake_us: None,
    })
}

/// Reads the JSON of oha.
pub fn oha(text: &str) -> Option<Report> {
    let report: Value = serde_json::from_str(text).ok()?;
    let sum =
        |value: &Value| -> Option<u64> { value.as_object()?.values().map(Value::as_u64).sum() };
    let statuses = &report["statusCodeDistribution"];
    let completed = statuses["200"].as_u64().unwrap_or(0);
    Some(Report {
        completed,
        failed: sum(statuses)? - completed + sum(&report["errorDistribution"])?,
        per_second: report["summary"]["requestsPerSec"].as_f64()?,
        silent: None,
        late: None,
        awake_us: None,
    })
}

/// The number that follows `label`.
pub fn number_after(text: &str, label: &str) -> Option<f64> {
    let (_, rest) = text.split_once(label)?;
    rest.split_whitespace().next()?.parse().ok()
}

/// The sum of all whole numbers in a line.
fn sum_of_numbers(line: &str) -> u64 {
    line.split(|letter: char| !letter.is_ascii_digit())
        .filter_map(|digits| digits.parse::<u64>().ok())
        .sum()
}
