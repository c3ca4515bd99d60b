//! Pages and pictures.

pub mod flame_graphs;
pub mod history;
pub mod html;
pub mod lists;
pub mod page;
pub mod picture;
pub mod size;
