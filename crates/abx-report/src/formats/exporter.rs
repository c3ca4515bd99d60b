//! The formats that a record is exported to, each with the flag that asks for it.

use abx_verdict::{ExpectationResult, StudyRecord};

use crate::formats::csv::{comparisons_csv, slices_csv};
use crate::formats::hgrm::{Percentiles, study_hgrm};
use crate::formats::junit::study_junit;
use crate::formats::otlp::study_otlp;
use crate::formats::prometheus::study_openmetrics;
use crate::json::record_json;
use crate::reports::picture::study_svg;
use crate::reports::study::{study_html, study_markdown};

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
    /// The texts of a record, with the results of its expectations.
    pub texts: fn(&StudyRecord, &[ExpectationResult]) -> Vec<ExportedText>,
}

/// All formats.
pub const EXPORTERS: [Exporter; 10] = [
    exporter("--json", |record, _| whole(record_json(record))),
    exporter("--html", |record, results| {
        whole(study_html(record, results))
    }),
    exporter("--markdown", |record, results| {
        whole(study_markdown(record, results))
    }),
    exporter("--prometheus", |record, results| {
        whole(study_openmetrics(record, results))
    }),
    exporter("--otlp", |record, results| {
        whole(study_otlp(record, results))
    }),
    exporter("--svg", |record, _| whole(study_svg(record))),
    exporter("--csv-comparisons", |record, _| {
        whole(comparisons_csv(record))
    }),
    exporter("--csv", |record, _| whole(slices_csv(record))),
    exporter("--junit", |record, results| {
        whole(study_junit(record, results))
    }),
    exporter("--hgrm", |record, _| {
        let text = |percentiles: Percentiles| ExportedText {
            of: Some([percentiles.subject, percentiles.load]),
            text: percentiles.text,
        };
        study_hgrm(record).into_iter().map(text).collect()
    }),
];

const fn exporter(
    flag: &'static str,
    texts: fn(&StudyRecord, &[ExpectationResult]) -> Vec<ExportedText>,
) -> Exporter {
    Exporter { flag, texts }
}

fn whole(text: String) -> Vec<ExportedText> {
    vec![ExportedText { of: None, text }]
}
