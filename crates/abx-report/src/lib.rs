//! Turns records into text, HTML and JSON.
//!
//! Nothing is judged here: verdicts, ratios and findings are those of the
//! record. Figures only get units that people read. Start at [`study_text`] or
//! [`study_html`].

mod against;
mod arrivals;
mod bar;
mod beside;
mod catalog;
mod doctor;
mod findings;
mod history;
mod html;
mod metrics;
mod ranking;
mod run;
mod style;
mod sweeps;
mod table;
mod terminal;
mod times;
mod units;
mod verdict;
mod wrap;

use abx_evidence::{RunRecord, StudyRecord};

pub use catalog::check_text;
pub use doctor::doctor_text;
pub use history::history_text;
pub use html::{run_html, study_html};
pub use run::run_text;
pub use style::Style;
pub use terminal::study_text;
pub use verdict::progress_line;

/// A study as one line of JSON: the saved record, nothing left out.
#[must_use]
pub fn study_json(record: &StudyRecord) -> String {
    let text = serde_json::to_string(record).expect("every key of a record is a string");
    text + "\n"
}

/// A run as one line of JSON: the saved record, nothing left out.
#[must_use]
pub fn run_json(record: &RunRecord) -> String {
    let text = serde_json::to_string(record).expect("every key of a record is a string");
    text + "\n"
}
