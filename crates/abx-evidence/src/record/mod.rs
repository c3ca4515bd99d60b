//! The record of a study: every measurement, in order. It has no conclusions; `abx-verdict` draws
//! them. `docs/reference/record-format.md` explains each key.

mod block;
mod bounded;
mod columns;
mod container;
mod continuation;
mod contrast;
mod fault;
pub(crate) mod finding;
pub(crate) mod finding_id;
mod fleet;
mod ledger;
pub(crate) mod level;
mod load;
mod measured;
pub(crate) mod objective;
mod service;

pub use crate::measure::distribution::histograms::Histograms;
pub use block::{
    BlockLoad, BlockRecord, BlockSubject, Disturbance, FailedStart, ListenerRecord, OtherProgram,
    Round, WAIT_SHARE_MIN,
};
pub use columns::host_counters::HostCounters;
pub use columns::readings::{Calibration, InUse, SubjectReadings};
pub use columns::slice::SliceRecord;
pub use container::{IMAGE, image_of, runs_container};
pub use continuation::{Continuation, StudyIdentity};
pub use contrast::Contrast;
pub use fault::{FaultAction, FaultRecord, FaultSlice, LeftOut, StruckProcess, Whom};
pub use fleet::{AgentPace, AgentRecord, FleetRecord, OnLoss};
pub use ledger::{CallRecord, LedgerRecord, SegmentRecord};
pub use load::load_record::{
    LoadRecord, LoadSettings, RequestBody, RequestSettings, ResponseRecord, ScenarioSettings,
    Settled, SettledReason,
};
pub use load::pilot::{Interleave, PilotRecord, PilotSubject};
pub use load::tls::{TlsSession, TlsSettings, TlsTrustKind};
pub use load::waiting::{Wait, Waiting};
pub use measured::{
    CEILING, Machine, MachineRole, Measured, RevisionRecord, STUDY_SCHEMA, Settings,
    SkippedSubject, StudyEnd, SubjectRecord,
};
pub use service::{BlockService, Restarted, ServiceRecord};
