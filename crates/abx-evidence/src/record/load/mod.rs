//! Loads in a record, and their preparation.

pub(super) mod load_record;
pub(super) mod pilot;
pub(super) mod tls;
pub(super) mod waiting;
