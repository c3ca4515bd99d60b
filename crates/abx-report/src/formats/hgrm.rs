//! Response times in the two text formats of HdrHistogram: a percentile
//! distribution (`.hgrm`) and a log of intervals (`.hlog`).

use std::fmt::Write;
use std::time::{Duration, UNIX_EPOCH};

use abx_evidence::record::{BlockLoad, SliceRecord};
use abx_evidence::{Histogram, StudyRecord, SubjectView};
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};

/// The response times of one subject under one load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Percentiles {
    pub subject: String,
    pub load: String,
    /// Percentiles in ms, from 0 to 100, as HdrHistogram prints them.
    pub text: String,
}

/// A percentile distribution of each subject under each load that was measured.
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

/// Source: `outputPercentileDistribution` of HdrHistogram, with 5 ticks for
/// each half of the distance to 100 %, as its tools expect.
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
    // As many as it takes to tell the digits apart up to twice their number.
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
    for (place, (text, first, other, second)) in rows.into_iter().enumerate() {
        let [of_first, of_second] = [[3, 3], [3, 0], [0, 0]][place];
        writeln!(
            out,
            "#[{text:<7} = {first:>12.of_first$}, {other:<14} = {second:>12.of_second$}]"
        )
        .expect("strings take everything");
    }
    out
}

/// A log of intervals in µs: one for each block, load and subject, tagged
/// `SUBJECT@LOAD`, those of blocks that did not end left out.
///
/// When a slice began is not recorded, so the clock of the log runs while
/// subjects are loaded: an interval starts where the loaded time of all before
/// its block and load ends, and is as long as its subject was loaded.
#[must_use]
pub fn study_hlog(record: &StudyRecord) -> String {
    let mut out = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let started = UNIX_EPOCH + Duration::from_millis(record.measured.started_unix_ms);
    let mut builder = IntervalLogWriterBuilder::new();
    builder
        .add_comment("[Response times in us, their maximum in ms]")
        .add_comment("[Start: the loaded time before; length: for how long it was loaded]")
        .with_start_time(started)
        .with_base_time(started)
        .with_max_value_divisor(MILLI);
    {
        let log = builder.begin_log_with(&mut out, &mut serializer);
        let mut log = log.expect("memory takes everything");
        let mut before = Duration::ZERO;
        for part in record
            .measured
            .complete_blocks()
            .flat_map(|block| &block.loads)
        {
            for (subject, times) in &part.histograms {
                let tag = tag(subject, &part.load);
                log.write_histogram(
                    &times.response.to_hdr(),
                    before,
                    loaded(part, |slice| slice.subject == *subject),
                    Tag::new(&tag),
                )
                .expect("memory takes everything, and the format these bounds");
            }
            before += loaded(part, |_| true);
        }
    }
    String::from_utf8(out).expect("the log is of ASCII and of names")
}

fn loaded(part: &BlockLoad, is_meant: impl Fn(&SliceRecord) -> bool) -> Duration {
    let slices = part.rounds.iter().flat_map(|round| &round.slices);
    let spans = slices.filter(|slice| is_meant(slice));
    Duration::from_nanos(spans.map(|slice| slice.wall_ns).sum())
}

fn tag(subject: &str, load: &str) -> String {
    let text = format!("{subject}@{load}");
    let letter = |letter: char| match letter {
        ',' => '_',
        letter if letter.is_whitespace() || letter.is_control() => '_',
        letter => letter,
    };
    text.chars().map(letter).collect()
}

fn millis(time_us: u64) -> f64 {
    time_us as f64 / MILLI
}

const MILLI: f64 = 1e3;
/// Steps for each half of the distance to 100 %.
const TICKS: u32 = 5;
