//! Records from strangers: every text of a record is hostile, and every report shows it as text.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use abx_evidence::Measured;
use abx_report::{EXPORTERS, RecordPlace, ReportExtent, Style, record_json, study_text};
use abx_verdict::expectation::expectation_results;
use abx_verdict::{Expectation, StudyRecord};
use serde_json::Value;

use crate::support::run;

/// Text that a terminal, a spreadsheet, a browser or a reader of another format interprets.
const HOSTILE: &str = "=cmd|' /C calc'!A1\u{1b}[2J\u{9b}31m\u{7}\r\n@team `c` | <img src=x \
    onerror=alert(1)> \"q\" 'p' ]]> --> *b* [l](javascript:alert(1)) \u{202e}txt\u{200b};1 \\ \n\
    # EOF\nup 1\n";
/// The letters that make a text very long.
const LETTERS: usize = 9_000;
/// The longest text that reports show.
const SHOWN_LETTERS_MAX: usize = 8_000;
/// The longest report, in bytes: records of this size have reports of 100 KB.
const BYTES_MAX: usize = 4_000_000;

fn hostile(text: &str) -> String {
    format!("{HOSTILE}{text}")
}

/// The tree with very long hostile texts.
fn lengthened(value: Value) -> Value {
    let lengthen = |mut text: String| {
        if text.starts_with(HOSTILE) {
            text.push_str(&"x".repeat(LETTERS));
        }
        text
    };
    match value {
        Value::String(text) => Value::String(lengthen(text)),
        Value::Array(values) => values.into_iter().map(lengthened).collect(),
        Value::Object(values) => values
            .into_iter()
            .map(|(key, value)| (lengthen(key), lengthened(value)))
            .collect(),
        other => other,
    }
}

/// Collects the texts of a tree, without its keys.
fn collect_texts(value: &Value, texts: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => drop(texts.insert(text.clone())),
        Value::Array(values) => values.iter().for_each(|item| collect_texts(item, texts)),
        Value::Object(values) => values.values().for_each(|item| collect_texts(item, texts)),
        _ => {}
    }
}

/// The tree with a hostile text in place of each occurrence of `text`, even in keys.
fn tainted(value: &Value, text: &str) -> Value {
    let taint = |original: &String| {
        if original == text {
            hostile(text)
        } else {
            original.clone()
        }
    };
    match value {
        Value::String(value) => Value::String(taint(value)),
        Value::Array(values) => values.iter().map(|value| tainted(value, text)).collect(),
        Value::Object(values) => values
            .iter()
            .map(|(key, value)| (taint(key), tainted(value, text)))
            .collect(),
        other => other.clone(),
    }
}

/// The record with every text tainted that a record may hold, and the number of these texts.
fn tainted_record(json: &[u8]) -> (StudyRecord, usize) {
    let mut record: Value = serde_json::from_slice(json).expect("a record");
    for concluded in ["comparisons", "conclusions", "validity"] {
        record.as_object_mut().expect("an object").remove(concluded);
    }
    if let Some(Value::Array(blocks)) = record.get_mut("blocks") {
        blocks.truncate(2);
    }
    let mut texts = BTreeSet::new();
    collect_texts(&record, &mut texts);
    let mut count = 0;
    for text in texts {
        let candidate = tainted(&record, &text);
        if serde_json::from_value::<Measured>(candidate.clone()).is_ok() {
            record = candidate;
            count += 1;
        }
    }
    let record = serde_json::from_value(lengthened(record)).expect("still a record");
    (record, count)
}

/// The fields of comma-separated values.
fn fields(csv: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut is_quoted = false;
    for letter in csv.chars() {
        match letter {
            '"' => is_quoted = !is_quoted,
            ',' | '\n' if !is_quoted => fields.push(String::new()),
            letter => fields.last_mut().expect("a field").push(letter),
        }
    }
    fields
}

/// A line of Markdown without its spans of code (CommonMark, 6.1).
fn without_spans(line: &str) -> String {
    let mut rest = line;
    let mut shown = String::new();
    while let Some(start) = rest.find(['`', '\\']) {
        let (before, from) = rest.split_at(start);
        shown.push_str(before);
        if let Some(escaped) = from.strip_prefix('\\') {
            let letter = escaped.chars().next().map_or(0, char::len_utf8);
            rest = &escaped[letter..];
            continue;
        }
        let ticks = from.len() - from.trim_start_matches('`').len();
        let inside = &from[ticks..];
        let mut ends = inside.match_indices(&from[..ticks]).map(|(end, _)| end);
        let is_end =
            |end: &usize| !inside[..*end].ends_with('`') && !inside[end + ticks..].starts_with('`');
        rest = ends
            .find(is_end)
            .map_or(inside, |end| &inside[end + ticks..]);
    }
    shown + rest
}

