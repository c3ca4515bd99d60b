//! The programs' part of call chains: the file and the function of an address.

mod address_space;
mod code_files;
mod code_kind;
mod maps_file;
mod perf_map;
mod symbols;

pub(crate) use address_space::AddressSpace;
pub(crate) use code_files::CodeFiles;
pub(crate) use code_kind::{CodeKind, FileId};
pub use maps_file::CodeMapping;
pub(crate) use maps_file::parse_maps;
pub(crate) use perf_map::PerfMap;
pub use symbols::Symbols;
