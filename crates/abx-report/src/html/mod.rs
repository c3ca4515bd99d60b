//! The report as one page that stands on its own: no request, no clock, the
//! same bytes for the same record. Start at [`study_html`]; `page` is what
//! every page has, each other file is one part of a page or a tool for it.

mod bar;
mod blocks;
mod capacity;
mod cast;
mod conduct;
mod cost;
mod figures;
mod findings;
mod grid;
mod index;
mod loads;
mod markup;
mod order;
mod outcomes;
mod page;
mod phases;
mod picture;
mod pictured;
mod plot;
mod ratios;
mod run;
mod scale;
mod side;
mod slices;
mod sweep;
mod times;
mod verdicts;

use abx_evidence::{RunRecord, StudyRecord};

pub use self::index::{Listed, index_html, notice_html};
pub use self::page::page_policy;
pub use self::picture::study_svg;
pub use self::side::{NotShown, Shown, SideRecord, side_html};

use self::cast::Cast;
use self::markup::Markup;
use self::page::{Embedded, Page, Section};
use crate::words::style::Style;
use crate::words::units::GLUE;

/// The report of a study as an HTML page, ready to be written to a file.
///
/// The page needs no other file and asks for none; the record is in it.
#[must_use]
pub fn study_html(record: &StudyRecord) -> String {
    let cast = Cast::of(record);
    let sections = [
        ("verdicts", "Verdicts", verdicts::verdicts(record)),
        ("order", "Ranking", order::order(record)),
        ("ratios", "Ratios", ratios::ratios(record)),
        ("figures", "Figures", figures::figures(record)),
        ("blocks", "Block by block", blocks::blocks(record, &cast)),
        ("slices", "Slices over time", slices::slices(record, &cast)),
        ("times", "Response times", times::times(record, &cast)),
        ("phases", "Where the time goes", phases::phases(record)),
        ("sweep", "Sweeps", sweep::sweep(record, &cast)),
        ("capacity", "Capacity", capacity::capacities(record)),
        ("cost", "CPU and memory", cost::cost(record, &cast)),
        ("outcomes", "Outcomes", outcomes::outcomes(record)),
        (
            "findings",
            "Findings",
            findings::list(
                &record.conclusions.validity.findings,
                record.measured.loads.len(),
            ),
        ),
        ("conduct", "How it was measured", conduct::conduct(record)),
    ];
    let page = Page {
        title: verdicts::title(record),
        subtitle: conduct::subtitle(record),
        sections: sections
            .map(|(id, title, body)| Section { id, title, body })
            .into(),
        record: Some(Embedded {
            file: format!("abx-study-{}.json", record.measured.seed),
            json: crate::formats::study_json(record),
        }),
    };
    page.html()
}

/// The report of a run as an HTML page, ready to be written to a file.
///
/// The page needs no other file and asks for none; the record is in it.
#[must_use]
pub fn run_html(record: &RunRecord) -> String {
    run::page(record).html()
}

/// What the terminal would print, on one line.
const LINE: Style = Style {
    color: false,
    unicode: true,
    width: usize::MAX / 2,
};

/// A paragraph for each line of what the terminal would print.
fn paragraphs(text: &str) -> Markup {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| markup::element("p").text(line.trim()))
        .collect()
}

/// A figure with its unit, which stay on one line.
fn with_unit(figure: &str, unit: &str) -> String {
    format!("{figure}{GLUE}{unit}")
}
