//! What was measured and what it means.
//!
//! Samples become tallies, tallies become records, records become verdicts.
//! Everything here is a pure function of what was measured: no file, no socket,
//! no clock. Start at [`Measured`] for what is kept, at [`judge()`] for what is
//! concluded, at `abx-stats` for how; `docs/statistics.md` gives the reasons.

pub mod doctor;
pub mod expectation;
mod file;
mod findings;
mod judge;
mod listing;
mod measure;
mod output_head;
mod pooled;
pub mod record;
pub mod scenario;
mod series;
pub mod timer;
mod view;

pub use abx_model::{Exchange, LoadOptions, LoadShape, Message, MessageKind, Shape};
pub use expectation::{Doubt, Expectation, ExpectationResult, GoalReading, Standing, Threshold};
pub use file::run::{
    GeneratorSide, NotARun, RUN_SCHEMA, Requests, RunRecord, RunSettings, ServerSide,
};
pub use file::schema::record_schema;
pub use file::study::StudyRecord;
pub use judge::capacities::{Capacity, median_capacities, rate_bracket};
pub use judge::comparison::{Bounds, Comparison, Role, Undisturbed};
pub use judge::conclusions::Conclusions;
pub use judge::families::Families;
pub use judge::faults::{FaultSummary, LostDifference, MeanInterval};
pub use judge::metric::{Metric, Sense};
pub use judge::past_baseline::{
    Difference, Fingerprint, PastBaselineError, PastSubject, SessionReference, Unpaired,
    past_baseline,
};
pub use judge::ranking::{Place, Ranking};
pub use judge::scope::{CpuSharing, Route, Scope};
pub use judge::server_times::{ServerTime, ServerTimeDifference};
pub use judge::sweeps::{Axis, Crossover, KNEE_SHARE, Knee, Scalability, Sweep};
pub use judge::verdict::{self, Verdict};
pub use judge::{blocks_until_precise, is_hopeless, judge, may_stop};
pub use listing::{catalog, history, plan};
pub use measure::arrivals::{ArrivalKind, ArrivalSettings, Offered};
pub use measure::broadcasts::Broadcasts;
pub use measure::course::{Course, CourseInterval, CoursePlan, CourseTally, Interval};
pub use measure::expected_status::{ExpectedStatus, StatusError};
pub use measure::held::{Held, HeldFigures};
pub use measure::histogram::{Histogram, RoughTimes};
pub use measure::opening::ConnectionOpening;
pub use measure::outcome::{Outcome, Outcomes};
pub use measure::phase_times::{PhaseTime, PhaseTimes};
pub use measure::phases::{Phase, PhaseSplit, PhaseSums, Phases, Timestamps};
pub use measure::quantile::Quantile;
pub use measure::request_log::{
    LoggedRequest, RequestCount, RequestLog, RequestLogPlan, TlsOptions,
};
pub use measure::server_times::{ServerTimeSum, ServerTimes};
pub use measure::session_sample::SessionSample;
pub use measure::statuses::Statuses;
pub use measure::steps::StepTimes;
pub use measure::tally::{Connections, Sample, SliceTally, Tally};
pub use measure::timeline::{Timeline, TimelinePlan, TimelineTally};
pub use measure::times::{Figure, Times};
pub use output_head::{OUTPUT_SCHEMA, OutputHead, OutputKind};
pub use pooled::{PoolError, Pooled, PooledComparison, pooled};
pub use record::finding::{Finding, Level, Limits, Status, Validity};
pub use record::finding_id::FindingId;
pub use record::objective::{Goal, LimitUsage, Objective, ObjectiveError, ObjectiveInput};
pub use record::{Measured, PastBaseline, PastMeasurement, PastReference, Wait, Waiting};
pub use series::{
    BlockFigures, FaultMoment, ResponseTimes, SliceFigures, TimeBin, fault_course, slice_figures,
};
pub use view::SubjectView;
pub use view::ceilings::Ceiling;
pub use view::summary::{ServiceUse, StepSummary, Summary};
