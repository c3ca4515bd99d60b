//! What stands for a secret.

/// Replaces a secret wherever it would be printed or saved.
pub const HIDDEN: &str = "<hidden>";
