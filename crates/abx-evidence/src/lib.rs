//! What was measured and what it means.
//!
//! Samples become tallies, tallies become records, records become verdicts.
//! Everything here is a pure function of what was measured: no file, no socket,
//! no clock. Start at [`StudyRecord`] for what is kept, at [`stats`] for how it
//! is judged; `docs/statistics.md` gives the reasons.

pub mod doctor;
pub mod expectation;
mod findings;
mod judge;
mod listing;
mod measure;
pub mod record;
mod series;
pub mod stats;

pub use expectation::{Answer, Doubt, Expectation, Standing};
pub use findings::finding::{Finding, Level, Limits, Status, Validity};
pub use judge::capacities::Capacity;
pub use judge::ceilings::Ceiling;
pub use judge::comparison::{Bounds, Comparison, Role, Undisturbed};
pub use judge::metric::{Metric, Sense};
pub use judge::objective::{Goal, Kept, LimitUsage, Objective, ObjectiveError};
pub use judge::past_baseline::{
    AgainstError, Difference, Fingerprint, PastBaseline, PastLoad, PastSubject, Unpaired, against,
    judge_against, may_stop_against,
};
pub use judge::ranking::{Place, Ranking};
pub use judge::summary::Summary;
pub use judge::sweeps::{Axis, Crossover, Scalability, Sweep};
pub use judge::throughput::block_throughputs;
pub use judge::verdict::{self, Verdict};
pub use judge::{judge, may_stop};
pub use listing::{catalog, history};
pub use measure::arrivals::{ArrivalKind, Arrivals, Offered};
pub use measure::broadcasts::Broadcasts;
pub use measure::exchange::{Exchange, LoadShape, Message, MessageKind};
pub use measure::held::{Held, HeldFigures};
pub use measure::histogram::Histogram;
pub use measure::outcome::{Outcome, Outcomes};
pub use measure::phase_times::{PhaseTime, PhaseTimes};
pub use measure::phases::{Phase, PhaseSums, Phases, Split, Timestamps};
pub use measure::quantile::Quantile;
pub use measure::tally::{Connections, Sample, SliceTally, Tally};
pub use measure::times::{Figure, Times};
pub use record::StudyRecord;
pub use record::finding_id::FindingId;
pub use record::run::{
    GeneratorSide, RUN_SCHEMA, Requests, RunRecord, RunSettings, ServerSide, judge_run,
};
pub use record::schema::record_schema;
pub use series::{
    BlockFigures, ResponseTimes, SliceFigures, block_figures, response_times, slice_figures,
};
