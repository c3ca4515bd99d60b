//! Comparisons of servers: studies, their subjects, loads and verdicts.

pub mod arrivals;
pub mod broken;
pub mod disturbed;
pub mod expectations;
pub mod faults;
pub mod recovery;
pub mod revisions;
pub mod services;
pub mod studies;
pub mod subjects;
pub mod sweeps;
pub mod thresholds;
pub mod warm_up;
pub mod why;
