//! The formats that a record is exported to, each with the flag that requests it.

use abx_verdict::{ExpectationResult, StudyRecord};

use crate::formats::csv::{comparisons_csv, slices_csv};
use crate::formats::folded::study_folded;
use crate::formats::hgrm::{Percentiles, study_hgrm};
use crate::formats::junit::study_junit;
use crate::formats::otlp::study_otlp;
use crate::formats::prometheus::study_openmetrics;
use crate::html::record_place::RecordPlace;
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
    /// The flag that requests it, such as `--csv`.
    pub flag: &'static str,
    /// Makes the texts of a record.
    pub texts: StudyTexts,
}

/// Makes the texts of a record with the results of its expectations and the record's place.
pub type StudyTexts = fn(&StudyRecord, &[ExpectationResult], RecordPlace) -> Vec<ExportedText>;

/// All formats.
pub const EXPORTERS: [Exporter; 11] = [
    exporter("--json", |record, _, _| single(record_json(record))),
    exporter("--html", |record, results, place| {
        single(study_html(record, results, place))
    }),
    exporter("--markdown", |record, results, _| {
        single(study_markdown(record, results))
    }),
    exporter("--prometheus", |record, results, _| {
        single(study_openmetrics(record, results))
    }),
    exporter("--otlp", |record, results, _| {
        single(study_otlp(record, results))
    }),
    exporter("--svg", |record, _, _| single(study_svg(record))),
    exporter("--csv-comparisons", |record, _, _| {
        single(comparisons_csv(record))
    }),
    exporter("--csv", |record, _, _| single(slices_csv(record))),
    exporter("--junit", |record, results, _| {
        single(study_junit(record, results))
    }),
    exporter("--folded", |record, _, _| {
        let text = study_folded(record);
        if text.is_empty() {
            Vec::new()
        } else {
            single(text)
        }
    }),
    exporter("--hgrm", |record, _, _| {
        let text = |percentiles: Percentiles| ExportedText {
            of: Some([percentiles.subject, percentiles.load]),
            text: percentiles.text,
        };
        study_hgrm(record).into_iter().map(text).collect()
    }),
];

const fn exporter(flag: &'static str, texts: StudyTexts) -> Exporter {
    Exporter { flag, texts }
}

fn single(text: String) -> Vec<ExportedText> {
    vec![ExportedText { of: None, text }]
}
