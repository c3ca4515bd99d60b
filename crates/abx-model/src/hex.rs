//! Bytes in hexadecimal.

/// Bytes as two hexadecimal digits each, in lower case.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
