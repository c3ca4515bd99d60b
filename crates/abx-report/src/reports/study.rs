//! The report of a study: verdicts first, then the figures behind them, then
//! what limits them.

use abx_evidence::{ExpectationResult, StudyRecord};

use crate::html::charts::Subjects;
use crate::html::page::Page;
use crate::sections::compared::alone::{curve, found, is_alone};
use crate::sections::compared::block_ratios::block_ratios;
use crate::sections::compared::expectations::{expectations_html, headline};
use crate::sections::compared::faults::{faults_html, faults_text};
use crate::sections::compared::findings::{
    LoadCount, by_cause, by_level, findings_html, findings_text,
};
use crate::sections::compared::past_baseline::past_baseline;
use crate::sections::compared::ranking::{RANKING_LEGEND, rankings_html, rankings_text};
use crate::sections::compared::ratios::{
    also_compared_briefly, also_compared_text, ratio_bars, ratios_html,
};
use crate::sections::compared::summaries::{loaded, summaries, summaries_legend, summaries_text};
use crate::sections::compared::sweeps::{
    capacities_html, capacities_text, crossovers, sweeps_html, sweeps_text,
};
use crate::sections::compared::verdicts::{title, verdicts_html, verdicts_text};
use crate::sections::compared::{grid, overview};
use crate::sections::measured::cost::cost;
use crate::sections::measured::how_measured::{
    how_measured_html, how_measured_text, measured, measured_briefly, subtitle,
};
use crate::sections::measured::outcomes::outcomes;
use crate::sections::measured::phases::{phases_html, study_phases};
use crate::sections::measured::scope::scope_text;
use crate::sections::measured::slices::slices;
use crate::sections::measured::times::times;
use crate::words::style::{ReportExtent, Style};
use crate::words::terms::{definitions, study_terms};

/// The report of a study, ready to be printed.
#[must_use]
pub fn study_text(record: &StudyRecord, extent: ReportExtent, style: &Style) -> String {
    let mut sections = match extent {
        _ if is_alone(record) => sections_of_one(record, extent, style),
        ReportExtent::Full => all_sections(record, style),
        _ if grid::is_needed(record) => overview_sections(record, style),
        _ => brief_sections(record, style),
    };
    if extent == ReportExtent::Explained {
        sections.push(definitions(&study_terms(record), style));
    }
    sections.retain(|section| !section.is_empty());
    style.finish(&sections.join("\n"))
}

fn overview_sections(record: &StudyRecord, style: &Style) -> Vec<String> {
    vec![
        overview::overview_text(record, style) + &past_baseline(record, style),
        crossovers(record, style),
        capacities_text(record, style),
        faults_text(record, style),
        by_level(&record.conclusions.validity.findings, style),
        scope_text(record, style) + &style.paragraph(&measured(record)),
        overview::overview_rest(style),
    ]
}

fn brief_sections(record: &StudyRecord, style: &Style) -> Vec<String> {
    vec![
        verdicts_text(record, style) + &past_baseline(record, style),
        rankings_text(record, style),
        sweeps_text(record, style),
        capacities_text(record, style),
        summaries_text(record, style),
        faults_text(record, style),
        also_compared_briefly(record, style),
        by_cause(&record.conclusions.validity.findings, style),
        measured_briefly(record, style),
    ]
}

fn all_sections(record: &StudyRecord, style: &Style) -> Vec<String> {
    let loads = if record.measured.loads.len() > 1 {
        LoadCount::Several
    } else {
        LoadCount::One
    };
    vec![
        verdicts_text(record, style) + &past_baseline(record, style),
        scope_text(record, style),
        with_note(rankings_text(record, style), RANKING_LEGEND, style),
        sweeps_text(record, style),
        capacities_text(record, style),
        summaries_text(record, style) + &summaries_legend(record, style),
        faults_text(record, style),
        study_phases(record).text(style),
        ratio_bars(record, style),
        also_compared_text(record, style),
        loaded(record).text(style),
        findings_text(&record.conclusions.validity.findings, loads, style),
        how_measured_text(record, style),
    ]
}

/// A section with what explains it, unless it is empty.
fn with_note(section: String, note: &str, style: &Style) -> String {
    if section.is_empty() {
        section
    } else {
        section + &style.note(note)
    }
}

/// What is told of a subject that is compared with nothing.
fn sections_of_one(record: &StudyRecord, extent: ReportExtent, style: &Style) -> Vec<String> {
    let curve = curve(record, style);
    let (first, behind) = if curve.is_empty() {
        (summaries_text(record, style), String::new())
    } else {
        (curve, summaries_text(record, style))
    };
    let mut sections = vec![
        found(record, style),
        first,
        sweeps_text(record, style) + &capacities_text(record, style),
    ];
    let findings_found = &record.conclusions.validity.findings;
    sections.extend(match extent {
        ReportExtent::Full => vec![
            behind + &summaries_legend(record, style),
            study_phases(record).text(style),
            loaded(record).text(style),
            findings_text(findings_found, LoadCount::Several, style),
            scope_text(record, style) + &how_measured_text(record, style),
        ],
        ReportExtent::Brief | ReportExtent::Explained => {
            vec![
                by_cause(findings_found, style),
                measured_briefly(record, style),
            ]
        }
    });
    sections
}

/// The report of a study as an HTML page, ready to be written to a file.
///
/// The page needs no other file and asks for none; the record is in it.
#[must_use]
pub fn study_html(record: &StudyRecord) -> String {
    study_html_with(record, &[])
}

/// The same headed by what the study says to expectations.
#[must_use]
pub fn study_html_with(record: &StudyRecord, responses: &[ExpectationResult]) -> String {
    let subjects = Subjects::of(record);
    let findings = &record.conclusions.validity.findings;
    let loads = record.measured.loads.len();
    let first = if is_alone(record) {
        "Result"
    } else {
        "Verdicts"
    };
    let page = Page::new(
        headline(responses).unwrap_or_else(|| title(record)),
        &subtitle(record),
        [
            (
                "expected",
                "Expectations",
                expectations_html(record, responses),
            ),
            ("verdicts", first, verdicts_html(record)),
            ("order", "Ranking", rankings_html(record)),
            ("ratios", "Ratios", ratios_html(record)),
            ("capacity", "Capacity", capacities_html(record)),
            ("sweep", "Sweeps", sweeps_html(record, &subjects)),
            ("figures", "Figures", summaries(record)),
            ("blocks", "Block by block", block_ratios(record, &subjects)),
            ("slices", "Slices over time", slices(record, &subjects)),
            ("times", "Response times", times(record, &subjects)),
            ("phases", "Where the time goes", phases_html(record)),
            ("faults", "Faults", faults_html(record, &subjects)),
            ("cost", "CPU and memory", cost(record, &subjects)),
            ("outcomes", "Outcomes", outcomes(record)),
            ("findings", "Findings", findings_html(findings, loads)),
            ("conduct", "How it was measured", how_measured_html(record)),
        ],
    );
    let file = format!("abx-study-{}.json", record.measured.seed);
    page.with_record(file, crate::json::record_json(record))
        .html()
}
