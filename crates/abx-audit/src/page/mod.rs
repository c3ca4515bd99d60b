//! The printed page of an audit.

mod text;
mod words;

pub use text::audit_text;
