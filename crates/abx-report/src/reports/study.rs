//! The report of a study: verdicts first, then the figures behind them, then what limits them. Each
//! form shows the same themes, in its own order.

use abx_verdict::{ExpectationResult, StudyRecord};

use crate::document::{Document, pages, sections_markdown, sections_text};
use crate::html::charts::Subjects;
use crate::html::page::Page;
use crate::html::record_place::RecordPlace;
use crate::json::record_json;
use crate::markdown::escape;
use crate::reports::run::{run_markdown, run_page, run_sections};
use crate::sections::compared::alone::{CURVE_LEGEND, curve, curve_table, is_alone, results};
use crate::sections::compared::block_ratios::block_ratios;
use crate::sections::compared::decided::also_decided;
use crate::sections::compared::expectations::{expectations, headline, overall, verdict_of};
use crate::sections::compared::faults::{faults, faults_briefly};
use crate::sections::compared::findings::{
    LoadCount, all_findings, by_cause, each_cause, findings, findings_folded, limits_briefly,
};
use crate::sections::compared::grid;
use crate::sections::compared::overview::{OVERVIEW_REST, at_a_glance, overview_of_text};
use crate::sections::compared::ranking::{rankings, rankings_at_a_glance, rankings_of_text};
use crate::sections::compared::ratios::{also_compared, also_compared_folded, ratios};
use crate::sections::compared::summaries::{
    figures_of_page, loaded, summaries, summaries_at_a_glance, summaries_legend,
};
use crate::sections::compared::sweeps::{capacities, crossovers, sweeps};
use crate::sections::compared::verdicts::{title, verdicts, verdicts_markdown, verdicts_of_page};
use crate::sections::flame_graphs::flame_graphs;
use crate::sections::measured::cost::cost;
use crate::sections::measured::how_measured::{
    conduct, conduct_briefly, how_measured, how_measured_folded, measured_briefly, subtitle,
    when_and_where,
};
use crate::sections::measured::outcomes::outcomes;
use crate::sections::measured::phases::{mean_phases, phases};
use crate::sections::measured::scope::scope;
use crate::sections::measured::slices::slices;
use crate::sections::measured::times::times;
use crate::sections::why::{why, why_of_page};
use crate::words::style::{LINE, ReportExtent, Style, mark};
use crate::words::terms::{definitions, study_terms};

/// The report of a study or of a run, ready to be printed.
#[must_use]
pub fn study_text(record: &StudyRecord, extent: ReportExtent, style: &Style) -> String {
    if let Some(run) = record.run() {
        return sections_text(run_sections(&run, extent, style), style);
    }
    let mut sections = match extent {
        _ if is_alone(record) => sections_of_one(record, extent, style),
        ReportExtent::Full if grid::is_needed(record) => all_of_many(record, style),
        ReportExtent::Full => all_sections(record, style),
        _ if grid::is_needed(record) => overview_sections(record, style),
        _ => brief_sections(record, style),
    };
    if extent == ReportExtent::Explained {
        sections.push(definitions(&study_terms(record)).collect());
    }
    sections_text(sections, style)
}

/// One section with the second document below the first.
fn with(mut first: Document, second: Document) -> Document {
    first.append(second);
    first
}

fn overview_sections(record: &StudyRecord, style: &Style) -> Vec<Document> {
    vec![
        overview_of_text(record, ReportExtent::Brief, style),
        at_a_glance(record, ReportExtent::Brief, style),
        why(record, ReportExtent::Brief),
        crossovers(record),
        capacities(record),
        faults_briefly(record, style),
        with(
            limits_briefly(&record.conclusions.validity.findings),
            Document::from_iter([&when_and_where(record), OVERVIEW_REST]),
        ),
    ]
}

