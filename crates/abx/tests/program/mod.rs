//! The program itself: its arguments, pages, packages and smaller commands.

pub mod book;
pub mod doctor;
pub mod manual;
pub mod packages;
pub mod references;
pub mod style;
pub mod timer;
pub mod usage;
