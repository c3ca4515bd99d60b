//! The documents as a book: every link has a target, and every page is in the table of contents.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::support::transcript::documents;

/// The project's root.
fn root() -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"));
    path.join("../..").canonicalize().unwrap()
}

/// A page without its fenced blocks.
fn prose(text: &str) -> String {
    let mut fenced = false;
    let mut prose = String::new();
    for line in text.lines() {
        let is_fence = line.trim_start().starts_with("```");
        fenced ^= is_fence;
        if !fenced && !is_fence {
            prose.push_str(line);
            prose.push('\n');
        }
    }
    prose
}

/// A line without the text between single backticks.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("`")
}

/// The targets of a page's links.
fn links(text: &str) -> Vec<String> {
    let prose: Vec<String> = prose(text).lines().map(without_code).collect();
    let prose = prose.join("\n");
    let targets = prose.split("](").skip(1);
    let targets = targets.filter_map(|rest| Some(rest.split_once(')')?.0));
    targets.map(str::to_owned).collect()
}

/// The anchors of a page, as GitHub and mdBook derive them from its headings.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut anchors = BTreeSet::new();
    for line in prose(text).lines() {
        let title = line.trim_start_matches('#');
        if title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let anchor = anchor(title.trim());
        let count = counts.entry(anchor.clone()).or_default();
        anchors.insert(match *count {
            0 => anchor,
            count => format!("{anchor}-{count}"),
        });
        *count += 1;
    }
    anchors
}

fn anchor(title: &str) -> String {
    let mut anchor = title.to_lowercase();
    anchor.retain(|letter| letter.is_alphanumeric() || "-_ ".contains(letter));
    anchor.replace(' ', "-")
}

/// `folder` and `target` as one path without `..`.
fn joined(folder: &Path, target: &str) -> PathBuf {
    let mut path = PathBuf::new();
    for part in folder.join(target).components() {
        match part {
            Component::ParentDir => drop(path.pop()),
            part => path.push(part),
        }
    }
    path
}

/// The links of a page whose targets are missing.
fn broken(page: &Path) -> Vec<String> {
    let text = fs::read_to_string(page).unwrap();
    let is_broken = |target: &String| {
        let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
        let to = match path {
            "" => page.to_owned(),
            path => joined(page.parent().unwrap(), path),
        };
        let has_anchor = || anchors(&fs::read_to_string(&to).unwrap_or_default()).contains(anchor);
        !to.exists() || !(anchor.is_empty() || has_anchor())
    };
    let targets = links(&text).into_iter();
    let local = targets.filter(|target| !target.contains("://") && !target.starts_with("mailto:"));
    local.filter(is_broken).collect()
}

#[test]
fn every_link_of_the_book_leads_somewhere() {
    // Method: each relative link of each document, compared with the files and their headings. A
    // page with every kind of broken link must be noticed.
    let mut wrong = Vec::new();
    let pages = documents(&root());
    for page in &pages {
        let place = page.strip_prefix(root()).unwrap().display();
        wrong.extend(
            broken(page)
                .iter()
                .map(|target| format!("{place}: {target}")),
        );
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(pages.len() > 60, "{} pages", pages.len());

    let home = crate::support::Home::new();
    home.write("b.md", "# One `two`\n\n```\n# three\n```\n");
    home.write(
        "a.md",
        "# Here\n[](b.md) [](b.md#one-two) [](#here) `[](x.md)`\n\
         [](c.md) [](b.md#three) [](#there) [](https://example.com/x.md)\n",
    );
    assert_eq!(broken(&home.join("a.md")), ["c.md", "b.md#three", "#there"]);
}

#[test]
fn every_page_of_the_book_is_in_its_table_of_contents() {
    // Method: the pages below docs, except decisions, compared with the links of SUMMARY.md.
    let docs = root().join("docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    let listed: BTreeSet<PathBuf> = links(&summary).iter().map(|link| docs.join(link)).collect();
    let is_page = |page: &PathBuf| {
        page.starts_with(&docs)
            && !page.starts_with(docs.join("decisions"))
            && *page != docs.join("SUMMARY.md")
    };
    let missing: Vec<PathBuf> = documents(&root())
        .into_iter()
        .filter(|page| is_page(page) && !listed.contains(page))
        .collect();
    assert!(missing.is_empty(), "not in docs/SUMMARY.md: {missing:#?}");
}
