//! Summarises runs as ratios, a table and JSON.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::generators::{Generator, Load};
use crate::reports::Report;

/// One run of one generator.
#[derive(Debug, Clone)]
pub struct Run {
    pub report: Report,
    /// The generator's CPU time in µs, without the reported time waited awake.
    pub cpu_us: f64,
    /// The server's CPU time in µs.
    pub server_cpu_us: f64,
    /// The generator's peak memory in bytes.
    pub memory_bytes: u64,
}

/// One generator under one load: for each alternation, a run or the reason for none.
#[derive(Debug, Clone)]
pub struct Row {
    pub generator: Generator,
    pub runs: Vec<Result<Run, String>>,
}

/// One load with all its rows.
#[derive(Debug, Clone)]
pub struct Table {
    pub load: Load,
    pub rows: Vec<Row>,
}

#[derive(Debug, Clone, Copy)]
enum Metric {
    Cpu,
    ServerCpu,
    Rate,
    Memory,
    LateMedian,
    LateP99,
}

/// Minimum, median and maximum of values.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Spread {
    min: f64,
    median: f64,
    max: f64,
}

impl Metric {
    const ALL: [Metric; 6] = [
        Metric::Cpu,
        Metric::ServerCpu,
        Metric::Rate,
        Metric::Memory,
        Metric::LateMedian,
        Metric::LateP99,
    ];

    fn key(self) -> &'static str {
        match self {
            Metric::Cpu => "cpu_us_per_request",
            Metric::ServerCpu => "server_cpu_us_per_request",
            Metric::Rate => "requests_per_s",
            Metric::Memory => "memory_bytes_max",
            Metric::LateMedian => "lateness_us_p50",
            Metric::LateP99 => "lateness_us_p99",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Metric::Cpu => "CPU µs per request",
            Metric::ServerCpu => "server's CPU µs",
            Metric::Rate => "requests/s",
            Metric::Memory => "peak memory in MB",
            Metric::LateMedian => "median lateness in µs",
            Metric::LateP99 => "p99 of it in µs",
        }
    }

    /// The figure of a run; `None` if it has none.
    fn of(self, run: &Run) -> Option<f64> {
        let late = run.report.late;
        match self {
            Metric::Cpu => Some(run.cpu_us / run.report.completed as f64),
            Metric::ServerCpu => Some(run.server_cpu_us / run.report.completed as f64),
            Metric::Rate => Some(run.report.per_second),
            Metric::Memory => Some(run.memory_bytes as f64),
            Metric::LateMedian => late.map(|late| late.median_us),
            Metric::LateP99 => late.map(|late| late.p99_us),
        }
    }

    /// Whether a load has this figure: requests can only be late if they have a due time.
    fn belongs_to(self, load: &Load) -> bool {
        match self {
            Metric::LateMedian | Metric::LateP99 => load.rate.is_some(),
            _ => true,
        }
    }

    fn shown(self, value: f64) -> String {
        match self {
            Metric::Cpu | Metric::ServerCpu => format!("{value:.2}"),
            Metric::Rate => format!("{value:.0}"),
            Metric::LateMedian | Metric::LateP99 => format!("{value:.1}"),
            Metric::Memory => format!("{:.1}", value / 1e6),
        }
    }
}

impl Spread {
    fn of(mut values: Vec<f64>) -> Option<Spread> {
        values.sort_by(f64::total_cmp);
        let (min, max) = (*values.first()?, *values.last()?);
        let middle = values.len() / 2;
        let median = match values.len() % 2 {
            0 => f64::midpoint(values[middle - 1], values[middle]),
            _ => values[middle],
        };
        Some(Spread { min, median, max })
    }

    fn json(self) -> Value {
        json!({ "min": self.min, "median": self.median, "max": self.max })
    }

    fn shown(self, show: impl Fn(f64) -> String) -> String {
        [self.min, self.median, self.max].map(show).join(" - ")
    }
}

impl Row {
    /// The run of an alternation, if it had no failures.
    fn clean(&self, alternation: usize) -> Option<&Run> {
        let run = self.runs.get(alternation)?.as_ref().ok()?;
        (run.report.failed == 0 && run.report.completed > 0).then_some(run)
    }

