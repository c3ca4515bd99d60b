//! The differences that one machine can measure, from its settings and from measurements on it.
//! Start at [`DoctorRecord`]; [`examine`] draws the conclusions.

mod measured;
mod readings;
mod record;
mod sampling;

pub use record::{
    BLOCKS_USUAL, Check, CheckStatus, DoctorRecord, ForeignCpu, GeneratorCeiling, Noise, Pressure,
    Quota, Readings, Sampling, SamplingReach,
};

/// Replaces a record's checks by those of its readings and measurements.
///
/// The most serious checks come first, and checks of one status in their usual order of
/// importance.
pub fn examine(record: &mut DoctorRecord) {
    let mut checks = measured::checks(record);
    checks.extend(readings::checks(&record.readings));
    checks.push(sampling::why(record.readings.sampling.as_ref()));
    checks.sort_by_key(|check| std::cmp::Reverse(check.status));
    record.checks = checks;
}
