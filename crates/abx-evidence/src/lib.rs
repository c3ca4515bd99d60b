//! Measurements, in memory and in records.
//!
//! Samples become tallies, and tallies become records. Everything here is a pure function of the
//! measurements: no file, no socket, no clock, and no conclusions. Start at [`Measured`] for
//! records, at [`Tally`] for counting.

mod measure;
mod output_head;
pub mod record;

pub use abx_ledger::is_hidden;
pub use abx_model::{Exchange, LoadOptions, LoadShape, Message, MessageKind, Shape};
pub use measure::arrivals::{
    ArrivalKind, ArrivalSettings, Clocked, Late, Offered, Spans, throughput_per_s,
};
pub use measure::broadcasts::Broadcasts;
pub use measure::course::{Course, CourseInterval, CoursePlan, CourseTally, Interval};
pub use measure::distribution::histogram::{Histogram, RoughTimes};
pub use measure::distribution::phase_times::{PhaseTime, PhaseTimes};
pub use measure::distribution::phases::{Phase, PhaseSplit, PhaseSums, Phases, Timestamps};
pub use measure::distribution::quantile::{Quantile, QuantileBracket, median, median_count};
pub use measure::distribution::server_times::{ServerTimeSum, ServerTimes};
pub use measure::distribution::steps::StepTimes;
pub use measure::distribution::times::{Figure, Times};
pub use measure::expected_status::{ExpectedStatus, StatusError};
pub use measure::held::{Held, HeldFigures};
pub use measure::opening::ConnectionOpening;
pub use measure::outcome::{Outcome, Outcomes};
pub use measure::request_log::{
    LoggedRequest, RequestCount, RequestLog, RequestLogPlan, TlsOptions,
};
pub use measure::session_sample::SessionSample;
pub use measure::share::share;
pub use measure::statuses::Statuses;
pub use measure::sum::{sum, sum_known};
pub use measure::tally::{Connections, Sample, SliceTally, Tally};
pub use measure::timeline::{Timeline, TimelinePlan, TimelineTally};
pub use output_head::{OUTPUT_SCHEMA, OutputHead, OutputKind};
pub use record::finding::{Finding, Level, Limits};
pub use record::finding_id::FindingId;
pub use record::objective::{Goal, LimitUsage, Objective, ObjectiveError, ObjectiveInput};
pub use record::{Measured, Wait, Waiting};
