//! Where the parts of a page are that others lead to: comparisons, and what limits them.

use abx_evidence::{Comparison, FindingId, Level, StudyRecord, Verdict};

use crate::html::markup::{Element, Markup, element};

/// Where the ratio of a comparison stands; empty for one of a ranking alone.
pub(crate) fn ratio_id(record: &StudyRecord, one: &Comparison) -> String {
    let mut all = record.conclusions.comparisons.iter();
    let number = all.position(|other| std::ptr::eq(other, one));
    number.map_or_else(String::new, |number| format!("ratio-{number}"))
}

/// Where the finding of this number stands.
pub(crate) fn finding_id(number: usize) -> String {
    format!("finding-{number}")
}

/// Why a comparison is bound or void: a link to each cause.
pub(crate) fn reasons(record: &StudyRecord, one: &Comparison) -> Option<Element> {
    let all = &record.conclusions.validity.findings;
    let mut ids: Vec<&FindingId> = Vec::new();
    let mut links = Markup::new();
    for number in &one.findings {
        let found = all.get(*number);
        let Some(finding) = found.filter(|one| one.level != Level::Note) else {
            continue;
        };
        if ids.contains(&&finding.id) {
            continue;
        }
        if !ids.is_empty() {
            links.push(Markup::text(", "));
        }
        ids.push(&finding.id);
        let link = element("a").with("href", format!("#{}", finding_id(*number)));
        links.push(link.text(&finding.id.name().replace('_', " ")));
    }
    let word = match one.verdict {
        Verdict::Invalid => "void: ",
        _ => "bound: ",
    };
    let reasons = element("span").class("reasons").text(word).add(links);
    (!ids.is_empty()).then_some(reasons)
}
