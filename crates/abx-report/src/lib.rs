//! Turns records into text, HTML, JSON, and the formats of other programs.
//!
//! Nothing is judged here: verdicts, ratios and findings come from the record. Reports only add
//! words and units. Start at [`study_text`] or [`study_html`].
//!
//! Each folder uses only the folders before it. `words` has what all reports share. `html` and
//! `markdown` are the languages of pages. `document` has the parts of reports, and shows them in
//! each language. `sections` makes such parts, with a file for each theme. `reports` assembles
//! whole texts and pages. `formats` has texts for other programs.

mod document;
mod formats;
mod html;
mod json;
mod markdown;
mod reports;
mod sections;
mod words;

pub use formats::csv::{comparisons_csv, slices_csv};
pub use formats::exporter::{EXPORTERS, ExportedText, Exporter};
pub use formats::hgrm::{Percentiles, study_hgrm};
pub use formats::junit::study_junit;
pub use formats::otlp::study_otlp;
pub use formats::prometheus::study_openmetrics;
pub use html::page::page_policy;
pub use html::record_place::RecordPlace;
pub use json::record_json;
pub use reports::bisect::{bisect_html, bisect_line, bisect_text};
pub use reports::catalog::check_text;
pub use reports::doctor::doctor_text;
pub use reports::history::{Listed, history_text, index_html, notice_html};
pub use reports::picture::study_svg;
pub use reports::plan::plan_text;
pub use reports::pooled::pooled_text;
pub use reports::progress::{
    RunGoal, RunNow, TimeLeft, capacities_line, failures_line, files_line, left_out_line,
    opening_line, piloted_line, progress_line, ready_line, responses_line, run_line, seed_line,
    service_died_line, time_left_line, try_line, verification_line,
};
pub use reports::side_by_side::{NamedRecord, NotShown, side_by_side_html};
pub use reports::study::{study_html, study_markdown, study_text};
pub use reports::timer::timer_text;
pub use reports::trend::{trend_html, trend_markdown, trend_text};
pub use sections::compared::expectations::{expectations_text, no_claim_line, settling_flag};
pub use sections::compared::grid::verdict_matrix;
pub use words::style::{ReportExtent, Style};
pub use words::units::plural;

/// The layout of reports, for crates that print reports of their own.
pub mod printing {
    pub use crate::document::Table;
    pub use crate::words::prose::{LEVEL_INDENT, level_start, level_tag};
    pub use crate::words::style::{Style, Tint};
    pub use crate::words::units::{GLUE, UNKNOWN, bytes, moment, plural};
    pub use crate::words::wrap::{clean, clean_name, wrap};
}
