//! Rows as columns: in a file each thing that was counted is one list over all rows,
//! since names that are repeated for each of thousands of rows weigh more than the
//! figures. In memory there are rows only. [`blocks`] defines which rows there are.

pub(super) mod blocks;
pub(super) mod cell;
pub(super) mod host_counters;
pub(super) mod readings;
pub(super) mod slice;
