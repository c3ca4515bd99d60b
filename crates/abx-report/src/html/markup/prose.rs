//! Words of reports as markup: paragraphs, quotes, figures with their units.

use super::element::{Element, Markup, element};
use crate::words::prose::{SentencePart, parts};
use crate::words::units::GLUE;

pub(crate) fn paragraphs(text: &str) -> Markup {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| element("p").text(line.trim())).collect()
}

pub(crate) fn note(text: &str) -> Element {
    element("p").class("note").text(text)
}

pub(crate) fn quoting(text: &str) -> Markup {
    let markup = |part: SentencePart| match part {
        SentencePart::Words(words) => Markup::text(words),
        SentencePart::Code(code) => element("code").text(code).into(),
    };
    parts(text).map(markup).collect()
}

/// What a person asked for and does not see: each thing, and why; nothing where
/// all is there.
pub(crate) fn missing(pairs: impl Iterator<Item = (String, String)>) -> Markup {
    let entries: Markup = pairs
        .map(|(what, why)| {
            let what = element("bdi").text(&what);
            element("li").add(what).add(quoting(&why))
        })
        .collect();
    if entries.is_empty() {
        entries
    } else {
        element("ul").add(entries).into()
    }
}

/// A figure with its unit, which stay on one line.
pub(crate) fn with_unit(figure: &str, unit: &str) -> String {
    format!("{figure}{GLUE}{unit}")
}

pub(crate) fn folded(summary: &str, inside: impl Into<Markup>) -> Element {
    element("details")
        .add(element("summary").text(summary))
        .add(inside)
}

/// A frame that scrolls by itself where the page is narrow.
pub(crate) fn scrolling(caption: &str, table: Element) -> Element {
    element("div")
        .class("scroll")
        .with("role", "region")
        .with("tabindex", 0)
        .with("aria-label", caption)
        .add(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_types_stands_in_code() {
        // Method: two of them, and a backtick that opens nothing.
        let markup = quoting("use `-t 2` or `<b>`, it`s said").into_string();
        assert_eq!(
            markup,
            "use <code>-t 2</code> or <code>&lt;b&gt;</code>, it`s said"
        );
    }
}
