//! The report of a study: verdicts first, then the figures behind them, then
//! what limits them.

use abx_evidence::record::LoadRecord;
use abx_evidence::{Figure, StudyRecord, Summary};

use super::also_compared::{also_compared, also_compared_briefly};
use super::bar::bars;
use super::curve::{curve, found};
use super::faults::faults;
use super::findings::{by_cause, by_level, findings};
use super::overview;
use super::past_baseline::past_baseline;
use super::phases;
use super::ranking::{RANKING_LEGEND, rankings};
use super::sweeps::{capacities, crossovers, sweeps};
use super::terms::definitions;
use crate::words::alone::is_alone;
use crate::words::figures::{FIGURES_LEGEND, loaded, neither, other_statuses, table, unsent};
use crate::words::findings::LoadCount;
use crate::words::fleet::agents;
use crate::words::grid;
use crate::words::held::{HELD_LEGEND, held_table};
use crate::words::how_measured::{ended, turns};
use crate::words::load::{alone, offer};
use crate::words::scope;
use crate::words::server_times::{SERVER_TIMES_LEGEND, server_times_table};
use crate::words::services::{SERVICES_LEGEND, services_table};
use crate::words::style::Style;
use crate::words::terms::study_terms;
use crate::words::times::at_least_legend;
use crate::words::units::{UNKNOWN, figure, plural, seconds, whole_percent};
use crate::words::verdict::{instead_of_throughput, name, remarks, sentence};
use crate::words::wrap::clean_name;

/// How much of a study or run is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportExtent {
    /// What fits on a screen.
    Brief,
    /// The same, and what its words mean.
    Explained,
    /// All of it.
    Full,
}

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

/// What a study that compares much tells on a screen.
fn overview_sections(record: &StudyRecord, style: &Style) -> Vec<String> {
    vec![
        overview::found(record, style) + &past_baseline(record, style),
        crossovers(record, style),
        capacities(record, style),
        faults(record, style),
        by_level(&record.conclusions.validity.findings, style),
        scope(record, style) + &style.paragraph(&measured(record)),
        overview::rest(style),
    ]
}

/// What a study that compares little tells on a screen.
fn brief_sections(record: &StudyRecord, style: &Style) -> Vec<String> {
    vec![
        verdicts(record, style) + &past_baseline(record, style),
        rankings(record, style),
        sweeps(record, style),
        capacities(record, style),
        tables(record, style),
        faults(record, style),
        also_compared_briefly(record, style),
        by_cause(&record.conclusions.validity.findings, style),
        measured_briefly(record, style),
    ]
}

/// How it was measured, and how to be told more.
fn measured_briefly(record: &StudyRecord, style: &Style) -> String {
    let rest = "--full prints all figures and remedies; --explain-terms says what words mean.";
    let lines = [&scope::not_varied(record), &measured(record), rest];
    lines.map(|line| style.paragraph(line)).concat()
}

fn all_sections(record: &StudyRecord, style: &Style) -> Vec<String> {
    let loads = if record.measured.loads.len() > 1 {
        LoadCount::Several
    } else {
        LoadCount::One
    };
    vec![
        verdicts(record, style) + &past_baseline(record, style),
        scope(record, style),
        with_note(rankings(record, style), RANKING_LEGEND, style),
        sweeps(record, style),
        capacities(record, style),
        tables(record, style) + &tables_legend(record, style),
        faults(record, style),
        phases::of_study(record, style),
        bars(record, style),
        also_compared(record, style),
        loaded(record, style),
        findings(&record.conclusions.validity.findings, loads, style),
        how_measured(record, style),
    ]
}

/// A section with what explains it, unless it is empty.
fn with_note(section: String, note: &str, style: &Style) -> String {
    match section.is_empty() {
        true => section,
        false => section + &style.note(note),
    }
}

