//! The time between the markers of a command, which prints a line `marker NAME` at each of them.
//! Start at [`TimerRecord::of`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::judge::faults::MeanInterval;
use abx_evidence::{OutputHead, OutputKind};

/// The fewest runs for a p99: with fewer, it would be the longest run.
pub const P99_RUNS: usize = 100;

/// Runs of a command, and its time by its markers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimerRecord {
    #[serde(flatten)]
    pub head: OutputHead,
    /// The version of abx that measured.
    pub abx_version: String,
    /// When the first run started, in milliseconds since 1970-01-01 UTC.
    pub started_unix_ms: u64,
    pub command: Vec<String>,
    /// The number of requested runs.
    pub asked_runs: u32,
    /// From the start to the end of a run.
    pub total: TotalTime,
    /// Each marker, in the order in which they came.
    pub markers: Vec<MarkerTime>,
    /// From the last marker of a run to its end.
    pub rest: MarkerTime,
    /// The number of markers that were read together with the marker before, so that the time
    /// between them is unknown.
    pub together: usize,
    pub runs: Vec<MarkedRun>,
}

/// One run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MarkedRun {
    /// Its markers as they came.
    pub markers: Vec<Marker>,
    /// From its start to its end.
    pub end_ns: u64,
}

/// A marker that a run has reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marker {
    /// Its name in the command.
    pub name: String,
    /// From the start of the run.
    pub at_ns: u64,
}

/// Whole runs, in µs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TotalTime {
    pub us: MeanInterval,
    pub p50_us: f64,
    /// The time that one run in 100 exceeds; `None` below [`P99_RUNS`] runs.
    pub p99_us: Option<f64>,
}

/// A marker over all runs, in µs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MarkerTime {
    /// Its name in the command.
    pub name: String,
    /// Its number among the markers of this name in a run, from 1.
    pub occurrence: u32,
    /// The number of runs that have it.
    pub runs: usize,
    /// From the start of a run to the marker: the mean.
    pub index_us: f64,
    /// From the marker before, or from the start, to this one: over runs.
    pub us: MeanInterval,
    pub p50_us: f64,
    /// The time that one run in 100 exceeds; `None` below [`P99_RUNS`] runs.
    pub p99_us: Option<f64>,
    /// Its share of the time of all runs.
    pub share: f64,
}

/// The measurements. A saved record is read as these, and its conclusions are drawn again.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct TimerRuns {
    /// The version of abx that measured.
    pub abx_version: String,
    /// When the first run started, in milliseconds since 1970-01-01 UTC.
    pub started_unix_ms: u64,
    pub command: Vec<String>,
    /// The number of requested runs.
    pub asked_runs: u32,
    /// The runs that were completed.
    pub runs: Vec<MarkedRun>,
}

/// The times of one marker in the runs that have it, in ns.
#[derive(Default)]
struct Gathered {
    index: Vec<f64>,
    took: Vec<f64>,
}

