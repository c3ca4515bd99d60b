//! What every page has: head, order, styles, the record, and the rule that
//! nothing may be asked of any network.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use crate::html::charts::markers;
use crate::html::markup::{Element, Markup, element, quoting};

pub(crate) struct Page {
    title: String,
    subtitle: String,
    /// Those with nothing in them are left out.
    sections: Vec<Section>,
    /// What it is the report of; nothing where it is of several, or of none.
    record: Option<Embedded>,
}

struct Section {
    id: &'static str,
    title: &'static str,
    body: Markup,
}

struct Embedded {
    file: String,
    /// `None` for a record that would make the page too large.
    json: Option<String>,
}

/// A larger record, in bytes of JSON, stays out of the page.
const EMBEDDED_MAX: usize = 1_000_000;

impl Page {
    /// A page of no record, of these sections: the id, title and body of each.
    pub(crate) fn new<const N: usize>(
        title: String,
        subtitle: &str,
        sections: [(&'static str, &'static str, Markup); N],
    ) -> Page {
        let section = |(id, title, body)| Section { id, title, body };
        Page {
            title,
            subtitle: subtitle.to_owned(),
            sections: sections.map(section).into(),
            record: None,
        }
    }

    /// The report of one record, which is in it unless it is large.
    pub(crate) fn with_record(mut self, file: String, json: String) -> Page {
        let json = Some(json).filter(|json| json.len() <= EMBEDDED_MAX);
        self.record = Some(Embedded { file, json });
        self
    }

    pub(crate) fn html(mut self) -> String {
        self.sections.retain(|section| !section.body.is_empty());
        if let Some(record) = &self.record {
            self.sections.push(Section {
                id: "raw",
                title: "The record",
                body: raw(record),
            });
        }
        let head = element("head")
            .add(element("meta").with("charset", "utf-8"))
            .add(policy(self.forms()))
            .add(meta("viewport", "width=device-width, initial-scale=1"))
            .add(meta("color-scheme", "light dark"))
            .add(meta("referrer", "no-referrer"))
            // Browsers would ask the server for one.
            .add(element("link").with("rel", "icon").with("href", "data:,"))
            .add(element("title").text(&self.title))
            .add(element("style").add(Markup::verbatim(STYLE)));
        let document = element("html")
            .with("lang", "en")
            .add(head)
            .add(self.body());
        format!(
            "<!doctype html>\n{}\n",
            Markup::from(document).into_string()
        )
    }

    /// A report asks for nothing; a list is asked for records.
    fn forms(&self) -> Forms {
        match self.record {
            Some(_) => Forms::Nowhere,
            None => Forms::Here,
        }
    }

    fn body(&self) -> Element {
        let entries = self.sections.iter().map(|section| {
            let link = element("a").with("href", format!("#{}", section.id));
            element("li").add(link.text(section.title))
        });
        let contents = element("nav")
            .with("aria-label", "Contents")
            .add(element("ul").add_all(entries));
        let subtitle = Some(&self.subtitle).filter(|text| !text.is_empty());
        let subtitle = subtitle.map(|text| element("p").class("subtitle").text(text));
        let header = element("header")
            .add(element("p").class("mark").text("abx"))
            .add(element("h1").text(&self.title))
            .add_all(subtitle)
            .add(contents);
        let sections = self.sections.iter().map(|section| {
            let heading = element("h2").with("id", format!("{}-heading", section.id));
            element("section")
                .with("id", section.id)
                .with("aria-labelledby", format!("{}-heading", section.id))
                .add(heading.text(section.title))
                .add(section.body.clone())
        });
        let json = self.record.as_ref().and_then(|record| record.json.as_ref());
        let json = json.map(|json| {
            element("script")
                .with("type", "application/json")
                .with("id", "record")
                .add(Markup::json(json))
        });
        let skip = element("a").class("skip").with("href", "#main");
        let first = match self.record {
            Some(_) => "verdicts",
            None => "records",
        };
        element("body")
            .add(skip.text(&format!("Skip to the {first}")))
            .add(markers())
            .add(header)
            .add(element("main").with("id", "main").add_all(sections))
            .add_all(json)
            .add(element("script").add(Markup::verbatim(PROGRAM)))
    }
}

/// The record as something to take away. Without the program of the page it is
/// still there, for those who look at its source.
fn raw(record: &Embedded) -> Markup {
    if record.json.is_none() {
        let message = "Everything above is computed from the record, which is too large for this \
                       page. `abx history` lists the record; `abx report ID --html FILE` writes \
                       this page again, and `abx report ID --json FILE` prints the record.";
        return element("p").add(quoting(message)).into();
    }
    let button = element("button")
        .with("type", "button")
        .with("id", "download")
        .with("data-file", &record.file)
        .with("hidden", "")
        .text("Save the record as a file");
    let message = format!(
        "Everything above is computed from the record, which is part of this page: in the element \
         `record` of its source, with each < written as \\u003c. Saved as a file, `abx report \
         {file}` prints the report again, and `abx report {file} --html FILE` writes this page \
         again.",
        file = record.file
    );
    [
        element("p").add(quoting(&message)),
        element("p").add(button),
    ]
    .into_iter()
    .collect()
}

/// Where what a person fills in may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Forms {
    Nowhere,
    Here,
}

/// The Content-Security-Policy that a server sends with each of our pages: no
/// request but to that server, no style or program but the two of the page, and
/// no other page around it. A report's own policy, which is in it, is stricter.
#[must_use]
pub fn page_policy() -> String {
    format!("{}; frame-ancestors 'none'", content(Forms::Here))
}

/// Forbids every request, and every style and program but the two of this page.
fn policy(forms: Forms) -> Element {
    element("meta")
        .with("http-equiv", "Content-Security-Policy")
        .with("content", content(forms))
}

fn content(forms: Forms) -> String {
    let action = match forms {
        Forms::Nowhere => "'none'",
        Forms::Here => "'self'",
    };
    format!(
        "default-src 'none'; img-src data:; style-src '{}'; script-src '{}'; base-uri 'none'; \
         form-action {action}",
        digest(STYLE),
        digest(PROGRAM)
    )
}

fn meta(name: &str, content: &str) -> Element {
    element("meta").with("name", name).with("content", content)
}

fn digest(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}

const STYLE: &str = include_str!("page.css");
const PROGRAM: &str = include_str!("page.js");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_parts_can_stand_in_a_page() {
        // Method: the words that would end a style or a program, and those that
        // ask a network for something.
        for part in [STYLE, PROGRAM] {
            assert!(part.is_ascii());
            for word in [
                "</", "<!--", "@import", "url(http", "fetch(", "XMLHttp", "://",
            ] {
                assert!(!part.contains(word), "{word}");
            }
        }
    }
}
