//! How long the parts of a study take, and when it ends.

pub(super) mod load_time;
pub(super) mod pilot_share;
pub(super) mod shorten_blocks;
pub(super) mod stop_rule;
