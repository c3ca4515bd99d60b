//! The loads that are offered to subjects.

pub mod load;
pub mod load_records;
pub mod rates;
pub mod shape;
pub mod sweep;
pub mod tls;
pub mod user_scenario;
