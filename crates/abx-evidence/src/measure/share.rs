//! One number as a part of another.

/// `part` over `whole`, when there is a whole.
pub fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