    fn spread(&self, value: impl Fn(usize, &Run) -> Option<f64>) -> Option<Spread> {
        let values = (0..self.runs.len())
            .filter_map(|alternation| value(alternation, self.clean(alternation)?));
        Spread::of(values.collect())
    }

    /// The remark on irregular runs.
    fn mark(&self) -> String {
        let mut marks = Vec::new();
        let not_run = self.runs.iter().filter_map(|run| run.as_ref().err());
        if let Some(reason) = not_run.clone().next() {
            marks.push(format!("not run {} times: {reason}", not_run.count()));
        }
        let runs = || self.runs.iter().flatten();
        let failed = runs().filter(|run| run.report.failed > 0).count();
        if failed > 0 {
            let requests: u64 = runs().map(|run| run.report.failed).sum();
            marks.push(format!(
                "{failed} runs left out, with {requests} failed requests"
            ));
        }
        let silent = runs()
            .filter_map(|run| run.report.silent)
            .max()
            .unwrap_or(0);
        if silent > 0 {
            marks.push(format!("up to {silent} connections without a response"));
        }
        marks.join("; ")
    }
}

impl Table {
    fn row(&self, generator: Generator) -> Option<&Row> {
        self.rows.iter().find(|row| row.generator == generator)
    }

    /// Ratios of one row to another, paired by alternation.
    fn ratio(&self, row: &Row, to: Generator, metric: Metric) -> Option<Spread> {
        let other = self.row(to)?;
        row.spread(|alternation, run| Some(metric.of(run)? / metric.of(other.clean(alternation)?)?))
    }

    /// The table as text.
    pub fn text(&self) -> String {
        let mut text = format!("\n{}\n", self.load.name);
        let belongs = |metric: &Metric| metric.belongs_to(&self.load);
        for metric in Metric::ALL.into_iter().filter(belongs) {
            let title = metric.title();
            let _ = writeln!(
                text,
                "  {title:<22}{:<32}{:<26}to bare",
                "min - median - max", "to wrk"
            );
            for row in &self.rows {
                let values = row.spread(|_, run| metric.of(run));
                let shown = |spread: Option<Spread>, show: &dyn Fn(f64) -> String| {
                    spread.map_or_else(|| "-".to_owned(), |spread| spread.shown(show))
                };
                let ratio = |to| shown(self.ratio(row, to, metric), &|value| format!("{value:.2}"));
                let _ = writeln!(
                    text,
                    "    {:<20}{:<32}{:<26}{}",
                    row.generator.name(),
                    shown(values, &|value| metric.shown(value)),
                    ratio(Generator::Wrk),
                    ratio(Generator::limit(&self.load)),
                );
            }
        }
        for row in &self.rows {
            let mark = row.mark();
            if !mark.is_empty() {
                let _ = writeln!(text, "  ! {}: {mark}", row.generator.name());
            }
        }
        text
    }

    /// The table as JSON, including every run.
    pub fn json(&self) -> Value {
        let load = &self.load;
        let rows: Vec<Value> = self.rows.iter().map(|row| self.row_json(row)).collect();
        json!({
            "load": load.name, "body_bytes": load.body_bytes, "connections": load.connections,
            "keep_alive": load.keep_alive, "pipeline": load.pipeline, "http2": load.http2,
            "rate_per_s": load.rate,
            "seconds": load.seconds, "generators": rows,
        })
    }

    fn row_json(&self, row: &Row) -> Value {
        let mut object = json!({ "generator": row.generator.name(), "mark": row.mark() });
        for metric in Metric::ALL {
            let spread = |spread: Option<Spread>| spread.map(Spread::json);
            object[metric.key()] = json!({
                "value": spread(row.spread(|_, run| metric.of(run))),
                "to_wrk": spread(self.ratio(row, Generator::Wrk, metric)),
                "to_bare": spread(self.ratio(row, Generator::limit(&self.load), metric)),
            });
        }
        let runs = row.runs.iter().map(|run| match run {
            Err(reason) => json!({ "not_run": reason }),
            Ok(run) => json!({
                "completed": run.report.completed, "failed": run.report.failed,
                "requests_per_s": run.report.per_second, "silent": run.report.silent,
                "cpu_us": run.cpu_us, "server_cpu_us": run.server_cpu_us,
                "awake_us": run.report.awake_us, "memory_bytes_max": run.memory_bytes,
                "lateness_us_p50": Metric::LateMedian.of(run),
                "lateness_us_p99": Metric::LateP99.of(run),
            }),
        });
        object["runs"] = runs.collect();
        object
    }

