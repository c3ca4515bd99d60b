//! The kernel's part of call chains: its symbols, and what a chain was entered for.

mod chain;
mod kallsyms;
mod system_call;

pub use chain::line_of_kernel_chain;
pub use kallsyms::Kallsyms;
pub(crate) use kallsyms::inside;
