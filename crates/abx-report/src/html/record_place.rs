//! The record of a page: its name, a link to its file, or the record itself.

use crate::html::markup::{Element, Markup, element, quoting};

/// The place of a page's record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RecordPlace<'a> {
    /// The id or file name with which `abx report` finds it, if known.
    pub name: Option<&'a str>,
    /// The name of its file if that is in the folder of the page.
    pub file: Option<&'a str>,
    /// Whether the page contains the record itself.
    pub is_embedded: bool,
}

impl RecordPlace<'_> {
    /// The section about the record, which readers save from the page as `file`.
    pub(super) fn markup(&self, file: &str) -> Markup {
        let mut out = Markup::new();
        out.push(element("p").add(quoting(&self.how_to_repeat())));
        if let Some(name) = self.file {
            let link = element("a").with("href", format!("./{}", encoded(name)));
            let link = link.add(element("bdi").text(name));
            out.push(
                element("p")
                    .text("Its file is in the folder of this page: ")
                    .add(link),
            );
        }
        if self.is_embedded {
            out.push_all(embedded(file));
        } else {
            out.push(element("p").class("note").add(quoting(EMBED)));
        }
        out
    }

    /// The commands that write the report again.
    fn how_to_repeat(&self) -> String {
        let Some(name) = self.name else {
            return "Everything above is computed from the record. `abx history` lists records, \
                    and `abx report ID --html FILE` writes this page again."
                .to_owned();
        };
        let word = shell_words::quote(name).replace('`', "\u{fffd}");
        format!(
            "Everything above is computed from the record `{word}`. `abx report {word}` prints \
             the report again, `abx report {word} --html FILE` writes this page again, and \
             `abx report {word} --json -` prints the record."
        )
    }
}

/// A button that saves the record. Without the page's program it is hidden, and a text names the
/// place of the record in the source.
fn embedded(file: &str) -> [Element; 2] {
    let text = "The record is part of this page: the element `record` of its source, with each < \
                written as \\u003c.";
    let button = element("button")
        .with("type", "button")
        .with("id", "download")
        .with("data-file", file)
        .with("hidden", "")
        .text("Save the record as a file");
    [element("p").add(quoting(text)), element("p").add(button)]
}

/// A file's name in a URL, with every reserved byte percent-encoded.
fn encoded(name: &str) -> String {
    let code = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    name.bytes().map(code).collect()
}

const EMBED: &str = "`--embed-record` with `--html` puts the record into the page.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_leads_only_to_files_in_the_folder_of_the_page() {
        // Method: names that would be a scheme, another folder, a query or the end of the value.
        let link = |file| {
            let place = RecordPlace {
                file: Some(file),
                ..RecordPlace::default()
            };
            let text = place.markup("abx.json").into_string();
            let (_, rest) = text.split_once("href=\"").unwrap();
            rest.split_once('"').unwrap().0.to_owned()
        };
        assert_eq!(link("record.json.zst"), "./record.json.zst");
        assert_eq!(link("javascript:a"), "./javascript%3Aa");
        assert_eq!(link("../a?b#c\""), "./..%2Fa%3Fb%23c%22");
        assert_eq!(link("ä"), "./%C3%A4");
    }
}
