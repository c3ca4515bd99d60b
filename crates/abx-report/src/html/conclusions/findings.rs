//! What limits the result, and what to do about it.

use abx_evidence::{Finding, Level};

use crate::html::markup::{Markup, element, note, quoting};
use crate::words::findings::{Told, told};
use crate::words::verdict::name;

/// The findings that are told, with their loads where there are several.
pub(crate) fn findings(all: &[Finding], loads: usize) -> Markup {
    if all.is_empty() {
        return element("p")
            .text("Nothing was found that limits the result.")
            .into();
    }
    let mut entries = Vec::new();
    for Told { finding, others } in told(all) {
        let under = finding.load.as_deref().filter(|_| loads > 1);
        let under = under.map_or_else(String::new, |load| format!("Under {}: ", name(load)));
        let lines = finding.message.lines().filter(|line| !line.is_empty());
        let lines = lines.enumerate().map(|(index, line)| match index {
            0 => element("p").add(quoting(&format!("{under}{line}"))),
            _ => element("p").class("quoted").text(line),
        });
        let (word, sign) = level(finding.level);
        let badge = element("p").class("level");
        let badge = badge.add(element("span").with("aria-hidden", "true").text(sign));
        let badge = badge
            .text(word)
            .add(element("code").text(finding.id.name()));
        let others: Vec<String> = others.into_iter().map(name).collect();
        let likewise = (!others.is_empty()).then(|| {
            let names = others.join(", ");
            element("p").text(&format!("Also under {names}."))
        });
        let remedy = element("p")
            .class("remedy")
            .add(element("b").text("Remedy: "));
        let entry = element("li").class(format!("finding is-{word}")).add(badge);
        entries.push(
            entry
                .add_all(lines)
                .add_all(likewise)
                .add(remedy.add(quoting(&finding.remedy))),
        );
    }
    let how = "note: worth knowing, the claim stands. bound: the ratio is only an \"at least\". \
               void: no claim can be made.";
    [element("ul").class("findings").add_all(entries), note(how)]
        .into_iter()
        .collect()
}

/// The word and the sign of a level.
fn level(level: Level) -> (&'static str, &'static str) {
    match level {
        Level::Note => ("note", "●"),
        Level::Bound => ("bound", "▲"),
        Level::Void => ("void", "■"),
    }
}
