//! What was measured and what it means.
//!
//! Samples become tallies, tallies become records, records become verdicts.
//! Everything here is a pure function of what was measured: no file, no socket,
//! no clock. Start at [`StudyRecord`] for what is kept, at [`stats`] for how it
//! is judged; `docs/statistics.md` gives the reasons.

mod against;
mod arrivals;
mod broadcasts;
mod capacities;
pub mod catalog;
mod ceilings;
mod comparison;
pub mod doctor;
mod exchange;
pub mod expectation;
mod finding;
mod findings;
mod held;
mod histogram;
pub mod history;
mod judge;
mod metric;
mod objective;
mod older;
mod outcome;
mod phase_times;
mod phases;
mod quantile;
mod questions;
mod ranking;
mod reading;
pub mod record;
mod run;
mod schema;
mod series;
pub mod stats;
mod summary;
mod sweeps;
mod tally;
mod throughput;
mod times;
mod values;
pub mod verdict;

pub use against::{
    Against, AgainstError, Difference, Fingerprint, PastLoad, PastSubject, Unpaired, against,
    judge_against, may_stop_against,
};
pub use arrivals::{ArrivalKind, Arrivals, Offered};
pub use broadcasts::Broadcasts;
pub use capacities::Capacity;
pub use ceilings::Ceiling;
pub use comparison::{Bounds, Comparison, Role, Undisturbed};
pub use exchange::{Exchange, LoadShape, Message, MessageKind};
pub use expectation::{Answer, Doubt, Expectation, Standing};
pub use finding::{Finding, Level, Limits, Status, Validity};
pub use held::{Held, HeldFigures};
pub use histogram::Histogram;
pub use judge::{judge, may_stop};
pub use metric::{Metric, Sense};
pub use objective::{Burden, Goal, Kept, Objective, ObjectiveError};
pub use outcome::{Outcome, Outcomes};
pub use phase_times::{PhaseTime, PhaseTimes};
pub use phases::{Moments, Phase, PhaseSums, Phases, Split};
pub use quantile::Quantile;
pub use ranking::{Place, Ranking};
pub use record::StudyRecord;
pub use run::{GeneratorSide, RUN_SCHEMA, Requests, RunRecord, RunSettings, ServerSide, judge_run};
pub use schema::record_schema;
pub use series::{
    BlockFigures, ResponseTimes, SliceFigures, block_figures, response_times, slice_figures,
};
pub use summary::Summary;
pub use sweeps::{Axis, Crossover, Scalability, Sweep};
pub use tally::{Connections, Sample, SliceTally, Tally};
pub use throughput::block_throughputs;
pub use times::{Figure, Times};
pub use verdict::Verdict;
