//! What [`abx_verdict::judge`] makes of a record: synthetic studies in, ratios,
//! verdicts and findings out. How intervals are computed is tested in
//! `tests/verdict/statistics`.

mod compared;
mod doctor;
mod expectations;
mod findings;
mod loads;
mod phases;
mod series;
mod why;
