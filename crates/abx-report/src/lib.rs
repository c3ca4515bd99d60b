//! Turns records into text, HTML, JSON, and the formats of other programs.
//!
//! Nothing is judged here: verdicts, ratios and findings are those of the
//! record. Figures only get units that people read. Start at [`study_text`] or
//! [`study_html`].

mod against;
mod arrivals;
mod bar;
mod beside;
mod catalog;
mod csv;
mod doctor;
mod expectations;
mod findings;
mod held;
mod hgrm;
mod history;
mod html;
mod junit;
mod markdown;
mod metrics;
mod otlp;
mod phases;
mod progress;
mod prometheus;
mod ranking;
mod run;
mod series;
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
pub use csv::{comparisons_csv, slices_csv};
pub use doctor::doctor_text;
pub use expectations::expectations_text;
pub use hgrm::{Percentiles, study_hgrm, study_hlog};
pub use history::history_text;
pub use html::{
    Listed, NotShown, Shown, SideRecord, index_html, notice_html, page_policy, run_html, side_html,
    study_html,
};
pub use junit::study_junit;
pub use markdown::{run_markdown, study_markdown, verdict_matrix};
pub use otlp::{run_otlp, study_otlp};
pub use progress::{failures_line, progress_line};
pub use prometheus::{run_openmetrics, study_openmetrics};
pub use run::run_text;
pub use style::Style;
pub use terminal::study_text;

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
