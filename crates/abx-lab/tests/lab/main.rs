//! The lab without running subjects: study files, needs of subjects, revisions of repositories, and
//! the history of records.

mod fuzz;
mod history;
mod provision;
mod revisions;
mod scenario;
mod study_file;
