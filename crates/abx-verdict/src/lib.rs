//! What measurements mean.
//!
//! Everything here is a pure function of what was measured: no file, no socket, no clock.
//! Start at [`judge()`] for what is concluded, at [`StudyRecord`] for the file in which it is
//! saved, at `abx-stats` for how; `docs/explain/statistics/README.md` gives the reasons.

pub mod bisect;
pub mod doctor;
pub mod expectation;
mod file;
mod findings;
mod judge;
mod listing;
mod pooled;
mod series;
pub mod timer;
mod view;

pub use expectation::{Doubt, Expectation, ExpectationResult, GoalReading, Standing, Threshold};
pub use file::run::{OLD_RUN_SCHEMA, RUN_SCHEMA, RunView};
pub use file::schema::record_schema;
pub use file::study::StudyRecord;
pub use findings::rule::{Declared, Definition, new_finding};
pub use findings::validity::{Status, Validity};
pub use judge::capacities::{Capacity, median_capacities, rate_bracket};
pub use judge::comparison::{Bounds, Comparison, Role, Undisturbed};
pub use judge::conclusions::Conclusions;
pub use judge::families::Families;
pub use judge::faults::{FaultSummary, LostDifference, MeanInterval};
pub use judge::metric::{Metric, Sense};
pub use judge::ranking::{Place, Ranking};
pub use judge::scope::{CpuSharing, Route, Scope};
pub use judge::server_times::{ServerTime, ServerTimeDifference};
pub use judge::settled::{StopGroup, may_stop, settled_early, stop_groups};
pub use judge::sweeps::{Axis, Crossover, KNEE_SHARE, Knee, Scalability, Sweep};
pub use judge::verdict::{self, Verdict};
pub use judge::why::confounder::{Confounder, ConfounderKind};
pub use judge::why::counts::{Count, CountDifference};
pub use judge::why::cpu_difference::{
    CpuDifference, LineDifference, PurposeDifference, ServiceDifference,
};
pub use judge::why::cpu_ledger::{CpuLedger, LedgerFunction, LedgerLine};
pub use judge::why::flame_graph::{
    DEEPER, FLAME_DEPTH_MAX, FlameFunction, FlameGraph, flame_graph, flame_graph_of_pair,
};
pub use judge::why::purpose::Purpose;
pub use judge::why::sampled_sides::CostDifference;
pub use judge::{blocks_until_precise, is_hopeless, judge};
pub use listing::fingerprint::{Fingerprint, is_same_memory};
pub use listing::{catalog, history, plan, trend};
pub use pooled::{PoolError, Pooled, PooledComparison, pooled};
pub use series::{
    BlockFigures, FaultMoment, ResponseTimes, SliceFigures, TimeBin, fault_course, slice_figures,
};
pub use view::SubjectView;
pub use view::ceilings::Ceiling;
pub use view::summary::{ServiceUse, StepSummary, Summary};
