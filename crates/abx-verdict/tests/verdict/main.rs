//! What is made of measurements: judged records, the page of findings, and statistics on
//! worlds whose truth is known.

mod findings_page;
mod judge;
mod plan;
mod statistics;
