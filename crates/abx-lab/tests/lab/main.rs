//! The lab without a subject that runs: study files, needs of subjects, revisions of repositories,
//! and records found again.

mod fuzz;
mod history;
mod provision;
mod revisions;
mod scenario;
mod study_file;
