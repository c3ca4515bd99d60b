//! The page of a report of another tool: what it printed, what limits it, what can be
//! concluded.

use abx_audit::{Audit, ImportedRecord};
use abx_evidence::Level;

use crate::html::markup::{Grid, Markup, element, missing, note, paragraphs};
use crate::html::pages::page::Page;
use crate::words::audit::{
    FIGURE_HEADERS, figure_cells, imported_from, imported_headline, outcome_cells, time_cells,
    told_with_lines,
};
use crate::words::wrap::{clean, clean_name};

/// The report of an imported record as an HTML page; the record is in it.
#[must_use]
pub fn imported_html(record: &ImportedRecord) -> String {
    let audit = record.audit();
    let report = &record.report;
    let (name, tool) = (clean_name(&report.name), report.tool.name());
    let figures = Grid::figures("As printed", FIGURE_HEADERS, [figure_cells(report)]);
    let sections = [
        ("figures", "Figures", Markup::from(figures.markup())),
        (
            "outcomes",
            "Requests",
            cells(
                "Requests, as printed",
                ["requests", "count"],
                outcome_cells(report),
            ),
        ),
        (
            "times",
            "Times",
            cells(
                "Times, as printed",
                ["time of a request", "ms"],
                time_cells(report),
            ),
        ),
        ("unread", "Not read", unread(&audit)),
        ("findings", "Findings", findings(&audit)),
        ("conclusions", "What can be concluded", concluded(&audit)),
        ("study", "What would settle it", settling(&audit)),
    ];
    let subtitle = format!("{} {}", imported_headline(record), imported_from(record));
    let file = format!("abx-import-{}.json", record.imported_unix_ms);
    Page::new(format!("{name}, loaded by {tool}"), &subtitle, sections)
        .with_record(file, crate::formats::imported_json(record))
        .html()
}

fn cells(caption: &str, headers: [&str; 2], rows: Vec<[String; 2]>) -> Markup {
    match rows.is_empty() {
        true => Markup::new(),
        false => Grid::figures(caption, headers, rows).markup().into(),
    }
}

fn unread(audit: &Audit) -> Markup {
    let all = audit.files.iter().flat_map(|file| {
        let name = clean_name(&file.file);
        let of_file = file.unread.iter();
        of_file.map(move |one| {
            let why = format!(": {}.", clean_name(&one.why));
            (format!("{name}:{}", one.line), why)
        })
    });
    missing(all)
}

fn findings(audit: &Audit) -> Markup {
    let each = audit.findings.iter().map(|finding| {
        let level = match finding.level {
            Level::Void => "void",
            Level::Bound => "bound",
            Level::Note => "note",
        };
        let told = clean(&told_with_lines(finding, audit));
        element("li")
            .add(element("strong").text(level))
            .text(&format!(" {} {told}", finding.id.meaning()))
    });
    element("ul").add_all(each).into()
}

fn concluded(audit: &Audit) -> Markup {
    let each = audit.conclusions.iter();
    paragraphs(&each.map(|one| clean(one)).collect::<Vec<_>>().join("\n"))
}

fn settling(audit: &Audit) -> Markup {
    let Some(study) = &audit.study else {
        return Markup::new();
    };
    let command = element("p").add(element("code").text(&clean(study)));
    let words = note("With COMMAND for what starts each server.");
    [command, words].into_iter().collect()
}
