//! What one machine can measure: what was read of it and measured on it, and
//! what that means for a comparison. Start at [`DoctorRecord`]; [`examine`]
//! draws the conclusions.

mod measured;
mod readings;
mod record;
mod sampling;

pub use record::{
    BLOCKS_USUAL, Check, CheckStatus, DoctorRecord, ForeignCpu, GeneratorCeiling, Noise, Pressure,
    Quota, Readings, Sampling, SamplingReach,
};

/// Fills a record's checks from what was read and measured, whatever they held before.
///
/// The weightiest come first; those of one status in the order in which they
/// usually matter.
pub fn examine(record: &mut DoctorRecord) {
    let mut checks = measured::checks(record);
    checks.extend(readings::checks(&record.readings));
    checks.push(sampling::why(record.readings.sampling.as_ref()));
    checks.sort_by_key(|check| std::cmp::Reverse(check.status));
    record.checks = checks;
}
