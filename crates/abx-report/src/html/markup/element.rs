//! Safe markup: tags and attribute names are constants, and everything else is escaped.

use std::fmt::{Display, Write};

use crate::words::wrap::{clean, harmless};

/// Finished markup; nothing in it is escaped again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Markup(String);

impl Markup {
    pub(crate) fn new() -> Markup {
        Markup::default()
    }

    /// A text, escaped.
    pub(crate) fn text(text: &str) -> Markup {
        Markup(escaped(clean(text)))
    }

    /// A trusted text, such as a style sheet, without escapes.
    pub(crate) fn verbatim(text: &'static str) -> Markup {
        Markup(text.to_owned())
    }

    /// JSON for a `script` of data, escaped so that it cannot end the script.
    pub(crate) fn json(json: &str) -> Markup {
        // JSON has `<` only within strings, where the escape means the same.
        Markup(json.replace('<', "\\u003c"))
    }

    pub(crate) fn push(&mut self, part: impl Into<Markup>) {
        self.0.push_str(&part.into().0);
    }

    pub(crate) fn push_all<T: Into<Markup>>(&mut self, parts: impl IntoIterator<Item = T>) {
        parts.into_iter().for_each(|part| self.push(part));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Its length in bytes.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn into_string(self) -> String {
        self.0
    }
}

impl From<Element> for Markup {
    fn from(element: Element) -> Markup {
        let Element {
            tag,
            attributes,
            inside,
        } = element;
        if inside.0.is_empty() && LEAVES.contains(&tag) {
            return Markup(format!("<{tag}{attributes}/>"));
        }
        Markup(format!("<{tag}{attributes}>{}</{tag}>", inside.0))
    }
}

impl<T: Into<Markup>> FromIterator<T> for Markup {
    fn from_iter<I: IntoIterator<Item = T>>(parts: I) -> Markup {
        let mut markup = Markup::new();
        markup.push_all(parts);
        markup
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Element {
    tag: &'static str,
    attributes: String,
    inside: Markup,
}

/// An empty element.
pub(crate) fn element(tag: &'static str) -> Element {
    Element {
        tag,
        attributes: String::new(),
        inside: Markup::new(),
    }
}

impl Element {
    /// Adds an attribute. The value is escaped and may have any length, as the path of a plot does.
    pub(crate) fn with(mut self, name: &'static str, value: impl Display) -> Element {
        let value = escaped(harmless(&value.to_string()));
        write!(self.attributes, " {name}=\"{value}\"").expect("a string takes all");
        self
    }

    pub(crate) fn class(self, class: impl Display) -> Element {
        self.with("class", class)
    }

    /// Appends an escaped text.
    pub(crate) fn text(self, text: &str) -> Element {
        self.add(Markup::text(text))
    }

    /// Appends a name or figure, whose writing direction may differ from the page's.
    pub(crate) fn isolated(self, text: &str) -> Element {
        if text.chars().any(is_right_to_left) {
            return self.add(element("bdi").text(text));
        }
        self.text(text)
    }

    pub(crate) fn add(mut self, part: impl Into<Markup>) -> Element {
        self.inside.push(part);
        self
    }

    pub(crate) fn add_all<T: Into<Markup>>(self, parts: impl IntoIterator<Item = T>) -> Element {
        self.add(parts.into_iter().collect::<Markup>())
    }
}

/// Whether a letter is in a block of a right-to-left script.
fn is_right_to_left(letter: char) -> bool {
    matches!(letter, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{feff}'
        | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
}

/// Elements of HTML, SVG and JUnit that need no end tag if they are empty.
const LEAVES: [&str; 14] = [
    "br", "circle", "error", "failure", "input", "line", "link", "meta", "path", "polyline",
    "property", "rect", "skipped", "use",
];

/// The text with escapes for the content of elements and for quoted attributes.
fn escaped(text: String) -> String {
    if !text.contains(['&', '<', '>', '"', '\'']) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The text that a browser reads from escaped text.
    fn read(text: &str) -> String {
        let pairs = [
            ("&lt;", "<"),
            ("&gt;", ">"),
            ("&quot;", "\""),
            ("&#39;", "'"),
        ];
        let text = pairs.iter().fold(text.to_owned(), |text, (code, letter)| {
            text.replace(code, letter)
        });
        text.replace("&amp;", "&")
    }

    #[test]
    fn elements_close_and_leaves_close_themselves() {
        // Method: one of each, nested, with a hostile value and a hostile text.
        let inner = element("use").with("href", "#a\"><script>");
        let markup = Markup::from(element("p").class("x").text("1 < 2").add(inner));
        assert_eq!(
            markup.into_string(),
            "<p class=\"x\">1 &lt; 2<use href=\"#a&quot;&gt;&lt;script&gt;\"/></p>"
        );
        assert_eq!(Markup::from(element("td")).into_string(), "<td></td>");
    }

    #[test]
    fn names_that_are_written_from_right_to_left_are_isolated() {
        // Method: a Hebrew and an Arabic name, and figures with signs.
        let cell = |text| Markup::from(element("td").isolated(text)).into_string();
        for name in ["שרת", "a خادم"] {
            assert_eq!(cell(name), format!("<td><bdi>{name}</bdi></td>"));
        }
        assert_eq!(cell("≥ 1.2\u{a0}µs"), "<td>≥ 1.2\u{a0}µs</td>");
    }

    #[test]
    fn json_cannot_end_its_script() {
        // Method: both ways out of a script, and a string that already holds an
        // escape; JSON must read back the same.
        let value = serde_json::json!({"a</script>": "<!--<script>", "b": "\\u003c"});
        let text = Markup::json(&value.to_string()).into_string();
        assert!(!text.contains('<'), "{text}");
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&text).unwrap(),
            value
        );
    }

    proptest! {
        #[test]
        fn text_stays_text(text in any::<String>(), hostile in "[<>&\"'/a-z!-]{0,40}") {
            // Method: any text, followed by letters of markup. A browser reads the cleaned text,
            // and no markup is left.
            let text = format!("{text}{hostile}");
            let markup = Markup::text(&text).into_string();
            prop_assert!(!markup.contains(['<', '>', '"', '\'']), "{markup}");
            prop_assert!(!markup.contains(|letter: char| letter.is_control() && letter != '\n'));
            prop_assert_eq!(read(&markup), clean(&text));
        }
    }
}
