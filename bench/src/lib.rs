//! What the programs of this folder share: children on a processor of their own, temporary
//! folders, and command lines.

pub mod child;
pub mod command_line;
pub mod folder;
