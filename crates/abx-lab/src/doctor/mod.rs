//! Examines how well this machine can measure: reads its limits, compares the built-in server that
//! does next to nothing (`null`) with itself, and loads it with one generator thread. Start at
//! [`doctor`]; [`abx_verdict::doctor::examine`] interprets the result.

mod ceiling;
mod elsewhere;
mod examination;
mod noise;
mod readings;

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use abx_evidence::OutputKind;
use abx_verdict::doctor::{DoctorRecord, examine};

use self::elsewhere::Counters;
use self::examination::EndedEarly;
use crate::measure::host::other_programs::OtherPrograms;

pub use examination::{DoctorStep, Examination};

/// Examines this machine. It does not fail: the record states what the machine refused, and whether
/// the user stopped the examination.
#[must_use]
pub fn doctor(mut examination: Examination) -> DoctorRecord {
    let began = Instant::now();
    let started = SystemTime::now().duration_since(UNIX_EPOCH);
    let readings = readings::read();
    let cpus = readings.cpus.clone();
    let mut record = DoctorRecord {
        head: OutputKind::Doctor.into(),
        abx_version: examination.version.to_owned(),
        started_unix_ms: u64::try_from(started.unwrap_or_default().as_millis()).unwrap_or(u64::MAX),
        elapsed_s: 0.0,
        interrupted: false,
        readings,
        elsewhere: None,
        other_programs: Vec::new(),
        noise: None,
        ceilings: Vec::new(),
        refusal: None,
        checks: Vec::new(),
    };
    let before = Counters::read(&cpus);
    let programs = OtherPrograms::read(std::iter::empty());
    let measured = measure(&mut examination, &mut record);
    record.other_programs = OtherPrograms::read(std::iter::empty()).since(&programs);
    record.elsewhere = Some(Counters::read(&cpus).since(&before));
    match measured {
        Ok(()) => {}
        Err(EndedEarly::Interrupted) => record.interrupted = true,
        Err(EndedEarly::Refused(why)) => record.refusal = Some(why),
    }
    record.elapsed_s = began.elapsed().as_secs_f64();
    examine(&mut record);
    record
}

/// Measures noise first: the after-effects of the ceilings must not disturb it.
fn measure(examination: &mut Examination, record: &mut DoctorRecord) -> Result<(), EndedEarly> {
    (examination.watch)(DoctorStep::Noise);
    let (noise, ended) = noise::measure(examination)?;
    record.noise = Some(noise);
    ended.map_or(Ok(()), Err)?;
    (examination.watch)(DoctorStep::Ceiling);
    ceiling::measure(examination, &mut record.ceilings)
}
