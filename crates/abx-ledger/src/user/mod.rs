//! The programs' part of call chains: which file an address is in, and which function.

mod address_space;
mod code_files;
mod maps_file;
mod perf_map;
mod symbols;

pub(crate) use address_space::{AddressSpace, CodeKind};
pub(crate) use code_files::{CodeFiles, FileId};
pub use maps_file::CodeMapping;
pub(crate) use maps_file::parse_maps;
pub(crate) use perf_map::PerfMap;
pub use symbols::Symbols;
