//! Comma-separated values: one row for each slice, or for each comparison.

use abx_evidence::record::{BlockRecord, Round, SliceRecord};
use abx_evidence::{Outcome, Phase, StudyRecord};
use serde_json::{Value, json};

use crate::formats::series::word;
use crate::words::wrap::clean;

/// Every slice of a study in the order in which it was measured, those of
/// blocks that did not end among them. What could not be read is empty.
#[must_use]
pub fn slices_csv(record: &StudyRecord) -> String {
    let mut rows = Vec::new();
    for block in &record.measured.blocks {
        for part in &block.loads {
            for (number, round) in part.rounds.iter().enumerate() {
                let slices = round.slices.iter();
                rows.extend(slices.map(|slice| SliceRow {
                    block,
                    load: &part.load,
                    number,
                    round,
                    slice,
                }));
            }
        }
    }
    let outcomes = Outcome::ALL.map(|outcome| format!("outcome_{}", outcome.name()));
    let before = BEFORE_OUTCOMES.map(|(name, _)| name.to_owned());
    let after = AFTER_OUTCOMES.map(|(name, _)| name.to_owned());
    let mut out = row([&before[..], &outcomes, &after].concat());
    for slice_row in &rows {
        let outcomes =
            Outcome::ALL.map(|outcome| slice_row.slice.outcomes.count(outcome).to_string());
        let before = BEFORE_OUTCOMES.map(|(_, value)| value(slice_row));
        let after = AFTER_OUTCOMES.map(|(_, value)| value(slice_row));
        out.push_str(&row([&before[..], &outcomes, &after].concat()));
    }
    out
}

/// Every comparison of a study beside the baseline, the primary ones first.
#[must_use]
pub fn comparisons_csv(record: &StudyRecord) -> String {
    let mut out = row(COMPARISON.map(|(name, _)| name.to_owned()));
    for comparison in &record.conclusions.comparisons {
        let limits = comparison.limits(&record.conclusions.validity);
        let ids: Vec<&str> = limits.map(|finding| finding.id.name()).collect();
        let mut value = json!(comparison);
        value["findings"] = json!(ids.join(" "));
        out.push_str(&row(COMPARISON.map(|(_, place)| cell(value.pointer(place)))));
    }
    out
}

/// A value of a record, as it is without quotes.
fn cell(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) if number.is_f64() => or_empty(number.as_f64()),
        Some(value) => value.to_string(),
    }
}

struct SliceRow<'a> {
    block: &'a BlockRecord,
    load: &'a str,
    /// The number of the round within its block and load.
    number: usize,
    round: &'a Round,
    slice: &'a SliceRecord,
}

/// The name of a column, and what stands in it.
type SliceColumn = (&'static str, fn(&SliceRow<'_>) -> String);

/// A column that is named as the field of a slice that it shows.
macro_rules! field {
    ($field:ident) => {
        (stringify!($field), |row| row.slice.$field.to_string())
    };
    ($field:ident?) => {
        (stringify!($field), |row| or_empty(row.slice.$field))
    };
}

const BEFORE_OUTCOMES: [SliceColumn; 13] = [
    ("block", |row| row.block.index.to_string()),
    ("block_complete", |row| row.block.complete.to_string()),
    ("load", |row| row.load.to_owned()),
    ("round", |row| row.number.to_string()),
    ("disturbed", |row| {
        let each = row
            .round
            .disturbed
            .iter()
            .map(|disturbance| word(&json!(disturbance)));
        each.collect::<Vec<String>>().join(" ")
    }),
    field!(subject),
    field!(measured_ns),
    field!(wall_ns),
    field!(connection_ns),
    field!(sent),
    field!(completed),
    field!(ok),
    field!(clocked),
];

