//! An audit as it is printed.

mod text;
mod words;

pub use text::audit_text;
