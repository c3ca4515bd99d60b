//! What a page shows of the record that it is the report of: its name, its file, or all of it.

use crate::html::markup::{Element, Markup, element, quoting};

/// Where the record of a page is found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RecordPlace<'a> {
    /// What `abx report` finds it by: its id, or the name of its file. `None` if that is not
    /// known.
    pub name: Option<&'a str>,
    /// The name of its file if that is in the folder of the page.
    pub file: Option<&'a str>,
    /// Whether the page holds the record itself.
    pub is_embedded: bool,
}

impl RecordPlace<'_> {
    /// The section about it; `file` is the name that the record has when it is saved from the
    /// page.
    pub(super) fn markup(&self, file: &str) -> Markup {
        let mut out = Markup::new();
        out.push(element("p").add(quoting(&self.again())));
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

    /// How the report is made again.
    fn again(&self) -> String {
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

/// The record as something to take away. Without the program of the page it is
/// still there, for those who look at its source.
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

/// A file's name in an address: every byte that may mean something there as its code.
fn encoded(name: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let code = |byte: u8| {
        if is_plain(byte) {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    };
    name.bytes().map(code).collect()
}

const EMBED: &str = "`--embed-record` with `--html` puts the record into the page.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_leads_to_a_file_in_the_folder_of_the_page_and_nowhere_else() {
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
