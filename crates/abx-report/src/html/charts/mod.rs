//! Plots and bars as SVG, with the axes that they stand on.

pub(crate) mod bar_table;
pub(crate) mod by_block;
pub(crate) mod interval_bar;
pub(crate) mod plot;
pub(crate) mod quantile_axis;
pub(crate) mod scale;
pub(crate) mod subjects;
pub(crate) mod tick_text;
