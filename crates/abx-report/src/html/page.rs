//! The frame of every page: head, sections, styles, the record, and the policy that forbids
//! requests to any network.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use crate::html::charts::{flame_box, markers};
use crate::html::markup::{Element, Markup, element};
use crate::html::record_place::RecordPlace;

pub(crate) struct Page {
    title: String,
    subtitle: String,
    /// Empty sections are left out.
    sections: Vec<Section>,
    /// The last section of the first screen; sections after it are folded.
    folded_after: Option<&'static str>,
    /// The record that the page reports; `None` for a page of several records or of none.
    record: Option<ReportedRecord>,
}

struct Section {
    id: &'static str,
    title: &'static str,
    body: Markup,
}

struct ReportedRecord {
    about: Markup,
    /// `None` unless the page contains the record.
    json: Option<String>,
}

impl Page {
    /// A page without a record, with these sections: the id, title and body of each.
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
            folded_after: None,
            record: None,
        }
    }

    /// Folds the sections after this one, because they are not on the first screen.
    pub(crate) fn folded_after(self, id: &'static str) -> Page {
        Page {
            folded_after: Some(id),
            ..self
        }
    }

    /// Makes the page the report of one record. Readers save it from the page as `file`.
    pub(crate) fn with_record(
        mut self,
        place: RecordPlace,
        file: &str,
        json: impl FnOnce() -> String,
    ) -> Page {
        self.record = Some(ReportedRecord {
            about: place.markup(file),
            json: place.is_embedded.then(json),
        });
        self
    }

    pub(crate) fn html(mut self) -> String {
        self.sections.retain(|section| !section.body.is_empty());
        let head = element("head")
            .add(element("meta").with("charset", "utf-8"))
            .add(policy(self.forms()))
            .add(meta("viewport", "width=device-width, initial-scale=1"))
            .add(meta("color-scheme", "light dark"))
            .add(meta("referrer", "no-referrer"))
            // Without an icon, browsers would request one from the server.
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

    /// A report requests nothing; a list requests records.
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
        let mut sections = self.sections.iter();
        let last = sections.position(|section| Some(section.id) == self.folded_after);
        let unfolded = last.map_or(self.sections.len(), |last| last + 1);
        let sections = self.sections.iter().enumerate();
        let sections = sections.map(|(number, section)| section.markup(number >= unfolded));
        let about = self.record.as_ref().map(|record| record.about.clone());
        let about = about.map(|body| {
            let (id, title) = ("raw", "The record");
            Section { id, title, body }.markup(false)
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
            .add(markers([flame_box()]))
            .add(header)
            .add(
                element("main")
                    .with("id", "main")
                    .add_all(sections.chain(about)),
            )
            .add_all(json)
            .add(element("script").add(Markup::verbatim(PROGRAM)))
    }
}

impl Section {
    /// The id of a folded section is inside `details`, so that browsers open it when they follow a
    /// link to it.
    fn markup(&self, is_folded: bool) -> Element {
        let name = format!("{}-heading", self.id);
        let heading = element("h2").with("id", &name).text(self.title);
        let section = element("section").with("aria-labelledby", name);
        if !is_folded {
            let section = section.with("id", self.id);
            return section.add(heading).add(self.body.clone());
        }
        let body = element("div").class("body").with("id", self.id);
        let folded = element("details").class("section");
        let folded = folded.add(element("summary").add(heading));
        section.add(folded.add(body.add(self.body.clone())))
    }
}

/// The target that forms of a page may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Forms {
    Nowhere,
    Here,
}

/// The Content-Security-Policy that a server sends with each of our pages. It allows requests only
/// to that server, and only the page's own style and program. It allows no other page around it.
/// The policy within a report is stricter.
#[must_use]
pub fn page_policy() -> String {
    format!("{}; frame-ancestors 'none'", content(Forms::Here))
}

/// Forbids every request, and every style and program except the page's own.
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
    fn the_style_and_the_program_stay_within_their_elements_and_request_nothing() {
        // Method: the words that would end a style or a program, and the words of requests.
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
