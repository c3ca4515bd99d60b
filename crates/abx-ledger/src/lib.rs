//! Where CPU time goes: samples of call chains, charged to lines such as `openat`, `nginx`
//! or page faults.
//!
//! Give `Collector` the events of a sampler, and take the [`Ledger`] from it. It reads nothing
//! from the system except the memory maps, programs and symbol files of the sampled processes.
//! Without the feature `collector` only the data is here, for records.

#[cfg(feature = "collector")]
mod collector;
mod folded;
mod frame_name;
#[cfg(feature = "collector")]
mod kernel;
mod ledger;
mod line;
#[cfg(feature = "collector")]
mod user;
#[cfg(feature = "collector")]
mod wait_collector;
mod waits;

#[cfg(all(feature = "collector", any(test, fuzzing)))]
pub mod fuzz;

#[cfg(feature = "collector")]
pub use collector::Collector;
pub use folded::{Folded, FoldedError};
pub use frame_name::{frame_name, is_hidden};
#[cfg(feature = "collector")]
pub use kernel::{Kallsyms, line_of_kernel_chain};
pub use ledger::Ledger;
pub use line::{Line, LineError};
#[cfg(feature = "collector")]
pub use user::{CodeMapping, Symbols};
#[cfg(feature = "collector")]
pub use wait_collector::WaitCollector;
pub use waits::{WaitTime, Waits};
