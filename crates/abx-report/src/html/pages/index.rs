//! The list of records as a page, from which each is opened, and several side
//! by side; and the page for what cannot be shown.

use abx_evidence::Verdict;
use abx_evidence::history::{Entry, History, UnreadFile};

use crate::html::conclusions::signs::sign;
use crate::html::markup::{Element, Markup, element, missing, note, quoting, scrolling};
use crate::html::pages::page::Page;
use crate::words::history::{COLUMN_NAMES, cells, verdicts};
use crate::words::units::count;
use crate::words::wrap::clean_name;

/// Where the records of a list come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listed<'a> {
    /// The folder in which they are kept.
    Kept {
        /// The text that was searched for; `None` for all.
        text: Option<&'a str>,
    },
    /// Those that a person named.
    Named,
}

/// The list as an HTML page; its links lead to `/record/ID`, and its form to
/// `/side?ids=ID&ids=ID` and `/?text=TEXT`.
#[must_use]
pub fn index_html(history: &History, listed: Listed<'_>) -> String {
    let from = match listed {
        Listed::Kept { .. } => format!("Records in {}, newest first.", clean_name(&history.folder)),
        Listed::Named => "The given records, newest first.".to_owned(),
    };
    let sections = [
        ("records", "Newest first", records(history, listed)),
        ("unread", "Not listed", unread(&history.unread)),
    ];
    Page::new("abx records".to_owned(), &from, sections).html()
}

/// A page that says why there is no other. Words in backticks are what one types.
#[must_use]
pub fn notice_html(title: &str, text: &str) -> String {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let told = lines.map(|line| element("p").add(quoting(line)));
    let back = element("p").add(element("a").with("href", "/").text("All records"));
    let section = ("notice", "What happened", told.chain([back]).collect());
    Page::new(title.to_owned(), "", [section]).html()
}

fn records(history: &History, listed: Listed<'_>) -> Markup {
    let mut out = Markup::new();
    if let Listed::Kept { text } = listed {
        out.push(search(text.unwrap_or_default()));
    }
    if history.entries.is_empty() {
        let none = "No matching record. `abx compare` and `abx run` save one for each \
                    measurement.";
        out.push(element("p").add(quoting(none)));
        return out;
    }
    let button = element("button").with("type", "submit");
    let form = element("form")
        .with("action", "/side")
        .add(table(&history.entries))
        .add(element("p").add(button.text("Show the marked ones side by side")));
    out.push(form);
    if history.left_out > 0 {
        let more = count(history.left_out as u64);
        let text = format!("{more} more: search for a subject, a load or a file to see them.");
        out.push(note(&text));
    }
    out
}

fn search(text: &str) -> Element {
    let field = element("input")
        .with("type", "search")
        .with("name", "text")
        .with("value", text);
    let label = element("label").text("A subject, its version, a load, a file or an id: ");
    let button = element("button").with("type", "submit").text("Search");
    element("form")
        .with("action", "/")
        .with("role", "search")
        .add(element("p").add(label.add(field)).text(" ").add(button))
}

fn table(entries: &[Entry]) -> Element {
    let header = |text: &str| element("th").with("scope", "col").text(text);
    let mut heads = vec![header("mark")];
    heads.extend(COLUMN_NAMES.map(header));
    heads.push(header("file"));
    let caption = "Records and their verdicts";
    let table = element("table")
        .add(element("caption").text(caption))
        .add(element("thead").add(element("tr").add_all(heads)))
        .add(element("tbody").add_all(entries.iter().map(row)));
    scrolling(caption, table)
}

fn row(entry: &Entry) -> Element {
    let [id, when, subjects, loads, verdict, blocks] = cells(entry);
    let mark = element("input")
        .with("type", "checkbox")
        .with("name", "ids")
        .with("value", &id)
        .with("aria-label", format!("Mark {id}"));
    let link = element("a").with("href", format!("/record/{id}")).text(&id);
    let cell = |text: &str| element("td").add(element("bdi").text(text));
    let only = match &entry.outline.comparisons[..] {
        [only] => Some(only.verdict),
        _ => None,
    };
    element("tr")
        .add(element("td").add(mark))
        .add(element("th").with("scope", "row").add(link))
        .add(cell(&when).class("when"))
        .add(cell(&subjects))
        .add(cell(&loads))
        .add(signed(only, &verdicts(entry).unwrap_or(verdict)))
        .add(cell(&blocks).class("figure"))
        .add(cell(&clean_name(&entry.file)).class("file"))
}

fn signed(verdict: Option<Verdict>, text: &str) -> Element {
    let cell = element("td").add_all(verdict.map(sign));
    cell.text(text)
}

fn unread(all: &[UnreadFile]) -> Markup {
    missing(all.iter().map(|one| {
        let why = format!(" is not listed: {}.", clean_name(&one.why));
        (clean_name(&one.file), why)
    }))
}
