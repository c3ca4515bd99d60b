//! Rows as columns: a file has a list over all rows per value, because names that are repeated in
//! thousands of rows take more space than the values. In memory there are only rows. [`blocks`]
//! defines the rows.

pub(super) mod blocks;
pub(super) mod cell;
pub(super) mod host_counters;
pub(super) mod readings;
pub(super) mod slice;
