//! What limits the result, by cause, and what to do about it.

use abx_evidence::{Finding, Level};

use crate::html::conclusions::links::finding_id;
use crate::html::markup::{Element, Markup, element, folded, note, quoting};
use crate::words::findings::{Cause, causes};
use crate::words::prose::message;
use crate::words::units::plural;
use crate::words::verdict::name;

/// The findings, an entry for each cause, with their loads where there are several.
pub(crate) fn findings(all: &[Finding], loads: usize) -> Markup {
    if all.is_empty() {
        return element("p")
            .text("Nothing was found that limits the result.")
            .into();
    }
    let causes = causes(all);
    let entries = causes.iter().map(|cause| entry(all, cause, loads));
    let how = "note: worth knowing, the claim stands. bound: the ratio is only an \"at least\". \
               void: no claim can be made.";
    [element("ul").class("findings").add_all(entries), note(how)]
        .into_iter()
        .collect()
}

/// One cause: the first finding, the others folded away, and each remedy once.
fn entry(all: &[Finding], cause: &Cause, loads: usize) -> Element {
    let (word, sign) = level(cause.level);
    let badge = element("p").class("level");
    let badge = badge.add(element("span").with("aria-hidden", "true").text(sign));
    let badge = badge.text(word).add(element("code").text(cause.id.name()));
    let told = |finding: &Finding, tag| {
        let number = all.iter().position(|other| other == finding);
        element(tag)
            .with("id", finding_id(number.unwrap_or_default()))
            .add_all(lines(finding, loads))
    };
    let (first, others) = (cause.findings[0], &cause.findings[1..]);
    let others = (!others.is_empty()).then(|| {
        let summary = format!("The same {}", plural(others.len() as u64, "more time"));
        let others = others.iter().map(|one| told(one, "li"));
        folded(&summary, element("ul").class("others").add_all(others))
    });
    let remedies = cause.remedies().into_iter().map(|remedy| {
        let line = element("p").class("remedy");
        line.add(element("b").text("Remedy: "))
            .add(quoting(&remedy))
    });
    element("li")
        .class(format!("finding is-{word}"))
        .add(badge)
        .add(told(first, "div"))
        .add_all(others)
        .add_all(remedies)
}

/// The message of a finding, with its load where there are several.
fn lines(finding: &Finding, loads: usize) -> Vec<Element> {
    let under = finding.load.as_deref().filter(|_| loads > 1);
    let under = under.map_or_else(String::new, |load| format!("Under {}: ", name(load)));
    let message = message(finding);
    let lines = message.lines().filter(|line| !line.is_empty());
    let paragraph = |(index, line): (usize, &str)| match index {
        0 => element("p").add(quoting(&format!("{under}{line}"))),
        _ => element("p").class("quoted").text(line),
    };
    lines.enumerate().map(paragraph).collect()
}

/// The word and the sign of a level.
fn level(level: Level) -> (&'static str, &'static str) {
    match level {
        Level::Note => ("note", "●"),
        Level::Bound => ("bound", "▲"),
        Level::Void => ("void", "■"),
    }
}
