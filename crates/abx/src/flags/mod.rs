//! Flags that several commands share, a file per topic.

pub mod build;
pub mod expect;
#[cfg_attr(not(feature = "fleet"), path = "no_fleet.rs")]
pub mod fleet;
pub mod help;
pub mod load;
pub mod metric;
pub mod output;
pub mod replay;
pub mod requests;
pub mod saved_file;
pub mod shape;
pub mod tls;
pub mod units;
