//! The checks of a machine on one page, the most serious first: each with its status as a word,
//! its message and its remedy.

use abx_verdict::doctor::{Check, CheckStatus, DoctorRecord, Readings};

use crate::words::prose::prose;
use crate::words::style::{Style, Tint};
use crate::words::units::{bytes, plural, seconds};
use crate::words::wrap::{clean, clean_name, wrap};

/// The report of a doctor, ready to be printed.
#[must_use]
pub fn doctor_text(record: &DoctorRecord, style: &Style) -> String {
    let checks = record.checks.iter().map(|check| check_text(check, style));
    let sections = [
        headline(record, style),
        checks.collect(),
        legend(record, style),
    ];
    style.finish(&sections.join("\n"))
}

fn headline(record: &DoctorRecord, style: &Style) -> String {
    let count = |status: CheckStatus| {
        let checks = record.checks.iter();
        checks.filter(|check| check.status == status).count() as u64
    };
    let limits = match count(CheckStatus::Limits) {
        0 => "nothing limits them".to_owned(),
        1 => "1 problem limits them".to_owned(),
        many => format!("{} limit them", plural(many, "problem")),
    };
    let stops = match count(CheckStatus::Stops) {
        0 => "Nothing prevents comparisons here".to_owned(),
        1 => "1 problem prevents comparisons here".to_owned(),
        many => format!("{} prevent comparisons here", plural(many, "problem")),
    };
    let checked = match count(CheckStatus::NotChecked) {
        0 => "everything was checked".to_owned(),
        1 => "1 was not checked".to_owned(),
        many => format!("{many} were not checked"),
    };
    let text = format!("{stops}; {limits}; {checked}.");
    let mut out = style.paragraph(&text);
    out.push_str(&style.note(&place(&record.readings)));
    if record.interrupted {
        let text = "Interrupted: these are the results so far.";
        out.push_str(&style.note(text));
    }
    out
}

/// The kernel and the hardware of the machine.
fn place(readings: &Readings) -> String {
    let kernel = readings.kernel.as_deref().map(clean_name);
    let parts = [
        kernel.map(|kernel| format!("Linux {kernel}")),
        readings.cpu_model.as_deref().map(clean_name),
        Some(plural(readings.cpus.len() as u64, "processor")),
        readings.memory_bytes.map(|size| bytes(size as f64)),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.join(", ")
}

fn check_text(check: &Check, style: &Style) -> String {
    let (word, tint) = match check.status {
        CheckStatus::Stops => ("stops", Tint::Bad),
        CheckStatus::Limits => ("limits", Tint::Doubtful),
        CheckStatus::NotChecked => ("not checked", Tint::Plain),
        CheckStatus::Ok => ("ok", Tint::Good),
    };
    let blanks = " ".repeat(INDENT.len() - word.len());
    let first = format!("{}{blanks}", style.paint(word, tint));
    let mut out = wrap(&prose(&check.message, &[]), &first, INDENT, style.columns());
    let deeper = format!("{INDENT}  ");
    if let Some(remedy) = &check.remedy {
        let arrow = format!("{INDENT}→ ");
        out.push_str(&wrap(&prose(remedy, &[]), &arrow, &deeper, style.columns()));
    }
    if let Some(command) = &check.command {
        let prompt = format!("{INDENT}$ ");
        out.push_str(&wrap(&clean(command), &prompt, &deeper, style.columns()));
    }
    out
}

fn legend(record: &DoctorRecord, style: &Style) -> String {
    let text = format!(
        "stops: comparisons are impossible or meaningless. limits: they take longer or show less. \
         Took {}, abx {}.",
        seconds(record.elapsed_s),
        clean_name(&record.abx_version)
    );
    style.paragraph(&text)
}

const INDENT: &str = "            ";