const AFTER_OUTCOMES: [SliceColumn; 29] = [
    ("discarded", |row| row.slice.discarded.sent().to_string()),
    field!(unsent),
    field!(queued),
    field!(bytes),
    field!(body_bytes),
    field!(connects),
    field!(closing),
    field!(reopened),
    field!(hashed),
    field!(silent),
    field!(lost),
    field!(out_of_order),
    field!(response_ns_sum),
    field!(server_cpu_ns?),
    field!(others_cpu_ns?),
    field!(generator_cpu_ns),
    field!(waiting_awake_ns),
    field!(busiest_worker_ns),
    field!(generator_wait_ns?),
    field!(paused_ns),
    field!(steal_ns?),
    field!(busy_ns?),
    field!(window_ns),
    ("stopped_answering", |row| {
        row.slice.stopped_responding.to_string()
    }),
    ("phase_requests", |row| {
        row.slice.phases.requests.to_string()
    }),
    ("waiting_ns_sum", |row| phase(row, Phase::Waiting)),
    ("connect_ns_sum", |row| phase(row, Phase::Connect)),
    ("first_byte_ns_sum", |row| phase(row, Phase::FirstByte)),
    ("body_ns_sum", |row| phase(row, Phase::Body)),
];

fn phase(row: &SliceRow, phase: Phase) -> String {
    row.slice.phases.of(phase).to_string()
}

/// The name of a column, and where in a comparison its value is.
const COMPARISON: [(&str, &str); 27] = [
    ("metric", "/metric"),
    ("role", "/role"),
    ("load", "/load"),
    ("subject", "/subject"),
    ("baseline", "/baseline"),
    ("ratio", "/ratio"),
    ("low", "/low"),
    ("high", "/high"),
    ("confidence", "/confidence"),
    ("blocks", "/blocks"),
    ("together", "/together"),
    ("p_adjusted", "/p_adjusted"),
    ("verdict", "/verdict"),
    ("at_least", "/at_least"),
    ("fragile", "/fragile"),
    ("blocks_more", "/blocks_more"),
    ("detectable", "/detectable"),
    ("hodges_lehmann_ratio", "/hodges_lehmann/ratio"),
    ("hodges_lehmann_low", "/hodges_lehmann/low"),
    ("hodges_lehmann_high", "/hodges_lehmann/high"),
    ("undisturbed_ratio", "/undisturbed/ratio"),
    ("undisturbed_low", "/undisturbed/low"),
    ("undisturbed_high", "/undisturbed/high"),
    ("undisturbed_verdict", "/undisturbed/verdict"),
    ("rounds_left_out", "/undisturbed/rounds_left_out"),
    ("findings", "/findings"),
    ("step", "/step"),
];

fn or_empty(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// A line of fields. Source: RFC 4180, with the line ends of this system.
fn row(fields: impl IntoIterator<Item = String>) -> String {
    let fields: Vec<String> = fields.into_iter().map(|field| quoted(&field)).collect();
    fields.join(",") + "\n"
}

fn quoted(field: &str) -> String {
    let field = harmless(field);
    if field.contains([',', '"', '\n']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field
    }
}

/// A field without control characters that a spreadsheet takes for text or a number, and never
/// for a formula.
fn harmless(field: &str) -> String {
    let field = clean(field);
    let is_formula = field.starts_with(['=', '+', '-', '@']) && field.parse::<f64>().is_err();
    if is_formula {
        format!("'{field}")
    } else {
        field
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_with_signs_of_their_own_are_quoted() {
        // Method: each letter that means something, and one that does not.
        let fields = ["a,b", "a\"b", "a\nb", "a b"].map(str::to_owned);
        assert_eq!(row(fields), "\"a,b\",\"a\"\"b\",\"a\nb\",a b\n");
    }

    #[test]
    fn names_of_foreign_records_are_neither_escape_codes_nor_formulas() {
        // Method: an escape code, a carriage return, formulas, and numbers that begin alike.
        let fields = ["a\u{1b}[2J", "a\rb", "=cmd|x", "@a", "-1.5", "+inf"].map(str::to_owned);
        assert_eq!(
            row(fields),
            "a\u{fffd}[2J,a\u{fffd}b,'=cmd|x,'@a,-1.5,+inf\n"
        );
    }
}
