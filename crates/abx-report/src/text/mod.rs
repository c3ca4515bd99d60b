//! Reports as text for a terminal. Start at [`study_text`] or [`run_text`].

mod also_compared;
mod bar;
mod catalog;
mod curve;
mod doctor;
mod expectations;
pub(crate) mod faults;
mod findings;
mod grid;
mod history;
mod no_claim;
mod overview;
pub(crate) mod past_baseline;
mod phases;
mod plan;
mod pooled;
mod progress;
mod ranking;
mod run;
mod run_progress;
mod scenario;
pub(crate) mod study;
pub(crate) mod sweeps;
mod terms;
mod timer;

pub use self::catalog::check_text;
pub use self::doctor::doctor_text;
pub use self::expectations::expectations_text;
pub use self::history::history_text;
pub use self::no_claim::no_claim_line;
pub use self::plan::plan_text;
pub use self::pooled::pooled_text;
pub use self::progress::{
    TimeLeft, capacities_line, failures_line, files_line, left_out_line, opening_line,
    piloted_line, progress_line, ready_line, responses_line, seed_line, service_died_line,
    time_left_line, try_line, verification_line,
};
pub use self::run::run_text;
pub use self::run_progress::{RunGoal, RunNow, run_line};
pub use self::scenario::scenario_text;
pub use self::study::{ReportExtent, study_text};
pub use self::timer::timer_text;
pub use crate::words::expectations::settling_flag;
