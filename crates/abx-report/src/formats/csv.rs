//! Comma-separated values: one row for each slice, or for each comparison.

use abx_evidence::record::{BlockRecord, Round, SliceRecord};
use abx_evidence::{Bounds, Comparison, Outcome, Phase, StudyRecord, Validity};
use serde_json::json;

use crate::formats::series::word;
use crate::words::wrap::clean;

/// Every slice of a study in the order in which it was measured, those of
/// blocks that did not end among them. What could not be read is empty.
#[must_use]
pub fn slices_csv(record: &StudyRecord) -> String {
    let mut header: Vec<String> = BEFORE_OUTCOMES.map(str::to_owned).into();
    header.extend(Outcome::ALL.map(|one| format!("outcome_{}", one.name())));
    header.extend(AFTER_OUTCOMES.map(str::to_owned));
    let mut out = row(&header);
    for block in &record.measured.blocks {
        for part in &block.loads {
            for (number, round) in part.rounds.iter().enumerate() {
                for slice in &round.slices {
                    out.push_str(&row(&slice_row(block, &part.load, number, round, slice)));
                }
            }
        }
    }
    out
}

/// Every comparison of a study beside the baseline, the primary ones first.
#[must_use]
pub fn comparisons_csv(record: &StudyRecord) -> String {
    let mut out = row(&COMPARISON.map(str::to_owned));
    for one in &record.conclusions.comparisons {
        out.push_str(&row(&comparison_row(one, &record.conclusions.validity)));
    }
    out
}

const BEFORE_OUTCOMES: [&str; 13] = [
    "block",
    "block_complete",
    "load",
    "round",
    "disturbed",
    "subject",
    "measured_ns",
    "wall_ns",
    "connection_ns",
    "sent",
    "completed",
    "ok",
    "clocked",
];

const AFTER_OUTCOMES: [&str; 29] = [
    "discarded",
    "unsent",
    "queued",
    "bytes",
    "body_bytes",
    "connects",
    "closing",
    "reopened",
    "hashed",
    "silent",
    "lost",
    "out_of_order",
    "response_ns_sum",
    "server_cpu_ns",
    "others_cpu_ns",
    "generator_cpu_ns",
    "waiting_awake_ns",
    "busiest_worker_ns",
    "generator_wait_ns",
    "paused_ns",
    "steal_ns",
    "busy_ns",
    "window_ns",
    "stopped_answering",
    "phase_requests",
    "waiting_ns_sum",
    "connect_ns_sum",
    "first_byte_ns_sum",
    "body_ns_sum",
];

const COMPARISON: [&str; 27] = [
    "metric",
    "role",
    "load",
    "subject",
    "baseline",
    "ratio",
    "low",
    "high",
    "confidence",
    "blocks",
    "together",
    "p_adjusted",
    "verdict",
    "at_least",
    "fragile",
    "blocks_more",
    "detectable",
    "hodges_lehmann_ratio",
    "hodges_lehmann_low",
    "hodges_lehmann_high",
    "undisturbed_ratio",
    "undisturbed_low",
    "undisturbed_high",
    "undisturbed_verdict",
    "rounds_left_out",
    "findings",
    "step",
];

