//! One number as a share of another.

/// `part` over `whole`; `None` if the whole is zero.
pub fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
