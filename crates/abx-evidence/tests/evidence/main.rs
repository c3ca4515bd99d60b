//! What is made of measurements: judged records, statistics on worlds whose
//! truth is known, and the schema of records.

mod columns;
mod findings_page;
mod judge;
mod plan;
mod schema;
mod statistics;
