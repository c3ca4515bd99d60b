//! What a load was, and how it was prepared.

pub(super) mod load_record;
pub(super) mod pilot;
pub(super) mod tls;
pub(super) mod waiting;
