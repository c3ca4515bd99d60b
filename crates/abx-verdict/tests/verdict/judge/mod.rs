//! What [`abx_verdict::judge`] makes of a record: synthetic studies in, ratios,
//! verdicts and findings out. How intervals are computed is tested in
//! `tests/verdict/statistics`.

mod against;
mod agents;
mod cpu_fallback;
mod doctor;
mod expectations;
mod failures;
mod faults;
mod generator;
mod machine;
mod metrics;
mod older_side;
mod open_loop;
mod pace;
mod phases;
mod pooled;
mod properties;
mod readings;
mod runs;
mod scenarios;
mod scope;
mod series;
mod services;
mod several;
mod steady;
mod studies;
mod sweeps;
mod verdicts;
mod websocket;
