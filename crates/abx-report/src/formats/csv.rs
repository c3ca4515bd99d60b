//! Comma-separated values: one row for each slice, or for each comparison.

use abx_evidence::record::SliceRecord;
use abx_evidence::{Outcome, Phase};
use abx_verdict::StudyRecord;
use serde_json::{Value, json};

use crate::formats::series::word;
use crate::words::verdict::is_of_throughput;
use crate::words::wrap::clean;

/// Every slice of a study in the order of measurement, also of incomplete blocks. Values that could
/// not be read are empty.
#[must_use]
pub fn slices_csv(record: &StudyRecord) -> String {
    let round_names = ["block", "block_complete", "load", "round", "disturbed"].map(str::to_owned);
    let slice_names = named_cells(&SliceRecord::default()).into_iter();
    let slice_names = slice_names.map(|(name, _)| name);
    let mut out = row(round_names.into_iter().chain(slice_names));
    for block in &record.measured.blocks {
        for part in &block.loads {
            for (number, round) in part.rounds.iter().enumerate() {
                let disturbed = round.disturbed.iter().map(|cause| word(&json!(cause)));
                let round_cells = [
                    block.index.to_string(),
                    block.complete.to_string(),
                    part.load.clone(),
                    number.to_string(),
                    disturbed.collect::<Vec<String>>().join(" "),
                ];
                for slice in &round.slices {
                    let cells = named_cells(slice).into_iter().map(|(_, cell)| cell);
                    out.push_str(&row(round_cells.iter().cloned().chain(cells)));
                }
            }
        }
    }
    out
}

/// The columns of a slice, in the order of its fields: the name and the cell. A field of several
/// values has a column for each value, or one for all.
fn named_cells(slice: &SliceRecord) -> Vec<(String, String)> {
    let values = json!(slice);
    let mut cells = Vec::new();
    let mut push = |name: &str, cell: String| cells.push((name.to_owned(), cell));
    for field in SliceRecord::FIELDS {
        match *field {
            "outcomes" => Outcome::ALL.into_iter().for_each(|outcome| {
                let count = slice.outcomes.count(outcome).to_string();
                push(&format!("outcome_{}", outcome.name()), count);
            }),
            "discarded" => push(field, slice.discarded.sent().to_string()),
            "stopped_responding" => push("stopped_answering", slice.stopped_responding.to_string()),
            "phases" => {
                push("phase_requests", slice.phases.requests.to_string());
                for (name, phase) in [
                    ("waiting_ns_sum", Phase::Waiting),
                    ("connect_ns_sum", Phase::Connect),
                    ("first_byte_ns_sum", Phase::FirstByte),
                    ("body_ns_sum", Phase::Body),
                ] {
                    push(name, slice.phases.of(phase).to_string());
                }
            }
            _ => push(field, cell(values.get(field))),
        }
    }
    cells
}

/// Every comparison of a study, the primary ones first.
#[must_use]
pub fn comparisons_csv(record: &StudyRecord) -> String {
    let mut out = row(COMPARISON.map(|(name, _)| name.to_owned()));
    for comparison in &record.conclusions.comparisons {
        let limits = comparison.limits(&record.conclusions.validity);
        // A finding that limits only throughput does not limit the CPU per response that stands in
        // for it.
        let limits = limits.filter(|finding| !is_of_throughput(finding));
        let ids: Vec<&str> = limits.map(|finding| finding.id.name()).collect();
        let mut value = json!(comparison);
        value["findings"] = json!(ids.join(" "));
        value["label"] = json!(record.measured.label);
        out.push_str(&row(COMPARISON.map(|(_, place)| cell(value.pointer(place)))));
    }
    out
}

/// A value of a record, without quotes.
fn cell(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(values)) => {
            let cells: Vec<String> = values.iter().map(|value| cell(Some(value))).collect();
            cells.join(" ")
        }
        Some(Value::Number(number)) if number.is_f64() => or_empty(number.as_f64()),
        Some(value) => value.to_string(),
    }
}

/// The name of a column, and the JSON pointer of its value in a comparison.
const COMPARISON: [(&str, &str); 28] = [
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
    ("label", "/label"),
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

/// A field of limited length without control characters, which a spreadsheet reads as text or a
/// number and never as a formula.
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
    fn fields_with_special_letters_are_quoted() {
        // Method: each letter with a meaning in CSV, and one without.
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
