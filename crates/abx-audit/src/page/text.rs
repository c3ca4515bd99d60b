//! The text of an audit: the figures of the reports, the findings with their lines, the
//! conclusions, and the study that would answer the open questions.

use std::collections::BTreeMap;

use abx_report::printing::{
    GLUE, LEVEL_INDENT, Style, Table, clean, clean_name, level_start, plural, wrap,
};

use super::words::{FIGURE_HEADERS, figure_cells, place, span, text_with_lines};
use crate::finding::AuditFinding;
use crate::report::LoadTool;
use crate::{Audit, AuditedFile};

/// The printed text of an audit.
#[must_use]
pub fn audit_text(audit: &Audit, style: &Style) -> String {
    let mut sections = vec![headline(audit, style)];
    if !audit.reports.is_empty() {
        sections.push(figures(audit, style));
        sections.push(findings(audit, style));
        sections.push(conclusions(audit, style));
    }
    sections.extend(audit.study.iter().map(|study| settling(study, style)));
    style.finish(&sections.join("\n"))
}

/// The number of reports per tool, and what cannot be read.
fn headline(audit: &Audit, style: &Style) -> String {
    let mut counts: BTreeMap<LoadTool, u64> = BTreeMap::new();
    for report in &audit.reports {
        *counts.entry(report.tool).or_default() += 1;
    }
    let counted: Vec<String> = counts
        .iter()
        .map(|(tool, count)| match tool {
            LoadTool::Table => format!("{} of a table", plural(*count, "row")),
            tool => format!("{} of {}", plural(*count, "report"), tool.name()),
        })
        .collect();
    let files = plural(audit.files.len() as u64, "file");
    let text = if counted.is_empty() {
        format!("No report of a load generator in {files}.")
    } else {
        format!("{} in {files}.", counted.join(", "))
    };
    let mut out = style.paragraph(&text);
    for file in &audit.files {
        out.push_str(&unread(file, style));
    }
    out
}

fn unread(file: &AuditedFile, style: &Style) -> String {
    let name = clean_name(&file.file);
    let mut out = String::new();
    let why = match (file.is_text, file.reports) {
        (false, _) => Some("it is not text".to_owned()),
        (true, 0) => Some(format!(
            "no report in {}: abx reads reports of ab, httperf, wrk, wrk2, hey, oha, h2load \
             and siege",
            plural(file.lines as u64, "line")
        )),
        _ => None,
    };
    if let Some(why) = why {
        out.push_str(&style.note(&format!("Not read: {name}: {why}.")));
    }
    for unread in file.unread.iter().take(UNREAD_MOST) {
        let why = clean_name(&unread.why);
        out.push_str(&style.note(&format!("Not read: {name}:{}: {why}.", unread.line)));
    }
    if let Some(more @ 1..) = file.unread.len().checked_sub(UNREAD_MOST) {
        out.push_str(&style.note(&format!("Not read: {name}: {more} more (--json has all).")));
    }
    out
}

/// The figures as printed, and where they are.
fn figures(audit: &Audit, style: &Style) -> String {
    let rows = audit.reports.iter().map(figure_cells);
    let mut out = Table::new(FIGURE_HEADERS, rows).text(style.columns());
    let mut rows: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let mut places = Vec::new();
    for report in &audit.reports {
        match report.tool {
            LoadTool::Table => rows.entry(&report.file).or_default().push(report.line),
            _ => places.push(format!("{}: {}", clean_name(&report.name), place(report))),
        }
    }
    places.extend(rows.iter().filter_map(|(file, lines)| {
        let (first, last) = (lines.first()?, lines.last()?);
        Some(format!("rows: {}", span(file, *first, *last)))
    }));
    out.push_str(&style.note(&format!("{}.", places.join(", "))));
    out
}

/// All findings, grouped by kind.
fn findings(audit: &Audit, style: &Style) -> String {
    let mut out = String::new();
    let is_same_kind = |finding: &AuditFinding, next: &AuditFinding| {
        (finding.level, finding.id) == (next.level, next.id)
    };
    for group in audit.findings.chunk_by(is_same_kind) {
        let Some(first) = group.first() else {
            continue;
        };
        let start = level_start(first.level, style);
        let meaning = wrap(first.id.meaning(), &start, LEVEL_INDENT, style.columns());
        out.push_str(&meaning);
        for finding in group {
            let text = text_with_lines(finding, audit);
            let text = clean(&text).replace(" %", &format!("{GLUE}%"));
            let deeper = format!("{LEVEL_INDENT}  ");
            out.push_str(&wrap(&text, LEVEL_INDENT, &deeper, style.columns()));
        }
    }
    out
}

fn conclusions(audit: &Audit, style: &Style) -> String {
    let mut out = style.paragraph("What can be concluded:");
    for sentence in &audit.conclusions {
        out.push_str(&wrap(&clean(sentence), "  - ", "    ", style.columns()));
    }
    out
}

/// The study that would answer the open questions.
fn settling(study: &str, style: &Style) -> String {
    let words =
        "This study would decide it. Replace COMMAND with the command that starts each server:";
    let command = wrap(&clean(study), "  $ ", "      ", style.columns());
    style.paragraph(words) + &command
}

/// The number of unreadable lines that are listed per file.
const UNREAD_MOST: usize = 5;