fn slice_row(
    block: &BlockRecord,
    load: &str,
    round_number: usize,
    round: &Round,
    slice: &SliceRecord,
) -> Vec<String> {
    let disturbed: Vec<String> = { round.disturbed.iter() }
        .map(|one| word(&json!(one)))
        .collect();
    let mut fields = vec![
        block.index.to_string(),
        block.complete.to_string(),
        load.to_owned(),
        round_number.to_string(),
        disturbed.join(" "),
        slice.subject.clone(),
        slice.measured_ns.to_string(),
        slice.wall_ns.to_string(),
        slice.connection_ns.to_string(),
        slice.sent.to_string(),
        slice.completed.to_string(),
        slice.ok.to_string(),
        slice.clocked.to_string(),
    ];
    let outcomes = Outcome::ALL.iter();
    fields.extend(outcomes.map(|one| slice.outcomes.count(*one).to_string()));
    fields.extend([
        slice.discarded.sent().to_string(),
        slice.unsent.to_string(),
        slice.queued.to_string(),
        slice.bytes.to_string(),
        slice.body_bytes.to_string(),
        slice.connects.to_string(),
        slice.closing.to_string(),
        slice.reopened.to_string(),
        slice.hashed.to_string(),
        slice.silent.to_string(),
        slice.lost.to_string(),
        slice.out_of_order.to_string(),
        slice.response_ns_sum.to_string(),
        or_empty(slice.server_cpu_ns),
        or_empty(slice.others_cpu_ns),
        slice.generator_cpu_ns.to_string(),
        slice.waiting_awake_ns.to_string(),
        slice.busiest_worker_ns.to_string(),
        or_empty(slice.generator_wait_ns),
        slice.paused_ns.to_string(),
        or_empty(slice.steal_ns),
        or_empty(slice.busy_ns),
        slice.window_ns.to_string(),
        slice.stopped_answering.to_string(),
        slice.phases.requests.to_string(),
    ]);
    fields.extend(Phase::ALL.map(|one| slice.phases.of(one).to_string()));
    fields
}

fn comparison_row(one: &Comparison, validity: &Validity) -> Vec<String> {
    let bounds = |bounds: Option<Bounds>| {
        [
            or_empty(bounds.map(|bounds| bounds.ratio)),
            or_empty(bounds.map(|bounds| bounds.low)),
            or_empty(bounds.map(|bounds| bounds.high)),
        ]
    };
    let findings: Vec<&str> = one.limits(validity).map(|one| one.id.name()).collect();
    let undisturbed = one.undisturbed.as_ref();
    let mut fields = vec![
        one.metric.id().to_owned(),
        word(&json!(one.role)),
        one.load.clone(),
        one.subject.clone(),
        one.baseline.clone(),
        or_empty(one.ratio),
        or_empty(one.low),
        or_empty(one.high),
        one.confidence.to_string(),
        one.blocks.to_string(),
        one.together.to_string(),
        or_empty(one.p_adjusted),
        word(&json!(one.verdict)),
        one.at_least.to_string(),
        one.fragile.to_string(),
        or_empty(one.blocks_more),
        or_empty(one.detectable),
    ];
    fields.extend(bounds(one.hodges_lehmann));
    fields.extend(bounds(undisturbed.map(|other| other.bounds)));
    fields.push(undisturbed.map_or_else(String::new, |other| word(&json!(other.verdict))));
    fields.push(or_empty(undisturbed.map(|other| other.rounds_left_out)));
    fields.push(findings.join(" "));
    fields.push(one.step.clone().unwrap_or_default());
    fields
}

fn or_empty(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// A line of fields. Source: RFC 4180, with the line ends of this system.
fn row(fields: &[String]) -> String {
    let fields: Vec<String> = fields.iter().map(|field| quoted(field)).collect();
    fields.join(",") + "\n"
}

fn quoted(field: &str) -> String {
    let field = harmless(field);
    match field.contains([',', '"', '\n']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field,
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
        assert_eq!(row(&fields), "\"a,b\",\"a\"\"b\",\"a\nb\",a b\n");
    }

    #[test]
    fn names_of_foreign_records_are_neither_escape_codes_nor_formulas() {
        // Method: an escape code, a carriage return, formulas, and numbers that begin alike.
        let fields = ["a\u{1b}[2J", "a\rb", "=cmd|x", "@a", "-1.5", "+inf"].map(str::to_owned);
        assert_eq!(
            row(&fields),
            "a\u{fffd}[2J,a\u{fffd}b,'=cmd|x,'@a,-1.5,+inf\n"
        );
    }
}
