//! What generators print, read into the same figures; `None` where one is missing.

use serde_json::Value;

/// What a generator says that it did.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Correct responses, as far as the generator looks at them.
    pub completed: u64,
    /// Everything else that it speaks of.
    pub failed: u64,
    /// Requests per second, as it counts them itself.
    pub per_second: f64,
    /// Connections that never got a response; `None` when it does not tell.
    pub silent: Option<u64>,
    /// How late its sends were; `None` when it does not tell.
    pub late: Option<Late>,
    /// Processor time in which it waited without sleeping, in µs; `None` when it does not tell.
    pub awake_us: Option<f64>,
}

/// How late sends were by the generator's own doing, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Late {
    /// Half of them at most.
    pub median_us: f64,
    /// 99 of 100 at most.
    pub p99_us: f64,
}

/// A bare loop's, paced or not.
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

/// abx's record.
pub fn abx(text: &str) -> Option<Report> {
    let record: Value = serde_json::from_str(text).ok()?;
    let completed = record["ok"].as_u64()?;
    // A column of zeroes is left out.
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

/// wrk's.
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

/// ab's.
pub fn ab(text: &str) -> Option<Report> {
    let wrong = number_after(text, "Non-2xx responses:").unwrap_or(0.0) as u64;
    let failed = number_after(text, "Failed requests:")? as u64 + wrong;
    Some(Report {
        // It counts failed requests among the complete ones.
        completed: (number_after(text, "Complete requests:")? as u64).checked_sub(failed)?,
        failed,
        per_second: number_after(text, "Requests per second:")?,
        silent: None,
        late: None,
        awake_us: None,
    })
}

/// h2load's.
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
        // Failed ones include those in error and out of time.
        failed: count(" failed")?,
        per_second: rate.split(' ').next()?.parse().ok()?,
        silent: None,
        late: None,
        awake_us: None,
    })
}

/// oha's JSON.
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
