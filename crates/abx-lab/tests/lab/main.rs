//! The lab without a subject that runs: study files, what subjects need, and
//! records found again.

mod fuzz;
mod history;
mod provision;
mod scenario;
mod study_file;
