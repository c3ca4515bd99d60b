//! The documents follow docs/style.md: words and phrases that it replaces do not come back.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::transcript::documents;

/// Each rejected word or phrase in small letters, and its replacement.
const REJECTED: &[(&str, &str)] = &[
    ("afresh", "again, or leave it out"),
    ("also not", "even if … not"),
    ("also when", "even if"),
    ("anew", "again"),
    ("believe", "trust"),
    ("believed", "trusted"),
    ("believes", "trusts"),
    ("beside", "with, next to, compared with"),
    ("but for", "except"),
    ("everybody", "every server, every client"),
    ("for want of", "because there is no"),
    ("in the mean", "on average"),
    ("look whether", "check whether"),
    ("mend", "fix"),
    ("nobody", "no program, none"),
    ("ordered", "fixed, set, requested"),
    ("processor time", "CPU time"),
    ("rightly", "correctly"),
    ("so are", "too, also"),
    ("so is", "too, also"),
    ("somebody", "a client, a program"),
    ("speaks http", "uses, supports"),
    ("speaks tls", "uses, supports"),
    ("tell", "show, report, distinguish"),
    ("tells", "shows, reports, distinguishes"),
    ("told", "shown, reported, distinguished"),
    ("whoever", "a request that, a client that"),
];

/// The words of a page without its code, in small letters, each with its line.
fn words(page: &str) -> Vec<(usize, String)> {
    let mut words = Vec::new();
    let mut fenced = false;
    for (index, line) in page.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        if fenced {
            continue;
        }
        let prose = line.split('`').step_by(2).collect::<Vec<_>>().join(" ` ");
        let separated = prose.replace(['—', '–', '/'], " ");
        for word in separated.split_whitespace() {
            let bare = word.trim_matches(|letter: char| !letter.is_alphanumeric());
            // Punctuation ends a phrase.
            let ends = word.ends_with(['.', ',', ':', ';', ')', '|', '?']);
            words.push((index + 1, bare.to_lowercase()));
            if ends {
                words.push((index + 1, String::new()));
            }
        }
    }
    words
}

/// The rejected words and phrases of a page: line, phrase and replacement.
fn rejected(page: &str) -> Vec<String> {
    let words = words(page);
    let mut reasons = Vec::new();
    for (phrase, instead) in REJECTED {
        let parts: Vec<&str> = phrase.split(' ').collect();
        for window in words.windows(parts.len()) {
            if window
                .iter()
                .map(|(_, word)| word.as_str())
                .eq(parts.iter().copied())
            {
                reasons.push(format!("{}: “{phrase}”: write {instead}", window[0].0));
            }
        }
    }
    reasons
}

/// The line of an audit page after which the text comes from the program.
const GENERATED: &str = "<!-- written by the tests -->";

#[test]
fn no_page_has_a_word_that_the_style_replaces() {
    // Method: README, CONTRIBUTING, SECURITY, the book and the pages of studies, word by word and
    // without code. Decisions, generated pages and the page of the style itself are left out. Pages
    // with each rejected word must be noticed.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let root = root.canonicalize().unwrap();
    let is_checked = |page: &PathBuf| {
        let place = page.strip_prefix(&root).unwrap().display().to_string();
        let inside = [
            "docs/",
            "studies/",
            "README.md",
            "CONTRIBUTING.md",
            "SECURITY.md",
        ];
        let outside = [
            "docs/decisions/",
            "docs/findings.md",
            "docs/reference/commands.md",
            "docs/reference/record-keys.md",
            "docs/style.md",
        ];
        let begins = |parts: &[&str]| parts.iter().any(|part| place.starts_with(part));
        begins(&inside) && !begins(&outside)
    };
    let mut wrong = Vec::new();
    let mut count = 0;
    for page in documents(&root).into_iter().filter(is_checked) {
        let text = fs::read_to_string(&page).unwrap();
        let written = text.split(GENERATED).next().unwrap_or_default();
        let place = page.strip_prefix(&root).unwrap().display().to_string();
        wrong.extend(
            rejected(written)
                .iter()
                .map(|reason| format!("{place}:{reason}")),
        );
        count += 1;
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(count > 60, "{count} pages");

    for (phrase, _) in REJECTED {
        let page = format!("One\n{phrase} `told` two.\n```\ntold\n```\n");
        let reasons = rejected(&page);
        assert_eq!(reasons.len(), 1, "{phrase}: {reasons:?}");
        assert!(reasons[0].starts_with("2: "), "{reasons:?}");
    }
}

#[test]
fn the_first_pages_are_short() {
    // Method: the lines of README, and the words of the page that explains verdicts.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |page: &str| fs::read_to_string(root.join(page)).unwrap();
    let lines = read("README.md").lines().count();
    assert!(lines <= 110, "README.md has {lines} lines");
    let page = read("docs/explain/how-abx-decides.md");
    let parts = page.split(|letter: char| letter.is_whitespace() || letter == '|');
    let words = parts.filter(|part| part.contains(char::is_alphanumeric));
    let words = words.count();
    assert!(words <= 1_200, "how abx decides takes {words} words");
}
