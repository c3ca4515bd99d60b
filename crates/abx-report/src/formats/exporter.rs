//! The formats that a record is exported to, each with the flag that asks for it.

use abx_evidence::scenario::ScenarioRecord;
use abx_verdict::{ExpectationResult, RunRecord, StudyRecord};

use crate::formats::csv::{comparisons_csv, slices_csv};
use crate::formats::hgrm::{Percentiles, study_hgrm};
use crate::formats::junit::study_junit;
use crate::formats::otlp::{run_otlp, study_otlp};
use crate::formats::prometheus::{run_openmetrics, study_openmetrics};
use crate::json::record_json;
use crate::reports::picture::study_svg;
use crate::reports::run::run_markdown;
use crate::reports::run_page::run_html;
use crate::reports::scenario::scenario_html;
use crate::reports::study::{study_html, study_markdown};

/// A record, with the results of its expectations.
#[derive(Debug, Clone, Copy)]
pub enum Exported<'a> {
    Study(&'a StudyRecord, &'a [ExpectationResult]),
    /// A run, and the study of one subject that it is.
    Run(&'a RunRecord, &'a StudyRecord, &'a [ExpectationResult]),
    Scenario(&'a ScenarioRecord),
}

/// One text of an export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedText {
    /// The subject and the load, if the format has a text for each.
    pub of: Option<[String; 2]>,
    pub text: String,
}

/// A format.
pub struct Exporter {
    /// The flag that asks for it, such as `--csv`.
    pub flag: &'static str,
    export: fn(Exported) -> Vec<ExportedText>,
}

impl Exporter {
    /// The texts of a record; none if the format has nothing of such a record.
    #[must_use]
    pub fn texts(&self, record: Exported) -> Vec<ExportedText> {
        (self.export)(record)
    }
}

/// All formats.
pub const EXPORTERS: [Exporter; 10] = [
    exporter("--json", |record| {
        whole(match record {
            Exported::Study(record, _) => record_json(record),
            Exported::Run(record, ..) => record_json(record),
            Exported::Scenario(record) => record_json(record),
        })
    }),
    exporter("--html", |record| match record {
        Exported::Scenario(record) => whole(scenario_html(record)),
        _ => either(record, study_html, run_html),
    }),
    exporter("--markdown", |record| {
        either(record, study_markdown, run_markdown)
    }),
    exporter("--prometheus", |record| {
        either(record, study_openmetrics, run_openmetrics)
    }),
    exporter("--otlp", |record| either(record, study_otlp, run_otlp)),
    exporter("--svg", |record| study(record, study_svg)),
    exporter("--csv-comparisons", |record| study(record, comparisons_csv)),
    exporter("--csv", |record| {
        measured(record, |study, _| whole(slices_csv(study)))
    }),
    exporter("--junit", |record| {
        measured(record, |study, responses| {
            whole(study_junit(study, responses))
        })
    }),
    exporter("--hgrm", |record| {
        measured(record, |study, _| {
            let text = |percentiles: Percentiles| ExportedText {
                of: Some([percentiles.subject, percentiles.load]),
                text: percentiles.text,
            };
            study_hgrm(study).into_iter().map(text).collect()
        })
    }),
];

const fn exporter(flag: &'static str, export: fn(Exported) -> Vec<ExportedText>) -> Exporter {
    Exporter { flag, export }
}

fn whole(text: String) -> Vec<ExportedText> {
    vec![ExportedText { of: None, text }]
}

fn either(
    record: Exported,
    of_study: fn(&StudyRecord, &[ExpectationResult]) -> String,
    of_run: fn(&RunRecord) -> String,
) -> Vec<ExportedText> {
    match record {
        Exported::Study(record, responses) => whole(of_study(record, responses)),
        Exported::Run(record, ..) => whole(of_run(record)),
        Exported::Scenario(_) => Vec::new(),
    }
}

fn study(record: Exported, text: fn(&StudyRecord) -> String) -> Vec<ExportedText> {
    match record {
        Exported::Study(record, _) => whole(text(record)),
        Exported::Run(..) | Exported::Scenario(_) => Vec::new(),
    }
}

/// A run is a study, too.
fn measured(
    record: Exported,
    texts: fn(&StudyRecord, &[ExpectationResult]) -> Vec<ExportedText>,
) -> Vec<ExportedText> {
    match record {
        Exported::Study(study, responses) | Exported::Run(_, study, responses) => {
            texts(study, responses)
        }
        Exported::Scenario(_) => Vec::new(),
    }
}
