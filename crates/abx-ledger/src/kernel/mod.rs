//! The kernel's part of call chains: its symbols, and the reason for which it was entered.

mod chain;
mod kallsyms;
mod system_call;

pub use chain::line_of_kernel_chain;
pub use kallsyms::Kallsyms;
pub(crate) use kallsyms::inside;