/// The text of Markdown outside of code.
fn without_code(markdown: &str) -> String {
    let mut fence: Option<String> = None;
    let mut rest = String::new();
    for line in markdown.lines() {
        let ticks: String = line.chars().take_while(|letter| *letter == '`').collect();
        match &fence {
            None if ticks.len() >= 3 => fence = Some(ticks),
            Some(ticks) if line == ticks => fence = None,
            Some(_) => {}
            None => rest.extend([&without_spans(line), "\n"]),
        }
    }
    rest
}

/// The dangers in a text of this format; none if the text is inert.
fn dangers(flag: &str, text: &str) -> Vec<String> {
    let mut dangers = Vec::new();
    // JSON has the recorded texts, with escapes of its own.
    let is_data = ["--json", "--otlp"].contains(&flag);
    let is_interpreted = |letter: char| {
        let is_hidden = matches!(letter, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}');
        let is_control = letter.is_control() && (letter < ' ' || !is_data);
        letter != '\n' && (is_control || is_hidden && !is_data)
    };
    if let Some(place) = text.find(is_interpreted) {
        let before = text[..place].chars().rev().take(60).collect::<Vec<_>>();
        let before: String = before.into_iter().rev().collect();
        dangers.push(format!(
            "{:?} after {before:?}",
            text[place..].chars().next()
        ));
    }
    let runs = text.split(|letter| letter != 'x').map(str::len);
    let longest = runs.max().unwrap_or_default();
    if flag != "--json" && longest > SHOWN_LETTERS_MAX {
        dangers.push(format!("{longest} letters"));
    }
    if flag != "--json" && text.len() > BYTES_MAX {
        dangers.push(format!("{} bytes", text.len()));
    }
    let forbidden: &[&str] = match flag {
        "--html" | "--svg" | "--junit" => &["<img", "=\"javascript:", "]]>"],
        "--markdown" => &["<img", "@team", "](javascript:"],
        _ => &[],
    };
    let plain = match flag {
        "--markdown" => without_code(text),
        _ => text.to_owned(),
    };
    let present = forbidden.iter().filter(|part| plain.contains(**part));
    dangers.extend(present.map(|part| (*part).to_owned()));
    if flag.starts_with("--csv") {
        let is_formula = |field: &String| {
            field.starts_with(['=', '+', '-', '@']) && field.parse::<f64>().is_err()
        };
        dangers.extend(fields(text).into_iter().find(is_formula));
    }
    if flag == "--prometheus" {
        let is_ours = |line: &&str| {
            let prefixes = ["abx_", "# TYPE abx_", "# UNIT abx_", "# HELP abx_"];
            prefixes.iter().any(|prefix| line.starts_with(prefix))
        };
        let lines = text.strip_suffix("# EOF\n").unwrap_or_default().lines();
        dangers.extend(lines.filter(|line| !is_ours(line)).map(str::to_owned));
    }
    dangers
}

#[test]
fn every_text_of_a_record_is_inert_in_every_report() {
    // Method: records of a run, of comparisons, of faults with services, and of sampled CPUs. The
    // replacement of each text controls terminals, closes elements, mentions people, begins
    // formulas and is very long. Texts that a valid record requires keep their value.
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let golden = here.join("../abx/tests/golden/records/study-many-metrics.json");
    let plain = [
        record_json(&run()).into_bytes(),
        fs::read(golden).expect("a record"),
    ];
    let packed = [
        "studies/worker-faults/record.json.zst",
        "docs/start/tour.json.zst",
    ];
    let packed = packed.map(|name| {
        let file = fs::File::open(here.join("../..").join(name)).expect("a record");
        zstd::decode_all(file).expect("a compressed record")
    });
    for json in plain.into_iter().chain(packed) {
        let (record, count) = tainted_record(&json);
        assert!(count >= 10, "{count} texts");
        let not_slower = Expectation::not_slower(0.03).expect("a share");
        let results = expectation_results(&record, &[not_slower]);
        for exporter in &EXPORTERS {
            for exported in (exporter.texts)(&record, &results, RecordPlace::default()) {
                let dangers = dangers(exporter.flag, &exported.text);
                assert!(dangers.is_empty(), "{}: {dangers:#?}", exporter.flag);
            }
        }
        for extent in [
            ReportExtent::Brief,
            ReportExtent::Explained,
            ReportExtent::Full,
        ] {
            let dangers = dangers("text", &study_text(&record, extent, &Style::plain()));
            assert!(dangers.is_empty(), "{extent:?}: {dangers:#?}");
        }
    }
}
