//! The page of a scenario: its report as a terminal shows it, and the record.

use abx_evidence::scenario::ScenarioRecord;

use crate::formats::scenario_json;
use crate::html::markup::{Markup, element};
use crate::html::pages::page::Page;
use crate::text::scenario_text;
use crate::words::style::Style;
use crate::words::wrap::clean_name;

/// The report of a scenario as an HTML page; the record is in it.
#[must_use]
pub fn scenario_html(record: &ScenarioRecord) -> String {
    let style = Style {
        unicode: true,
        ..Style::plain()
    };
    let report = element("pre").text(&scenario_text(record, &style));
    let title = format!(
        "{}: {} users at {}",
        clean_name(&record.scenario),
        record.users,
        clean_name(&record.url)
    );
    let file = format!("abx-scenario-{}.json", record.started_unix_ms);
    Page::new(title, "", [("report", "Report", Markup::from(report))])
        .with_record(file, scenario_json(record))
        .html()
}