/// All figures of a study that compares much, except those of single blocks, which pages have.
fn all_of_many(record: &StudyRecord, style: &Style) -> Vec<Document> {
    vec![
        overview_of_text(record, ReportExtent::Full, style),
        at_a_glance(record, ReportExtent::Full, style),
        why(record, ReportExtent::Full),
        scope(record),
        rankings_at_a_glance(record),
        crossovers(record),
        capacities(record),
        figures_of_many(record, style),
        faults(record, ReportExtent::Full, style),
        few_ratios(record, style),
        also_compared_of_many(record),
        each_cause(&record.conclusions.validity.findings, load_count(record)),
        conduct_briefly(record),
    ]
}

/// A table per load, or one per metric if those would be too long.
fn figures_of_many(record: &StudyRecord, style: &Style) -> Document {
    match record.conclusions.summaries.len() {
        ..=FIGURES_MAX => with(summaries(record, style), summaries_legend(record, style)),
        _ => summaries_at_a_glance(record, style),
    }
}

/// Bars of ratios, unless they are so many that the matrix is enough.
fn few_ratios(record: &StudyRecord, style: &Style) -> Document {
    match record.conclusions.primary().count() {
        ..=BARS_MAX => ratios(record, style),
        _ => Document::default(),
    }
}

fn also_compared_of_many(record: &StudyRecord) -> Document {
    let comparisons = record.conclusions.comparisons.len();
    match comparisons - record.conclusions.primary().count() {
        ..=ALSO_MAX => also_compared(record, ReportExtent::Full),
        _ => also_decided(record),
    }
}

/// Summaries, at most, that have a row each.
const FIGURES_MAX: usize = 100;
/// Primary comparisons, at most, that have a bar each.
const BARS_MAX: usize = 12;
/// Exploratory comparisons, at most, that have a row each.
const ALSO_MAX: usize = 24;

fn brief_sections(record: &StudyRecord, style: &Style) -> Vec<Document> {
    vec![
        verdicts(record, style),
        why(record, ReportExtent::Brief),
        rankings(record),
        sweeps(record),
        capacities(record),
        summaries(record, style),
        faults_briefly(record, style),
        also_compared(record, ReportExtent::Brief),
        with(
            by_cause(&record.conclusions.validity.findings, load_count(record)),
            Document::from_iter([&when_and_where(record), OVERVIEW_REST]),
        ),
    ]
}

fn load_count(record: &StudyRecord) -> LoadCount {
    match record.measured.loads.len() {
        0 | 1 => LoadCount::One,
        _ => LoadCount::Several,
    }
}

fn all_sections(record: &StudyRecord, style: &Style) -> Vec<Document> {
    vec![
        verdicts(record, style),
        why(record, ReportExtent::Full),
        scope(record),
        rankings_of_text(record),
        sweeps(record),
        capacities(record),
        with(summaries(record, style), summaries_legend(record, style)),
        faults(record, ReportExtent::Full, style),
        mean_phases(record),
        ratios(record, style),
        also_compared(record, ReportExtent::Full),
        loaded(record),
        findings(&record.conclusions.validity.findings, load_count(record)),
        conduct(record),
    ]
}

/// The sections of a study of a single subject.
fn sections_of_one(record: &StudyRecord, extent: ReportExtent, style: &Style) -> Vec<Document> {
    let curve = curve(record, style);
    let (first, later) = if curve.is_empty() {
        (summaries(record, style), Document::default())
    } else {
        (curve, summaries(record, style))
    };
    let mut sections = vec![
        results(record),
        first,
        why(record, ReportExtent::Full),
        with(sweeps(record), capacities(record)),
    ];
    let limits = &record.conclusions.validity.findings;
    sections.extend(match extent {
        ReportExtent::Full => vec![
            with(later, summaries_legend(record, style)),
            mean_phases(record),
            loaded(record),
            findings(limits, LoadCount::Several),
            with(scope(record), conduct(record)),
        ],
        ReportExtent::Brief | ReportExtent::Explained => {
            vec![
                by_cause(limits, load_count(record)),
                measured_briefly(record),
            ]
        }
    });
    sections
}

