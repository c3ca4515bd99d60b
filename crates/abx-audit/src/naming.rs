//! Names of reports: the parts in which the names of their files differ.

use std::collections::{BTreeMap, BTreeSet};

use crate::report::{LoadTool, ToolReport};

/// Gives every report a unique name.
pub(crate) fn name(reports: &mut [ToolReport]) {
    let files: BTreeSet<&str> = reports.iter().map(|report| report.file.as_str()).collect();
    let short = short(&files);
    let short: BTreeMap<String, String> = files
        .iter()
        .zip(short)
        .map(|(file, short)| ((*file).to_owned(), short))
        .collect();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for report in reports.iter() {
        if report.tool != LoadTool::Table {
            *counts.entry(report.file.clone()).or_default() += 1;
        }
    }
    let mut taken: BTreeSet<String> = BTreeSet::new();
    for report in reports {
        let file = short.get(&report.file).cloned().unwrap_or_default();
        let is_alone = counts.get(&report.file).is_some_and(|count| *count == 1);
        let name = match report.tool {
            LoadTool::Table => format!("row {}", report.name),
            _ if is_alone => file,
            _ => format!("{file}:{}", report.line),
        };
        // Reports that are printed side by side begin on the same line.
        let mut unique = name.clone();
        let mut number = 1;
        while !taken.insert(unique.clone()) {
            number += 1;
            unique = format!("{name}#{number}");
        }
        report.name = unique;
    }
}

/// The names of files without folders, extensions and the parts that all begin with.
fn short(files: &BTreeSet<&str>) -> Vec<String> {
    let stem = |file: &&str| {
        let mut name = file.rsplit('/').next().unwrap_or(file);
        for ending in ENDINGS {
            name = name
                .strip_suffix(ending)
                .filter(|rest| !rest.is_empty())
                .unwrap_or(name);
        }
        name.to_owned()
    };
    let stems: Vec<String> = files.iter().map(stem).collect();
    let split: Vec<Vec<&str>> = stems
        .iter()
        .map(|stem| stem.split_inclusive(['-', '_', '.']).collect())
        .collect();
    let Some(first) = split.first().filter(|_| split.len() > 1) else {
        return stems;
    };
    let is_shared = |count: usize| {
        split
            .iter()
            .all(|parts| parts.len() > count && parts[..count] == first[..count])
    };
    let shared = (0..first.len())
        .rev()
        .find(|count| is_shared(*count))
        .unwrap_or(0);
    let shortened: Vec<String> = split.iter().map(|parts| parts[shared..].concat()).collect();
    let distinct: BTreeSet<&String> = shortened.iter().collect();
    if distinct.len() == stems.len() {
        shortened
    } else {
        // Files of the same name in several folders.
        files.iter().map(|file| (*file).to_owned()).collect()
    }
}

/// Extensions of report files, the outermost first.
const ENDINGS: [&str; 13] = [
    ".txt", ".log", ".md", ".out", ".html", ".json", ".ab", ".httperf", ".wrk", ".wrk2", ".hey",
    ".oha", ".siege",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_named_after_the_parts_in_which_files_differ() {
        // Method: files with a common beginning, one alone, and the same name in two folders.
        let names = |files: &[&str]| short(&files.iter().copied().collect());
        assert_eq!(
            names(&["x/event-servers-a.ab.txt", "x/event-servers-b1.ab.txt"]),
            ["a", "b1"]
        );
        assert_eq!(names(&["app-server.httperf.txt"]), ["app-server"]);
        assert_eq!(names(&["a/x.txt", "b/x.txt"]), ["a/x.txt", "b/x.txt"]);
        assert_eq!(names(&["web", "web-2"]), ["web", "web-2"]);
    }
}
