//! Loading servers that run, and reading what they and the machine used meanwhile.

pub mod block;
pub mod idle_connections;
pub mod machine;
pub mod meter;
pub mod pilot;
pub mod planned_load;
pub mod rate_search;
pub mod running_subjects;
pub mod slice_length;
