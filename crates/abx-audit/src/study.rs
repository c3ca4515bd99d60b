//! The study that would settle what reports leave open.

use std::collections::BTreeSet;

use crate::checks::runs;
use crate::report::{FigureKey, LoadTool, ToolReport};

/// A call of `abx compare` under the load of these reports; what starts each server is for the
/// person to fill in.
pub(crate) fn command(reports: &[ToolReport]) -> Option<String> {
    let tool_reports = runs(reports);
    let all_tool_reports: Vec<&ToolReport> = if tool_reports.is_empty() {
        reports.iter().collect()
    } else {
        tool_reports
    };
    let first = all_tool_reports.first()?;
    let mut seen = BTreeSet::new();
    let names = all_tool_reports.iter().map(|report| started(&report.name));
    let mut words: Vec<String> = names.filter(|word| seen.insert(word.clone())).collect();
    if words.len() == 1 {
        words.push(started("other"));
    }
    let mut command = "abx compare".to_owned();
    for word in words {
        command.push_str(&format!(" {word}"));
    }
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

/// A name that a subject may have.
fn subject(name: &str) -> String {
    let name = name.strip_prefix("row ").unwrap_or(name);
    let letter = |character: char| match character {
        character if character.is_ascii_alphanumeric() || matches!(character, '.' | '-' | '_') => {
            character
        }
        _ => '-',
    };
    let name: String = name.chars().map(letter).collect();
    let name = name.trim_matches('-');
    if name.is_empty() { "server" } else { name }.to_owned()
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain =
        |character: char| character.is_ascii_alphanumeric() || "/._-~%=+,:@".contains(character);
    if word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