/// What is told of a subject that is compared with nothing.
fn sections_of_one(record: &StudyRecord, extent: ReportExtent, style: &Style) -> Vec<String> {
    let curve = curve(record, style);
    let (first, behind) = match curve.is_empty() {
        true => (tables(record, style), String::new()),
        false => (curve, tables(record, style)),
    };
    let mut sections = vec![
        found(record, style),
        first,
        sweeps(record, style) + &capacities(record, style),
    ];
    let findings_found = &record.conclusions.validity.findings;
    sections.extend(match extent {
        ReportExtent::Full => vec![
            behind + &tables_legend(record, style),
            phases::of_study(record, style),
            loaded(record, style),
            findings(findings_found, LoadCount::Several, style),
            scope(record, style) + &how_measured(record, style),
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

fn verdicts(record: &StudyRecord, style: &Style) -> String {
    let is_nothing = record.conclusions.primary().next().is_none();
    if is_nothing && record.measured.past_baseline.is_some() {
        return String::new();
    }
    if is_nothing {
        return "Nothing was compared.\n".to_owned();
    }
    let mut out = String::new();
    for one in record.conclusions.primary() {
        out.push_str(&style.paragraph(&sentence(record, one, style)));
        for remark in remarks(record, one) {
            out.push_str(&style.note(&remark));
        }
    }
    out + &instead_of_throughput(record).map_or_else(String::new, |text| style.note(text))
}

/// What was not varied, and how often any of several families is wrong.
fn scope(record: &StudyRecord, style: &Style) -> String {
    let scope = std::iter::once(scope::of_study(record));
    let lines = scope.chain(scope::of_all(record));
    lines.map(|line| style.paragraph(&line)).collect()
}

/// A table for each load.
fn tables(record: &StudyRecord, style: &Style) -> String {
    let figures = alone(record).map(|load| figures(record, load, style));
    figures.collect::<Vec<_>>().join("\n")
}

/// What the columns mean; empty where nothing was measured.
fn tables_legend(record: &StudyRecord, style: &Style) -> String {
    let mut measured = record
        .conclusions
        .summaries
        .iter()
        .filter(|one| one.sent > 0)
        .peekable();
    if measured.peek().is_none() {
        return String::new();
    }
    let mut legend = FIGURES_LEGEND.to_owned();
    let has_gap = |one: &Summary| {
        one.server_cpu_us_per_request.is_none()
            || one.server_busy.is_none()
            || one.rss_bytes.is_none()
    };
    let all = record.conclusions.summaries.iter();
    let times = all.map(|one| &one.response_time_us);
    legend.push_str(&at_least_legend(times, &[Figure::P50, Figure::P99], style));
    if measured.any(has_gap) {
        legend.push_str(&format!(" {UNKNOWN}: not checked."));
    }
    style.note(&legend)
}

/// Every subject under one load.
fn figures(record: &StudyRecord, load: &LoadRecord, style: &Style) -> String {
    let summaries: Vec<&Summary> = record.conclusions.under(&load.name).collect();
    let mut out = style.paragraph(&offer(record, load));
    if let Some(table) = held_table(&summaries) {
        return out + &table.text(style.columns()) + &style.note(HELD_LEGEND);
    }
    if summaries.iter().all(|summary| summary.sent == 0) {
        return out + "  nothing was measured\n";
    }
    let shape = load.settings.exchange.shape;
    out.push_str(&table(&summaries, shape, style).text(style.columns()));
    for summary in &summaries {
        out.push_str(&neither(summary, style));
        out.push_str(&other_statuses(summary, style));
        out.push_str(&unsent(summary, style));
    }
    if let Some(table) = services_table(&summaries) {
        out.push_str(&table.text(style.columns()));
        out.push_str(&style.note(SERVICES_LEGEND));
    }
    if let Some(table) = server_times_table(record, &load.name) {
        out.push_str(&table.text(style.columns()));
        out.push_str(&style.note(SERVER_TIMES_LEGEND));
    }
    out + &ceiling(record, load, style)
}

/// What the generator could get at most; empty where that was not looked for.
fn ceiling(record: &StudyRecord, load: &LoadRecord, style: &Style) -> String {
    let Some(found) = record
        .conclusions
        .ceilings
        .iter()
        .find(|one| one.load == load.name)
    else {
        return String::new();
    };
    let busy = found.generator_busy.map_or(String::new(), |busy| {
        format!("; generator {} busy", whole_percent(busy))
    });
    let text = format!(
        "ceiling: {} requests/s (a server that does nothing{busy})",
        figure(found.throughput_per_s)
    );
    style.note(&text)
}

/// Why the study ended, and with how much.
fn measured(record: &StudyRecord) -> String {
    let complete = record.measured.complete_blocks().count();
    let broken = record.measured.blocks.len() - complete;
    let incomplete = match broken {
        0 => String::new(),
        _ => format!(
            " and {} incomplete (not judged)",
            plural(broken as u64, "block")
        ),
    };
    format!(
        "{}. {}{incomplete} in {}, seed {}, abx {}.",
        ended(record).trim_end_matches(['.', ':', ' ']),
        plural(complete as u64, "block"),
        seconds(record.measured.elapsed_s),
        record.measured.seed,
        clean_name(&record.measured.abx_version)
    )
}

/// How the study was measured and why it ended.
pub(crate) fn how_measured(record: &StudyRecord, style: &Style) -> String {
    let mut out = style.paragraph(&measured(record));
    if let Some(fleet) = &record.measured.fleet {
        out.push_str(&style.paragraph(&format!("Load from agents: {}.", agents(fleet))));
    }
    out.push_str(&style.paragraph(&versions(record)));
    for load in alone(record) {
        out.push_str(&style.paragraph(&turns(record, load)));
    }
    out
}

/// What subjects say of themselves; empty when none says anything.
pub(crate) fn versions(record: &StudyRecord) -> String {
    let each = record.measured.subjects.iter().filter_map(|subject| {
        let version = clean_name(subject.version.as_deref()?);
        Some(format!("{} is {version}", name(&subject.name)))
    });
    let all: Vec<String> = each.collect();
    if all.is_empty() {
        return String::new();
    }
    format!("Reported versions: {}.", all.join(", "))
}
