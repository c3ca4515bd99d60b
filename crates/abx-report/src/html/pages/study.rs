//! The page of a study.

use abx_evidence::{ExpectationResult, StudyRecord};

use super::page::Page;
use crate::html::charts::Subjects;
use crate::html::conclusions::block_ratios::block_ratios;
use crate::html::conclusions::capacities::capacities;
use crate::html::conclusions::expectations::expectations;
use crate::html::conclusions::faults::faults;
use crate::html::conclusions::findings::findings;
use crate::html::conclusions::ranking::rankings;
use crate::html::conclusions::ratios::ratios;
use crate::html::conclusions::sweeps::sweeps;
use crate::html::conclusions::verdicts::{title, verdicts};
use crate::html::measurements::cost::cost;
use crate::html::measurements::how_measured::{how_measured, subtitle};
use crate::html::measurements::outcomes::outcomes;
use crate::html::measurements::phases::phases;
use crate::html::measurements::slices::slices;
use crate::html::measurements::summaries::summaries;
use crate::html::measurements::times::times;
use crate::words::alone::is_alone;
use crate::words::expectations::headline;

/// The report of a study as an HTML page, ready to be written to a file.
///
/// The page needs no other file and asks for none; the record is in it.
#[must_use]
pub fn study_html(record: &StudyRecord) -> String {
    study_html_with(record, &[])
}

/// The same headed by what the study says to expectations.
#[must_use]
pub fn study_html_with(record: &StudyRecord, answers: &[ExpectationResult]) -> String {
    let subjects = Subjects::of(record);
    let found = &record.conclusions.validity.findings;
    let loads = record.measured.loads.len();
    let first = if is_alone(record) {
        "Result"
    } else {
        "Verdicts"
    };
    let page = Page::new(
        headline(answers).unwrap_or_else(|| title(record)),
        &subtitle(record),
        [
            ("expected", "Expectations", expectations(record, answers)),
            ("verdicts", first, verdicts(record)),
            ("order", "Ranking", rankings(record)),
            ("ratios", "Ratios", ratios(record)),
            ("capacity", "Capacity", capacities(record)),
            ("sweep", "Sweeps", sweeps(record, &subjects)),
            ("figures", "Figures", summaries(record)),
            ("blocks", "Block by block", block_ratios(record, &subjects)),
            ("slices", "Slices over time", slices(record, &subjects)),
            ("times", "Response times", times(record, &subjects)),
            ("phases", "Where the time goes", phases(record)),
            ("faults", "Faults", faults(record, &subjects)),
            ("cost", "CPU and memory", cost(record, &subjects)),
            ("outcomes", "Outcomes", outcomes(record)),
            ("findings", "Findings", findings(found, loads)),
            ("conduct", "How it was measured", how_measured(record)),
        ],
    );
    let file = format!("abx-study-{}.json", record.measured.seed);
    page.with_record(file, crate::formats::study_json(record))
        .html()
}