/// The markers of all runs.
#[derive(Default)]
struct AllRuns<'a> {
    /// Names and occurrences, in order.
    order: Vec<(&'a str, u32)>,
    markers: BTreeMap<(&'a str, u32), Gathered>,
    rest: Gathered,
    together: usize,
}

impl TimerRecord {
    /// The result of these runs; `None` without any.
    #[must_use]
    pub fn of(measured: TimerRuns) -> Option<TimerRecord> {
        let totals: Vec<f64> = measured.runs.iter().map(|run| run.end_ns as f64).collect();
        let sum: f64 = totals.iter().sum();
        let (markers, rest, together) = {
            let all_runs = AllRuns::of(&measured.runs);
            let keys = all_runs.order.iter();
            let times = keys.filter_map(|key| all_runs.markers.get(key)?.marker(key.0, key.1, sum));
            (
                times.collect(),
                all_runs.rest.marker("end", 1, sum)?,
                all_runs.together,
            )
        };
        Some(TimerRecord {
            head: OutputKind::Timer.into(),
            total: TotalTime {
                us: interval(&totals)?,
                p50_us: rank(&totals, 0.5)?,
                p99_us: p99(&totals),
            },
            rest,
            markers,
            together,
            abx_version: measured.abx_version,
            started_unix_ms: measured.started_unix_ms,
            command: measured.command,
            asked_runs: measured.asked_runs,
            runs: measured.runs,
        })
    }
}

impl<'a> AllRuns<'a> {
    fn of(runs: &'a [MarkedRun]) -> AllRuns<'a> {
        let mut all_runs = AllRuns::default();
        runs.iter().for_each(|run| all_runs.add(run));
        all_runs
    }

    fn add(&mut self, run: &'a MarkedRun) {
        let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
        let (mut place, mut before) = (0, None);
        for marker in &run.markers {
            let count = counts.entry(&marker.name).or_default();
            *count += 1;
            let key = (marker.name.as_str(), *count);
            // Runs mostly repeat the order.
            let known = match self.order.get(place) {
                Some(next) if *next == key => Some(place),
                _ => self.order.iter().position(|pair| *pair == key),
            };
            place = match known {
                Some(known) => known + 1,
                // A marker that earlier runs did not have goes after the marker before it.
                None => {
                    self.order.insert(place, key);
                    place + 1
                }
            };
            self.together += usize::from(before == Some(marker.at_ns));
            let times = self.markers.entry(key).or_default();
            times.add(marker.at_ns, before.unwrap_or_default());
            before = Some(marker.at_ns);
        }
        self.rest.add(run.end_ns, before.unwrap_or_default());
    }
}

impl Gathered {
    fn add(&mut self, at_ns: u64, before_ns: u64) {
        self.index.push(at_ns as f64);
        self.took.push(at_ns.saturating_sub(before_ns) as f64);
    }

    fn marker(&self, name: &str, occurrence: u32, all_ns: f64) -> Option<MarkerTime> {
        let took: f64 = self.took.iter().sum();
        Some(MarkerTime {
            name: name.to_owned(),
            occurrence,
            runs: self.took.len(),
            index_us: interval(&self.index)?.mean,
            us: interval(&self.took)?,
            p50_us: rank(&self.took, 0.5)?,
            p99_us: p99(&self.took),
            share: if all_ns > 0.0 { took / all_ns } else { 0.0 },
        })
    }
}

/// The mean of times in ns with its interval, in µs. No time is below zero.
fn interval(times_ns: &[f64]) -> Option<MeanInterval> {
    let us: Vec<f64> = times_ns.iter().map(|ns| ns / 1e3).collect();
    let interval = MeanInterval::of(&us)?;
    Some(MeanInterval {
        low: interval.low.map(|low| low.max(0.0)),
        ..interval
    })
}

/// The r-th shortest of n times in ns, r = ⌈q·n⌉, in µs.
fn rank(times_ns: &[f64], q: f64) -> Option<f64> {
    let mut sorted = times_ns.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (q * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).map(|ns| ns / 1e3)
}

fn p99(times_ns: &[f64]) -> Option<f64> {
    rank(times_ns, 0.99).filter(|_| times_ns.len() >= P99_RUNS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(markers: &[(&str, u64)], end_us: u64) -> MarkedRun {
        let marker = |(name, at_us): &(&str, u64)| Marker {
            name: (*name).to_owned(),
            at_ns: at_us * 1000,
        };
        MarkedRun {
            markers: markers.iter().map(marker).collect(),
            end_ns: end_us * 1000,
        }
    }

    fn of(runs: Vec<MarkedRun>) -> TimerRecord {
        let measured = TimerRuns {
            abx_version: "0".to_owned(),
            started_unix_ms: 0,
            command: vec!["true".to_owned()],
            asked_runs: u32::try_from(runs.len()).unwrap(),
            runs,
        };
        TimerRecord::of(measured).unwrap()
    }

    #[test]
    fn a_single_run_has_times_and_shares_without_intervals() {
        // Method: one run with round times; shares add up to 1.
        let record = of(vec![run(&[("connect", 200), ("get row", 800)], 1000)]);
        let parts: Vec<(&str, f64, f64, f64)> = record
            .markers
            .iter()
            .chain([&record.rest])
            .map(|marker_time| {
                (
                    marker_time.name.as_str(),
                    marker_time.index_us,
                    marker_time.us.mean,
                    marker_time.share,
                )
            })
            .collect();
        assert_eq!(
            parts,
            [
                ("connect", 200.0, 200.0, 0.2),
                ("get row", 800.0, 600.0, 0.6),
                ("end", 1000.0, 200.0, 0.2)
            ]
        );
        assert_eq!((record.total.us.mean, record.total.us.low), (1000.0, None));
        assert_eq!(record.together, 0);
    }

    #[test]
    fn markers_of_several_runs_are_combined_by_name_and_occurrence() {
        // Method: a loop of different length, a marker that only the second run has, and two
        // markers that were read together.
        let record = of(vec![
            run(&[("a", 10), ("get", 20), ("get", 40)], 50),
            run(&[("a", 30), ("miss", 40), ("get", 40)], 70),
        ]);
        let parts: Vec<(&str, u32, usize)> = record
            .markers
            .iter()
            .map(|marker_time| {
                (
                    marker_time.name.as_str(),
                    marker_time.occurrence,
                    marker_time.runs,
                )
            })
            .collect();
        let expected = [("a", 1, 2), ("miss", 1, 1), ("get", 1, 2), ("get", 2, 1)];
        assert_eq!(parts, expected);
        let shares: f64 = record
            .markers
            .iter()
            .map(|marker_time| marker_time.share)
            .sum();
        assert!((shares + record.rest.share - 1.0).abs() < 1e-12);
        assert_eq!(record.together, 1);
        assert_eq!(record.markers[2].us.mean, 5.0);
        assert_eq!(record.total.us.mean, 60.0);
    }

    #[test]
    fn conclusions_of_a_saved_record_are_drawn_again() {
        // Method: a record that was written, changed in its conclusions and read has the
        // conclusions of its runs.
        let record = of(vec![run(&[("a", 10)], 50), run(&[("a", 30)], 70)]);
        let mut json = serde_json::to_value(&record).unwrap();
        json["total"]["p50_us"] = 1.into();
        let read: TimerRuns = serde_json::from_value(json).unwrap();
        assert_eq!(TimerRecord::of(read), Some(record));
    }

    #[test]
    fn quantiles_are_ranks_and_p99_needs_a_hundred_runs() {
        // Method: times of 1 to n µs, whose ranks are themselves.
        let runs = |count: u64| (1..=count).map(|us| run(&[("a", us)], us)).collect();
        let some = of(runs(99));
        assert_eq!(
            (some.markers[0].p50_us, some.markers[0].p99_us),
            (50.0, None)
        );
        let many = of(runs(200));
        let marker_time = &many.markers[0];
        assert_eq!(
            (marker_time.p50_us, marker_time.p99_us),
            (100.0, Some(198.0))
        );
        let (low, high) = (marker_time.us.low.unwrap(), marker_time.us.high.unwrap());
        assert!(low < 100.5 && 100.5 < high);
        assert_eq!(
            of(vec![run(&[("a", 1)], 2), run(&[("a", 900)], 901)]).markers[0]
                .us
                .low,
            Some(0.0)
        );
    }
}
