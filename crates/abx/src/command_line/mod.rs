//! The command line: the words that abx accepts, including those of other tools, and the secrets
//! among them. Start at [`parse`].

pub mod cli;
mod curl;
mod groups;
mod habits;
mod resumed;
pub mod secrets;

pub use habits::parse;
