//! The action of each command, a file or folder per verb.

#[cfg(feature = "audit")]
pub mod audit;
pub mod bisect;
pub mod cache;
#[cfg(feature = "classic")]
pub mod classic;
pub mod compare;
pub mod completions;
pub mod doctor;
pub mod explain;
#[cfg(feature = "fleet")]
pub mod fleet;
pub mod history;
mod install;
pub mod manual;
pub mod report;
pub mod run;
mod saved;
pub mod serve;
pub mod study;
pub mod timer;
pub mod view;
