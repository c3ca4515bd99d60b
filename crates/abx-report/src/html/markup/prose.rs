//! Words of reports as markup: paragraphs, quotes, figures with their units.

use super::element::{Element, Markup, element};
use crate::words::prose::{SentencePart, parts};
use crate::words::units::GLUE;

pub(crate) fn paragraphs(text: &str) -> Markup {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| element("p").text(line.trim())).collect()
}

pub(crate) fn note(text: &str) -> Element {
    element("p").class("note").add(quoting(text))
}

pub(crate) fn quoting(text: &str) -> Markup {
    let markup = |part: SentencePart| match part {
        SentencePart::Words(words) => Markup::text(words),
        SentencePart::Code(code) => element("code").text(code).into(),
    };
    parts(text).map(markup).collect()
}

/// A list of requested records or files that are not shown, each with the reason; nothing without
/// any.
pub(crate) fn missing(pairs: impl Iterator<Item = (String, String)>) -> Markup {
    let entries: Markup = pairs
        .map(|(name, why)| {
            let name = element("bdi").text(&name);
            element("li").add(name).add(quoting(&why))
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

/// A frame around a table that scrolls by itself if the page is narrow.
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
    fn text_in_backticks_becomes_code() {
        // Method: two quotes, and a backtick without a partner.
        let markup = quoting("use `-t 2` or `<b>`, it`s said").into_string();
        assert_eq!(
            markup,
            "use <code>-t 2</code> or <code>&lt;b&gt;</code>, it`s said"
        );
    }
}
