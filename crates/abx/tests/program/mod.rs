//! The program itself: its words, pages, packages and smaller commands.

pub mod doctor;
pub mod manual;
pub mod packages;
pub mod timer;
pub mod usage;
