//! Bodies of fuzz targets that only use the public interface of a crate. They are next to the
//! tests of their crates, which also call them.

#[path = "../../crates/abx-audit/tests/audit/fuzz.rs"]
pub mod audit;
#[path = "../../crates/abx/src/command_line/curl/mod.rs"]
pub mod curl;
#[path = "../../crates/abx-lab/tests/lab/fuzz.rs"]
pub mod study_file;
#[path = "../../crates/abx-wire/tests/wire/fuzz/mod.rs"]
pub mod wire;