    /// Whether abx reaches its goals: for the CPU time per request, compared with the bare loop and
    /// the best other generator, for the lateness of requests, for the cost of a second thread, and
    /// (with many connections) for memory and served connections.
    pub fn goals(&self) -> String {
        let abx = self.row(Generator::Abx);
        let median = |to, metric| Some(self.ratio(abx?, to, metric)?.median);
        let at_most = |most: f64, ratio: Option<f64>| {
            ratio.map(|ratio| (ratio <= most, format!("{ratio:.3}")))
        };
        let rivals = Generator::RIVALS.into_iter();
        let to_rivals = rivals.filter_map(|rival| Some((median(rival, Metric::Cpu)?, rival)));
        // The best of the others gives the largest ratio.
        let best = to_rivals.max_by(|(ratio, _), (other, _)| ratio.total_cmp(other));
        let best_name = best.map_or("any", |(_, rival)| rival.name());
        let is_small = self.load.body_bytes < SMALL_BYTES && self.load.keep_alive;
        let is_closed = self.load.rate.is_none();
        let is_plain = is_closed && self.load.pipeline == 1;
        let most = match self.load.body_bytes {
            LARGE_BYTES.. => 0.5,
            _ if self.load.http2 => 1.0,
            _ if is_closed => 0.95,
            _ => 1.0,
        };
        let mut text = self.goal(
            &format!("CPU per request at most {most} of the best other's, {best_name}"),
            at_most(most, best.map(|(ratio, _)| ratio)),
        );
        if is_closed {
            text += &self.undisturbed_server(abx);
        }
        if is_small && is_plain {
            text += &self.goal(
                "CPU per request at most 1.05 of the bare loop's",
                at_most(1.05, median(Generator::Bare, Metric::Cpu)),
            );
        }
        if self.load.rate.is_some() {
            text += &self.goal(
                "CPU per request at most 1.2 of the paced bare loop's",
                at_most(1.2, median(Generator::Paced, Metric::Cpu)),
            );
            let late = |metric: Metric| abx?.spread(|_, run| metric.of(run));
            for (goal, metric, most) in [
                (
                    "half of the sends at most 20 µs late",
                    Metric::LateMedian,
                    20.0,
                ),
                ("99 of 100 at most 250 µs", Metric::LateP99, 250.0),
            ] {
                let median = late(metric).map(|late| late.median);
                text += &self.goal(goal, at_most(most, median));
            }
        }
        if let Some(two) = self.row(Generator::AbxTwo) {
            let ratio = self.ratio(two, Generator::Abx, Metric::Cpu);
            text += &self.goal(
                "CPU per request with two threads at most 1.1 of that with one",
                at_most(1.1, ratio.map(|ratio| ratio.median)),
            );
        }
        if self.load.connections >= MANY_CONNECTIONS {
            text += &self.goal(
                "peak memory below wrk's",
                at_most(1.0, median(Generator::Wrk, Metric::Memory)),
            );
            let runs = abx.into_iter().flat_map(|row| row.runs.iter().flatten());
            let silent: Option<u64> = runs.map(|run| run.report.silent).sum();
            text += &self.goal(
                "every connection served",
                silent.map(|silent| (silent == 0, format!("{silent} silent"))),
            );
        }
        text
    }

