//! Where CPU time goes: samples of call chains, charged to lines such as `openat`, `nginx`
//! or page faults.
//!
//! Give [`Collector`] what a sampler delivers, and take the [`Ledger`] from it. It asks the
//! system for nothing but the memory maps, programs and symbol files of the sampled processes.

mod clean_name;
mod collector;
mod folded;
mod kernel;
mod ledger;
mod line;
mod user;

#[cfg(any(test, fuzzing))]
pub mod fuzz;

pub use clean_name::clean_name;
pub use collector::Collector;
pub use folded::{Folded, FoldedError};
pub use kernel::{Kallsyms, line_of_kernel_chain};
pub use ledger::Ledger;
pub use line::{Line, LineError};
pub use user::{CodeMapping, Symbols};
