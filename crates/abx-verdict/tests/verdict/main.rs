//! Tests of judged records, plans, the page of findings, and of the statistics in simulated
//! worlds whose truth is known.

mod findings_page;
mod judge;
mod plan;
mod statistics;