    /// Whether the server was as fast under abx as under any other generator, and as efficient.
    fn undisturbed_server(&self, abx: Option<&Row>) -> String {
        let others = Generator::RIVALS.into_iter().chain([Generator::BareAwake]);
        let ratios = |metric| {
            let others = others.clone();
            others.filter_map(move |other| {
                Some((self.ratio(abx?, other, metric)?.median, other.name()))
            })
        };
        let rate = ratios(Metric::Rate).min_by(|(ratio, _), (other, _)| ratio.total_cmp(other));
        let cost =
            ratios(Metric::ServerCpu).max_by(|(ratio, _), (other, _)| ratio.total_cmp(other));
        let (rate, rate_name) = rate.unzip();
        let (cost, cost_name) = cost.unzip();
        let best = rate_name.unwrap_or("any");
        let least = cost_name.unwrap_or("any");
        self.goal(
            &format!("responses/s at least 0.98 of the most, {best}"),
            rate.map(|rate| (rate >= 0.98, format!("{rate:.3}"))),
        ) + &self.goal(
            &format!("the server's CPU per request at most 1.02 of the least, {least}"),
            cost.map(|cost| (cost <= 1.02, format!("{cost:.3}"))),
        )
    }

    fn goal(&self, goal: &str, reached: Option<(bool, String)>) -> String {
        let (word, figure) = match reached {
            Some((true, figure)) => ("reached", figure),
            Some((false, figure)) => ("MISSED", figure),
            None => ("not checked", "no figure".to_owned()),
        };
        format!("  {word:<12}{}: {goal} ({figure})\n", self.load.name)
    }
}

/// Bodies below this size are small: pages, not files.
const SMALL_BYTES: usize = 2_000;
/// Bodies from this size on are large.
const LARGE_BYTES: usize = 500_000;
/// From this number on, memory and the serving of every connection are also goals.
const MANY_CONNECTIONS: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generators::LOADS;

    fn run(completed: u64, failed: u64, cpu_us: f64) -> Result<Run, String> {
        Ok(Run {
            report: Report {
                completed,
                failed,
                per_second: 1.0,
                silent: None,
                late: None,
                awake_us: None,
            },
            cpu_us,
            server_cpu_us: cpu_us,
            memory_bytes: 1,
        })
    }

    fn table(abx: Vec<Result<Run, String>>, wrk: Vec<Result<Run, String>>) -> Table {
        let row = |generator, runs| Row { generator, runs };
        Table {
            load: LOADS[0],
            rows: vec![row(Generator::Abx, abx), row(Generator::Wrk, wrk)],
        }
    }

    #[test]
    fn ratios_pair_the_runs_of_one_alternation() {
        // Method: both generators get slower together; the ratio stays 2 in every pair.
        let table = table(
            vec![run(10, 0, 40.0), run(10, 0, 400.0)],
            vec![run(10, 0, 20.0), run(10, 0, 200.0)],
        );
        let ratio = table.ratio(&table.rows[0], Generator::Wrk, Metric::Cpu);
        let expected = Spread {
            min: 2.0,
            median: 2.0,
            max: 2.0,
        };
        assert_eq!(ratio, Some(expected));
    }

    #[test]
    fn a_run_with_failures_is_left_out_with_a_remark() {
        // Method: one complete pair of three; one run had failures, and another did not run.
        let table = table(
            vec![run(10, 0, 40.0), run(10, 3, 1.0), run(10, 0, 50.0)],
            vec![
                run(10, 0, 20.0),
                run(10, 0, 20.0),
                Err("no descriptors".into()),
            ],
        );
        let ratio = table.ratio(&table.rows[0], Generator::Wrk, Metric::Cpu);
        assert_eq!(
            ratio.map(|spread| (spread.min, spread.max)),
            Some((2.0, 2.0))
        );
        let text = table.text();
        assert!(
            text.contains("! abx: 1 runs left out, with 3 failed requests"),
            "{text}"
        );
        assert!(
            text.contains("! wrk: not run 1 times: no descriptors"),
            "{text}"
        );
        assert!(table.goals().contains("MISSED"));
    }

    #[test]
    fn the_median_of_an_even_number_lies_between() {
        // Method: four values out of order.
        let spread = Spread::of(vec![4.0, 1.0, 3.0, 2.0]);
        assert_eq!(
            spread,
            Some(Spread {
                min: 1.0,
                median: 2.5,
                max: 4.0
            })
        );
        assert_eq!(Spread::of(Vec::new()), None);
    }
}
