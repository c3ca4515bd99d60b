//! The conclusions that [`abx_verdict::judge`] draws from a record: synthetic
//! studies in, ratios, verdicts and findings out. The computation of intervals
//! is tested in `tests/verdict/statistics`.

mod compared;
mod doctor;
mod expectations;
mod findings;
mod loads;
mod phases;
mod series;
mod why;
