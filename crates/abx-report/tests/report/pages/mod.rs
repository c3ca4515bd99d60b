//! Pages and pictures.

pub mod history;
pub mod html;
pub mod lists;
pub mod page;
pub mod picture;
pub mod size;
