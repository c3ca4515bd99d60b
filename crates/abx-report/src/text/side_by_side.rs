//! Reports of other tools beside records of abx: figures in a table, and why that is no
//! comparison.

use abx_audit::{SideBySide, SideRow};

use super::audit::{findings, unread};
use crate::words::style::Style;
use crate::words::table::Table;
use crate::words::units::{figure, or_unknown};
use crate::words::wrap::{clean, clean_name, wrap};

/// Records side by side, ready to be printed.
#[must_use]
pub fn side_by_side_text(all: &SideBySide, style: &Style) -> String {
    let mut sections = vec![style.paragraph(all.no_comparison)];
    let figures = all.rows.iter().map(|row| {
        [
            name(row),
            or_unknown(row.rate_per_s, figure),
            or_unknown(row.connections, whole),
            or_unknown(row.responses, whole),
            or_unknown(row.failed, whole),
            or_unknown(row.wrong_status, whole),
            or_unknown(row.elapsed_s, figure),
        ]
    });
    let headers = [
        "server",
        "requests/s",
        "connections",
        "responses",
        "failed",
        "status",
        "s",
    ];
    let figures = Table::new(headers, figures).text(style.columns());
    sections.push(figures + &style.note(&legend(all)));
    let times = all.rows.iter().map(|row| {
        let [mean, p50, p90, p99, max] =
            [row.mean_ms, row.p50_ms, row.p90_ms, row.p99_ms, row.max_ms]
                .map(|ms| or_unknown(ms, figure));
        [name(row), mean, p50, p90, p99, max]
    });
    let headers = ["time of a request, ms", "mean", "p50", "p90", "p99", "max"];
    sections.push(Table::new(headers, times).text(style.columns()));
    let not_read = all.imported.files.iter();
    let not_read: String = not_read.map(|file| unread(file, style)).collect();
    sections.push(not_read + &findings(&all.imported, style));
    if let Some(study) = &all.study {
        let words = "What would compare them, with COMMAND for what starts each server:";
        let command = wrap(&clean(study), "  $ ", "      ", style.columns());
        sections.push(style.paragraph(words) + &command);
    }
    sections.retain(|section| !section.is_empty());
    style.finish(&sections.join("\n"))
}

/// The server and who loaded it.
fn name(row: &SideRow) -> String {
    let load = row.load.as_ref().map(|load| format!(", {load}"));
    let load = load.unwrap_or_default();
    clean_name(&format!("{}{load} ({})", row.name, row.tool))
}

/// What the columns count, and which record each row is of.
fn legend(all: &SideBySide) -> String {
    let mut records: Vec<(&str, Vec<String>)> = Vec::new();
    for row in &all.rows {
        match records.last_mut().filter(|(word, _)| *word == row.record) {
            Some((_, names)) => names.push(name(row)),
            None => records.push((&row.record, vec![name(row)])),
        }
    }
    let each = records
        .iter()
        .map(|(word, names)| format!("{}: {}", clean_name(word), names.join(", ")));
    let each: Vec<String> = each.collect();
    format!(
        "failed: what the tool itself calls so; status: responses with a wrong status, which abx \
         counts as failed and most other tools do not; s: the duration, of a study that of its \
         load. -: not printed. {}.",
        each.join("; ")
    )
}

fn whole(value: f64) -> String {
    format!("{value:.0}")
}
