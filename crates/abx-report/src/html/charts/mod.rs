//! Plots, bars and flame graphs as SVG, with their axes.

mod bar_table;
mod corners;
mod flame_graph;
mod interval_bar;
mod plot;
mod quantile_axis;
mod scale;
mod subjects;
mod tick_text;

pub(crate) use self::bar_table::{bar_table, cell, name_cell, picture_cell};
pub(crate) use self::flame_graph::{
    FlameSides, draw_flame_graph, flame_box, purpose_class, share_in_words,
};
pub(crate) use self::interval_bar::{Backdrop, Bar, BarEnd, axis};
pub(crate) use self::plot::{
    Plot, PlotAxis, PlotCaption, PlotPoint, PointSize, Stroke, Tick, bar_markers, markers, percent,
    px,
};
pub(crate) use self::quantile_axis::{NAMED, named_shares, nines, share_at, tail_axis};
pub(crate) use self::scale::{Scale, plain};
pub(crate) use self::subjects::{Subjects, entry, legend};
pub(crate) use self::tick_text::{rate, share_text, time_text};
