//! GitHub-flavoured Markdown: a summary for a pull request or a job's page.

use abx_evidence::{ExpectationResult, RunRecord, StudyRecord};

use crate::markdown::{UNBROKEN, code, escape, fenced};
use crate::reports::run::run_text;
use crate::sections::compared::alone::{CURVE_LEGEND, curve_table, is_alone};
use crate::sections::compared::expectations::{expectations_markdown, headline, like, overall};
use crate::sections::compared::faults::faults_text;
use crate::sections::compared::findings::{LoadCount, findings_markdown};
use crate::sections::compared::grid;
use crate::sections::compared::past_baseline::past_baseline;
use crate::sections::compared::ratios::also_compared_markdown;
use crate::sections::compared::summaries::under;
use crate::sections::compared::sweeps::{capacities_text, sweeps_text};
use crate::sections::compared::verdicts::verdicts_markdown;
use crate::sections::measured::how_measured::how_measured_markdown;
use crate::sections::measured::phases;
use crate::sections::measured::scope::scope_markdown;
use crate::words::style::{ReportExtent, Style, mark};
use crate::words::units::figure;

/// A study in Markdown: verdicts, at a glance where they are many, expectations,
/// figures, findings, and how to have the same again.
#[must_use]
pub fn study_markdown(record: &StudyRecord, responses: &[ExpectationResult]) -> String {
    let loads = match record.measured.loads.len() {
        0 | 1 => LoadCount::One,
        _ => LoadCount::Several,
    };
    let sections = [
        heading(record, responses),
        expectations_markdown(record, responses),
        verdicts_markdown(record),
        beyond_pairs(record),
        scope_markdown(record),
        figures(record),
        phases::study_phases(record).markdown(),
        also_compared_markdown(record),
        findings_markdown(
            &record.conclusions.validity.findings,
            loads,
            grid::is_needed(record),
        ),
        how_measured_markdown(record),
    ];
    joined(&sections)
}

/// A run in Markdown: its report as it stands on the terminal, and its findings.
#[must_use]
pub fn run_markdown(record: &RunRecord) -> String {
    let url = code(&record.settings.url);
    let headline = match record.throughput_per_s {
        Some(throughput) => format!("{} verified responses/s from {url}", figure(throughput)),
        None => format!("{url}: nothing was measured"),
    };
    let bare = RunRecord {
        findings: Vec::new(),
        ..record.clone()
    };
    let sections = [
        format!("### abx: {headline}\n"),
        findings_markdown(&record.findings, LoadCount::One, false),
        fenced(&run_text(&bare, ReportExtent::Full, &Style::plain())),
    ];
    joined(&sections)
}

fn joined(sections: &[String]) -> String {
    let sections = sections.iter().filter(|section| !section.is_empty());
    let texts: Vec<&str> = sections.map(String::as_str).collect();
    UNBROKEN.finish(&texts.join("\n"))
}

/// The response to what was expected, else the question that a study answers.
fn heading(record: &StudyRecord, responses: &[ExpectationResult]) -> String {
    if let (Some(text), Some(standing)) = (headline(responses), overall(responses)) {
        return format!("### {} abx: {}\n", mark(like(standing)), escape(&text));
    }
    if is_alone(record) {
        return "### abx: how much can the server serve?\n".to_owned();
    }
    "### abx: which server is faster?\n".to_owned()
}

/// What is said of older records, sweeps, capacities and faults, as on the terminal.
fn beyond_pairs(record: &StudyRecord) -> String {
    let style = Style::plain();
    let text = [
        past_baseline(record, &style),
        sweeps_text(record, &style),
        capacities_text(record, &style),
        faults_text(record, &style),
    ];
    let text = text.concat();
    if text.is_empty() { text } else { fenced(&text) }
}

/// Every subject under each load; if there is one subject, each load in one table.
fn figures(record: &StudyRecord) -> String {
    let is_curve = is_alone(record) && record.measured.loads.len() > 1;
    if let Some(table) = curve_table(record, &UNBROKEN).filter(|_| is_curve) {
        let legend = escape(CURVE_LEGEND);
        return format!("{}\n{legend}\n", table.markdown());
    }
    let each = record
        .measured
        .loads
        .iter()
        .map(|load| under(record, load, &UNBROKEN).markdown());
    each.collect::<Vec<_>>().join("\n")
}
