//! Shared code of the programs in this folder: children on a separate processor, temporary
//! folders, and command lines.

pub mod child;
pub mod command_line;
pub mod folder;
