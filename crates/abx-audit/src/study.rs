//! The study that would answer what reports leave open.

use std::collections::BTreeSet;

use crate::checks::runs;
use crate::report::{FigureKey, LoadTool, ToolReport};

/// An `abx compare` command with the load of these reports; the user fills in the command that
/// starts each server.
pub(crate) fn command(reports: &[ToolReport]) -> Option<String> {
    let mut compared = runs(reports);
    if compared.is_empty() {
        compared = reports.iter().collect();
    }
    let first = compared.first()?;
    let mut seen = BTreeSet::new();
    let mut subjects: Vec<String> = compared
        .iter()
        .map(|report| started(&report.name))
        .filter(|subject| seen.insert(subject.clone()))
        .collect();
    if subjects.len() == 1 {
        subjects.push(started("other"));
    }
    let mut command = format!("abx compare {}", subjects.join(" "));
    if let Some(connections) = connections(first) {
        command.push_str(&format!(" -c {connections}"));
    }
    if first.opens_for_each() == Some(true) {
        command.push_str(" --no-keepalive");
    }
    if let Some(path) = first
        .path()
        .filter(|path| path.starts_with('/') && *path != "/")
    {
        command.push_str(&format!(" --path {}", quoted(path)));
    }
    Some(command)
}

/// A subject that a command starts, as `abx compare` takes it, quoted for a shell.
fn started(name: &str) -> String {
    format!("'{}=COMMAND {{port}}'", subject(name))
}

fn connections(report: &ToolReport) -> Option<u64> {
    let key = match report.tool {
        LoadTool::Httperf => FigureKey::ConnectionsMost,
        _ => FigureKey::Connections,
    };
    let count = report
        .value(key)
        .or(report.value(FigureKey::AskedConnections))?;
    (count >= 1.0).then_some(count as u64)
}

/// The name with only the characters that a subject's name may have.
fn subject(name: &str) -> String {
    let name = name.strip_prefix("row ").unwrap_or(name);
    let is_allowed =
        |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '_');
    let name = name.replace(|letter: char| !is_allowed(letter), "-");
    let name = name.trim_matches('-');
    if name.is_empty() { "server" } else { name }.to_owned()
}

/// A word quoted for a shell.
fn quoted(word: &str) -> String {
    let is_plain =
        |character: char| character.is_ascii_alphanumeric() || "/._-~%=+,:@".contains(character);
    if word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
