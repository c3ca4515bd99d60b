//! Turns records into text, HTML, JSON, and the formats of other programs.
//!
//! Nothing is judged here: verdicts, ratios and findings are those of the
//! record. Figures only get units that people read. Start at [`study_text`] or
//! [`study_html`].
//!
//! Folders use those before them: `words` what all reports say alike, `text`
//! reports for a terminal, `formats` those for other programs, `html` pages.

mod formats;
mod html;
mod text;
mod words;

pub use formats::{
    Percentiles, comparisons_csv, run_json, run_markdown, run_openmetrics, run_otlp, scenario_json,
    slices_csv, study_hgrm, study_hlog, study_json, study_junit, study_markdown, study_openmetrics,
    study_otlp, verdict_matrix,
};
pub use html::{
    AnyRecord, Listed, NamedRecord, NotShown, index_html, notice_html, page_policy, run_html,
    scenario_html, side_by_side_html, study_html, study_html_with, study_svg,
};
pub use text::{
    ReportExtent, RunGoal, RunNow, TimeLeft, capacities_line, check_text, doctor_text,
    expectations_text, failures_line, files_line, history_text, left_out_line, no_claim_line,
    opening_line, piloted_line, plan_text, pooled_text, progress_line, ready_line, responses_line,
    run_line, run_text, scenario_text, seed_line, service_died_line, settling_flag, study_text,
    time_left_line, timer_text, try_line, verification_line,
};
pub use words::style::Style;
pub use words::units::plural;

/// How reports are laid out, for crates that print reports of their own.
pub mod printing {
    pub use crate::words::style::{Style, Tint};
    pub use crate::words::table::Table;
    pub use crate::words::units::{GLUE, UNKNOWN, plural};
    pub use crate::words::wrap::{clean, clean_name, wrap};
}
