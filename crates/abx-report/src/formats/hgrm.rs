//! Response times as percentile distributions in the text format of HdrHistogram (`.hgrm`).

use std::fmt::Write;

use abx_evidence::Histogram;
use abx_verdict::{StudyRecord, SubjectView};

/// The response times of one subject under one load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Percentiles {
    pub subject: String,
    pub load: String,
    /// Percentiles in ms, from 0 to 100, as HdrHistogram prints them.
    pub text: String,
}

/// A percentile distribution for each subject under each measured load.
#[must_use]
pub fn study_hgrm(record: &StudyRecord) -> Vec<Percentiles> {
    let mut percentiles = Vec::new();
    for load in &record.measured.loads {
        for subject in &record.measured.subjects {
            let view = SubjectView::of(&record.measured, load, &subject.name);
            let Some(times) = view.times(|histograms| &histograms.response) else {
                continue;
            };
            percentiles.push(Percentiles {
                subject: subject.name.clone(),
                load: load.name.clone(),
                text: distribution(&times),
            });
        }
    }
    percentiles
}

/// Source: `outputPercentileDistribution` of HdrHistogram, with 5 ticks for each half of the
/// distance to 100 %, as its tools expect.
fn distribution(times: &Histogram) -> String {
    let times = times.to_hdr();
    let mut out = format!(
        "{:>12} {:>14} {:>10} {:>14}\n\n",
        "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
    );
    let mut count = 0;
    for step in times.iter_quantiles(TICKS) {
        count += step.count_since_last_iteration();
        let (value, quantile) = (
            millis(step.value_iterated_to()),
            step.quantile_iterated_to(),
        );
        let beyond = if quantile < 1.0 {
            format!(" {:>14.2}", 1.0 / (1.0 - quantile))
        } else {
            String::new()
        };
        writeln!(out, "{value:>12.3} {quantile:>14.12} {count:>10}{beyond}")
            .expect("strings take everything");
    }
    // Enough to distinguish values of this precision up to twice their power of ten.
    let sub_buckets = (2 * 10_u64.pow(times.sigfig().into())).next_power_of_two();
    let rows = [
        (
            "Mean",
            times.mean() / MILLI,
            "StdDeviation",
            times.stdev() / MILLI,
        ),
        (
            "Max",
            millis(times.max()),
            "Total count",
            times.len() as f64,
        ),
        (
            "Buckets",
            times.buckets().into(),
            "SubBuckets",
            sub_buckets as f64,
        ),
    ];
    let decimals = [[3, 3], [3, 0], [0, 0]];
    for ((left, value, right, other), [digits, other_digits]) in rows.into_iter().zip(decimals) {
        writeln!(
            out,
            "#[{left:<7} = {value:>12.digits$}, {right:<14} = {other:>12.other_digits$}]"
        )
        .expect("strings take everything");
    }
    out
}

fn millis(time_us: u64) -> f64 {
    time_us as f64 / MILLI
}

const MILLI: f64 = 1e3;
/// Steps for each half of the distance to 100 %.
const TICKS: u32 = 5;
