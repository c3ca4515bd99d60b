//! Reads a page by rules that are stricter than a browser's: every element is closed, every
//! attribute is quoted, and characters of markup occur nowhere else.

use std::collections::BTreeSet;

/// A page that was read.
pub struct Page<'a> {
    html: &'a str,
    /// Every element with its attributes.
    elements: Vec<(&'a str, Vec<(&'a str, &'a str)>)>,
    /// The start and the end of the record.
    record: [usize; 2],
}

impl<'a> Page<'a> {
    /// Reads the whole page; panics if it breaks a rule.
    pub fn read(html: &'a str) -> Page<'a> {
        let mut page = Page {
            html,
            elements: Vec::new(),
            record: [0; 2],
        };
        let mut at = "<!doctype html>\n".len();
        assert_eq!(&html[..at], "<!doctype html>\n");
        let mut open: Vec<&str> = Vec::new();
        while let Some(length) = html[at..].find('<') {
            let text = &html[at..at + length];
            assert!(!text.contains(['>', '"', '\'']), "{text:?}");
            at += length;
            let end = at + html[at..].find('>').expect("a tag ends");
            let tag = &html[at + 1..end];
            at = end + 1;
            if let Some(name) = tag.strip_prefix('/') {
                assert_eq!(open.pop(), Some(name), "before {at}");
                continue;
            }
            let leaf = tag.strip_suffix('/');
            let (name, attributes) = element(leaf.unwrap_or(tag));
            if leaf.is_none() {
                open.push(name);
            }
            if matches!(name, "script" | "style") {
                let length = html[at..].find("</").expect("it is closed");
                if attributes.contains(&("id", "record")) {
                    page.record = [at, at + length];
                }
                at += length;
            }
            page.elements.push((name, attributes));
        }
        assert_eq!(open, [""; 0]);
        page
    }

    /// The names of elements, each with the names of its attributes.
    pub fn names(&self) -> BTreeSet<(&'a str, Vec<&'a str>)> {
        let names = |attributes: &[(&'a str, &str)]| {
            attributes.iter().map(|attribute| attribute.0).collect()
        };
        // Only some texts need a `bdi`.
        let elements = self.elements.iter().filter(|(name, _)| *name != "bdi");
        elements
            .map(|(name, attributes)| (*name, names(attributes)))
            .collect()
    }

    /// Every value of the attributes with this name, with its escapes.
    pub fn values<'b>(&'b self, name: &'b str) -> impl Iterator<Item = &'a str> + 'b {
        let attributes = self.elements.iter().flat_map(|(_, attributes)| attributes);
        attributes
            .filter(move |attribute| attribute.0 == name)
            .map(|attribute| attribute.1)
    }

    /// The record, as the page's program reads it.
    pub fn record(&self) -> String {
        let [start, end] = self.record;
        let mut out = String::new();
        let mut rest = &self.html[start..end];
        while let Some(at) = rest.find('\\') {
            out.push_str(&rest[..at]);
            let (length, text) = match &rest[at..] {
                escape if escape.starts_with("\\u003c") => (6, "<"),
                escape if escape.starts_with("\\\\") => (2, "\\\\"),
                _ => (1, "\\"),
            };
            out.push_str(text);
            rest = &rest[at + length..];
        }
        out + rest
    }

    /// The page without its record.
    pub fn without_record(&self) -> String {
        let [start, end] = self.record;
        format!("{}{}", &self.html[..start], &self.html[end..])
    }
}

fn element(tag: &str) -> (&str, Vec<(&str, &str)>) {
    let (name, mut rest) = tag.split_once(' ').unwrap_or((tag, ""));
    let is_name = |text: &str| {
        text.chars()
            .all(|char| char.is_ascii_alphanumeric() || char == '-')
    };
    assert!(is_name(name) && !name.is_empty(), "{tag:?}");
    let mut attributes = Vec::new();
    while !rest.is_empty() {
        let (name, after) = rest.split_once("=\"").expect("a value is quoted");
        assert!(
            is_name(name) && !name.starts_with("on") && name != "style",
            "{tag:?}"
        );
        let (value, after) = after.split_once('"').expect("a quote is closed");
        assert!(!value.contains(['<', '\'']), "{value:?}");
        attributes.push((name, value));
        rest = after.strip_prefix(' ').unwrap_or(after);
        assert!(after.is_empty() || after.starts_with(' '), "{tag:?}");
    }
    (name, attributes)
}
