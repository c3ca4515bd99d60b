//! What reports are called: after what is different in the names of their files.

use std::collections::{BTreeMap, BTreeSet};

use crate::report::{LoadTool, ToolReport};

/// Names all reports, each differently.
pub(crate) fn name(reports: &mut [ToolReport]) {
    let files: BTreeSet<&str> = reports.iter().map(|report| report.file.as_str()).collect();
    let short = short(&files);
    let short: BTreeMap<String, String> = files
        .iter()
        .zip(short)
        .map(|(file, short)| ((*file).to_owned(), short))
        .collect();
    let of_file = |file: &str| {
        let printed = reports
            .iter()
            .filter(|report| report.tool != LoadTool::Table);
        printed.filter(|report| report.file == file).count()
    };
    let counts: BTreeMap<String, usize> = files
        .iter()
        .map(|file| ((*file).to_owned(), of_file(file)))
        .collect();
    let mut taken: BTreeSet<String> = BTreeSet::new();
    for report in reports {
        let file = short.get(&report.file).cloned().unwrap_or_default();
        let is_alone = counts.get(&report.file).is_some_and(|count| *count == 1);
        let name = match report.tool {
            LoadTool::Table => format!("row {}", report.name),
            _ if is_alone => file,
            _ => format!("{file}:{}", report.line),
        };
        // Side by side, reports begin on the same line.
        let mut name_now = name.clone();
        let mut number = 1;
        while !taken.insert(name_now.clone()) {
            number += 1;
            name_now = format!("{name}#{number}");
        }
        report.name = name_now;
    }
}

/// The names of files without their folders and endings, and without what all begin with.
fn short(files: &BTreeSet<&str>) -> Vec<String> {
    let stem = |file: &&str| {
        let name = file.rsplit('/').next().unwrap_or(file);
        let mut name = name;
        for ending in ENDINGS {
            name = name
                .strip_suffix(ending)
                .filter(|rest| !rest.is_empty())
                .unwrap_or(name);
        }
        name.to_owned()
    };
    let stems: Vec<String> = files.iter().map(stem).collect();
    let parts = |stem: &str| -> Vec<String> {
        let parts = stem.split_inclusive(['-', '_', '.']);
        parts.map(str::to_owned).collect()
    };
    let texts: Vec<Vec<String>> = stems.iter().map(|stem| parts(stem)).collect();
    let Some(first) = texts.first().filter(|_| texts.len() > 1) else {
        return stems;
    };
    let is_shared = |count: usize| {
        texts
            .iter()
            .all(|texts| texts.len() > count && texts[..count] == first[..count])
    };
    let shared = (0..first.len())
        .rev()
        .find(|count| is_shared(*count))
        .unwrap_or(0);
    let shortened: Vec<String> = texts.iter().map(|parts| parts[shared..].concat()).collect();
    let distinct: BTreeSet<&String> = shortened.iter().collect();
    if distinct.len() == stems.len() {
        shortened
    } else {
        // Files of one name in several folders.
        files.iter().map(|file| (*file).to_owned()).collect()
    }
}

/// Endings of files, the last first.
const ENDINGS: [&str; 13] = [
    ".txt", ".log", ".md", ".out", ".html", ".json", ".ab", ".httperf", ".wrk", ".wrk2", ".hey",
    ".oha", ".siege",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_is_different_in_files() {
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
