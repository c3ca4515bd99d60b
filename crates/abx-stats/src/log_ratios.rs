//! Checks of log ratios.

use crate::StatsError;

/// Finds the first block that has no log ratio.
pub(crate) fn check_log_ratios(log_ratios: &[f64]) -> Result<(), StatsError> {
    match log_ratios.iter().position(|value| !value.is_finite()) {
        Some(block) => Err(StatsError::NoLogRatio {
            block,
            value: log_ratios[block],
        }),
        None => Ok(()),
    }
}
