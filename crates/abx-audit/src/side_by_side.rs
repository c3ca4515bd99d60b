//! Reports of other tools beside records of abx: their figures in one table, which is no
//! comparison, and the study that would be one.

use abx_evidence::{Outcome, Outcomes, RunRecord, StudyRecord, Times};
use serde::Serialize;

use crate::Audit;
use crate::checks::wrong_status;
use crate::imported::{ImportedRecord, audit_of};
use crate::read::Unread;
use crate::report::{FigureKey, LoadTool, ToolReport};
use crate::study::{SubjectWord, command};

/// The schema of these, as JSON.
const SCHEMA: &str = "abx.side_by_side/1";

/// Records side by side.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SideBySide {
    /// The format of this, `abx.side_by_side/1`.
    pub schema: &'static str,
    /// A row for each report, run, and subject of a study under each load.
    pub rows: Vec<SideRow>,
    /// What the reports of other tools show, each alone and all together.
    pub imported: Audit,
    /// Why this is no comparison.
    pub no_comparison: &'static str,
    /// The study that would be one, as a command.
    pub study: Option<String>,
}

/// One server under one load, by one tool. What a tool does not print is `None`.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct SideRow {
    /// The word by which the record was named.
    pub record: String,
    /// The server.
    pub name: String,
    /// Who measured: another tool, or abx.
    pub tool: &'static str,
    /// The load, of a study.
    pub load: Option<String>,
    /// Requests or responses per second, as the tool counts them.
    pub rate_per_s: Option<f64>,
    /// Connections.
    pub connections: Option<f64>,
    /// Responses that the rate counts, or all that came.
    pub responses: Option<f64>,
    /// What the tool calls failed.
    pub failed: Option<f64>,
    /// Responses with a status that the tool calls wrong, where it tells them apart.
    pub wrong_status: Option<f64>,
    /// How long it took, in seconds; in a study, how long it was loaded.
    pub elapsed_s: Option<f64>,
    /// Times of a request, in milliseconds.
    pub mean_ms: Option<f64>,
    /// The median.
    pub p50_ms: Option<f64>,
    /// 90 %.
    pub p90_ms: Option<f64>,
    /// 99 %.
    pub p99_ms: Option<f64>,
    /// The longest.
    pub max_ms: Option<f64>,
}

/// Records that are being put side by side, in their order.
#[derive(Debug, Default)]
pub struct SideBySideRows {
    rows: Vec<SideRow>,
    reports: Vec<(ToolReport, Vec<Unread>)>,
    beside: Vec<SubjectWord>,
}

impl SideBySideRows {
    /// Adds the report of another tool.
    pub fn add_imported(&mut self, word: &str, record: &ImportedRecord) {
        let mut report = record.report.clone();
        let is_taken = |taken: fn(&ToolReport) -> &str, own: &str| {
            self.reports.iter().any(|(other, _)| taken(other) == own)
        };
        if is_taken(|other| &other.name, &report.name) {
            report.name = format!("{} ({word})", report.name);
        }
        if is_taken(|other| &other.file, &report.file) {
            report.file = format!("{} ({word})", report.file);
        }
        self.rows.push(SideRow::of_report(word, &report));
        self.reports.push((report, record.unread.clone()));
    }

    /// Adds a run of abx.
    pub fn add_run(&mut self, word: &str, run: &RunRecord) {
        let url = &run.settings.url;
        self.beside.push(SubjectWord::running(url));
        let row = SideRow {
            record: word.to_owned(),
            name: url.clone(),
            connections: Some(f64::from(run.settings.connections)),
            elapsed_s: Some(run.elapsed_s),
            ..SideRow::of_abx(run.throughput_per_s, &run.requests.outcomes)
        };
        self.rows.push(row.with_times(&run.response_time_us));
    }

    /// Adds a study of abx: each subject under each load, over all blocks.
    pub fn add_study(&mut self, word: &str, study: &StudyRecord) {
        let subjects = study.measured.subjects.iter();
        self.beside.extend(subjects.map(|one| match &one.address {
            Some(address) => SubjectWord::running(address),
            None => SubjectWord::started(&one.name),
        }));
        for one in &study.conclusions.summaries {
            let load = study
                .measured
                .loads
                .iter()
                .find(|load| load.name == one.load);
            let row = SideRow {
                record: word.to_owned(),
                name: one.subject.clone(),
                load: Some(one.load.clone()),
                connections: load.map(|load| f64::from(load.settings.connections)),
                elapsed_s: Some(one.loaded_s),
                ..SideRow::of_abx(one.throughput_per_s, &one.outcomes)
            };
            self.rows.push(row.with_times(&one.response_time_us));
        }
    }

    /// All of them side by side.
    #[must_use]
    pub fn finish(self) -> SideBySide {
        let each = self.reports.iter();
        let imported = audit_of(each.map(|(report, unread)| (report, &unread[..])));
        SideBySide {
            schema: SCHEMA,
            study: command(&imported.reports, &self.beside),
            no_comparison: NO_COMPARISON,
            rows: self.rows,
            imported,
        }
    }
}

impl SideRow {
    fn of_report(word: &str, report: &ToolReport) -> SideRow {
        use FigureKey::{
            AskedConnections, Connections, ConnectionsMost, Elapsed, Failed, Max, Mean, Median,
            Rate,
        };
        let connections = match report.tool {
            LoadTool::Httperf => ConnectionsMost,
            _ => Connections,
        };
        let quantile = |percent: f64| {
            let found = report.quantiles.iter().find(|one| one.percent == percent);
            found.map(|one| 1e3 * one.time.value)
        };
        let ms = |key| report.value(key).map(|seconds| 1e3 * seconds);
        SideRow {
            record: word.to_owned(),
            name: report.name.clone(),
            tool: report.tool.name(),
            load: None,
            rate_per_s: report.value(Rate),
            connections: report.value(connections).or(report.value(AskedConnections)),
            responses: report.value(FigureKey::Completed),
            failed: report.value(Failed),
            wrong_status: wrong_status(report),
            elapsed_s: report.value(Elapsed),
            mean_ms: ms(Mean),
            p50_ms: quantile(50.0).or(ms(Median)),
            p90_ms: quantile(90.0),
            p99_ms: quantile(99.0),
            max_ms: ms(Max).or(quantile(100.0)),
        }
    }

    fn of_abx(throughput_per_s: Option<f64>, outcomes: &Outcomes) -> SideRow {
        SideRow {
            tool: "abx",
            rate_per_s: throughput_per_s,
            responses: Some(outcomes.ok() as f64),
            failed: Some(outcomes.failed() as f64),
            wrong_status: Some(outcomes.count(Outcome::WrongStatus) as f64),
            ..SideRow::default()
        }
    }

    /// With these times, but for those that are only known as "at least".
    fn with_times(self, times: &Times) -> SideRow {
        use abx_evidence::Figure::{self, P50, P90, P99};
        let of = |figure: Figure| {
            let us = times.figure(figure).filter(|_| !times.is_at_least(figure));
            us.map(|us| us / 1e3)
        };
        SideRow {
            mean_ms: of(Figure::Mean),
            p50_ms: of(P50),
            p90_ms: of(P90),
            p99_ms: of(P99),
            max_ms: of(Figure::Max),
            ..self
        }
    }
}

const NO_COMPARISON: &str = "This is no comparison: nothing here was measured side by side. \
     Machines, times, settings and what else ran may differ, each tool counts and times in its own \
     way, and a report is of one run, so nothing says how far the next run would be from it.";
