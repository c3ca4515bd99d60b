//! The report of another tool that is kept as a record: what it printed, what limits it, and
//! what would settle the rest.

use abx_audit::{Audit, ImportedRecord, LoadTool};

use super::audit::{conclusions, figures, findings, settling, unread};
use crate::words::audit::{imported_from, imported_headline, outcome_cells, place, time_cells};
use crate::words::style::Style;
use crate::words::table::Table;
use crate::words::units::plural;
use crate::words::wrap::clean_name;

/// The report of an imported record, ready to be printed.
#[must_use]
pub fn imported_text(record: &ImportedRecord, style: &Style) -> String {
    let audit = record.audit();
    let mut sections = vec![headline(record, &audit, style), figures(&audit, style)];
    let tables = [
        (["requests", "count"], outcome_cells(&record.report)),
        (["time of a request", "ms"], time_cells(&record.report)),
    ];
    for (headers, rows) in tables {
        if !rows.is_empty() {
            sections.push(Table::new(headers, rows).text(style.columns()));
        }
    }
    sections.push(findings(&audit, style));
    sections.push(conclusions(&audit, style));
    sections.extend(audit.study.iter().map(|study| settling(study, style)));
    sections.retain(|section| !section.is_empty());
    style.finish(&sections.join("\n"))
}

fn headline(record: &ImportedRecord, audit: &Audit, style: &Style) -> String {
    let mut out = style.paragraph(&imported_headline(record));
    out.push_str(&style.note(&imported_from(record)));
    for file in &audit.files {
        out.push_str(&unread(file, style));
    }
    out
}

/// A record that was saved of a report: its id first.
#[must_use]
pub fn imported_line(record: &ImportedRecord, id: &str) -> String {
    format!(
        "{id}  {}: a report of {}, {}\n",
        clean_name(&record.report.name),
        record.report.tool.name(),
        place(&record.report)
    )
}

/// What files hold that became no record, and why; empty when there is nothing.
#[must_use]
pub fn not_imported_text(audit: &Audit, style: &Style) -> String {
    let mut out = String::new();
    for file in &audit.files {
        out.push_str(&unread(file, style));
        let of_file = audit.reports.iter().filter(|one| one.file == file.file);
        let rows = of_file.filter(|one| one.tool == LoadTool::Table).count() as u64;
        if rows > 0 {
            out.push_str(&style.note(&format!(
                "Not imported: {}: {} of a table: it does not say who measured them, and how.",
                clean_name(&file.file),
                plural(rows, "row")
            )));
        }
    }
    style.finish(&out)
}