/// The report of a study or of a run as an HTML page.
///
/// The page needs no other file and requests none. It contains the record if `place` requests
/// that.
#[must_use]
pub fn study_html(
    record: &StudyRecord,
    results: &[ExpectationResult],
    place: RecordPlace,
) -> String {
    let (page, file) = match record.run() {
        Some(run) => (
            run_page(&run, title(record)),
            format!("run-{}", record.measured.started_unix_ms),
        ),
        None => (
            page(record, results),
            format!("study-{}", record.measured.seed),
        ),
    };
    let file = format!("abx-{file}.json");
    page.with_record(place, &file, || record_json(record))
        .html()
}

/// The page of a study, headed by the results of its expectations.
fn page(record: &StudyRecord, results: &[ExpectationResult]) -> Page {
    let subjects = Subjects::of(record);
    let limits = &record.conclusions.validity.findings;
    let loads = record.measured.loads.len();
    let first = if is_alone(record) {
        "Result"
    } else {
        "Verdicts"
    };
    let ranking = rankings_of_text(record);
    let all_ratios = with(
        ratios(record, &Style::plain()),
        also_compared(record, ReportExtent::Full),
    );
    let flames = flame_graphs(&record.measured, &record.conclusions);
    let sections = pages([
        (
            "expected",
            "Expectations",
            expectations(record, results, &LINE),
        ),
        ("verdicts", first, verdicts_of_page(record)),
        ("why", "Why", with(why_of_page(record), flames)),
        ("order", "Ranking", ranking),
        ("ratios", "Ratios", all_ratios),
        ("capacity", "Capacity", capacities(record)),
        ("sweep", "Sweeps", sweeps(record)),
        ("figures", "Figures", figures_of_page(record)),
        ("blocks", "Block by block", block_ratios(record, &subjects)),
        ("slices", "Slices over time", slices(record, &subjects)),
        ("times", "Response times", times(record, &subjects)),
        ("phases", "Where the time goes", phases(record)),
        (
            "faults",
            "Faults",
            faults(record, ReportExtent::Full, &LINE),
        ),
        ("cost", "CPU and memory", cost(record, &subjects)),
        ("outcomes", "Outcomes", outcomes(record)),
        ("findings", "Findings", all_findings(limits, loads)),
        ("conduct", "How it was measured", how_measured(record)),
    ]);
    let title = headline(results).unwrap_or_else(|| title(record));
    Page::new(title, &subtitle(record), sections).folded_after("verdicts")
}

/// A study in Markdown, for a pull request or a job's page: expectations, each verdict once,
/// figures, findings, and how to repeat the study.
#[must_use]
pub fn study_markdown(record: &StudyRecord, results: &[ExpectationResult]) -> String {
    if let Some(run) = record.run() {
        return run_markdown(&run);
    }
    let limits = &record.conclusions.validity.findings;
    let sections = [
        sweeps(record),
        capacities(record),
        faults(record, ReportExtent::Full, &LINE),
        why(record, ReportExtent::Full),
        scope(record),
        figures(record),
        mean_phases(record),
        also_compared_folded(record),
        findings_folded(limits, load_count(record), grid::is_needed(record)),
        how_measured_folded(record),
    ];
    let head = [
        heading(record, results),
        expectations(record, results, &LINE).markdown(),
        verdicts_markdown(record, results),
    ];
    sections_markdown(head, &sections)
}

/// The result of the expectations, or else the question of the study.
fn heading(record: &StudyRecord, results: &[ExpectationResult]) -> String {
    if let (Some(text), Some(standing)) = (headline(results), overall(results)) {
        return format!(
            "### {} abx: {}\n",
            mark(verdict_of(standing)),
            escape(&text)
        );
    }
    if is_alone(record) {
        return "### abx: how much can the server serve?\n".to_owned();
    }
    "### abx: which server is faster?\n".to_owned()
}

/// Every subject under each load; for a single subject, all loads in one table.
fn figures(record: &StudyRecord) -> Document {
    let is_curve = is_alone(record) && record.measured.loads.len() > 1;
    let mut curve = Document::default();
    curve.table(
        curve_table(record, &LINE).filter(|_| is_curve),
        CURVE_LEGEND,
    );
    if curve.is_empty() {
        return summaries(record, &LINE);
    }
    curve
}
