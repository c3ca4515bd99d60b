//! Starts and stops the servers under test and runs studies of them.
//!
//! [`run_study()`] runs the blocks of a [`Study`]: it starts every subject under a keeper, waits
//! until it is ready, verifies it, loads it in interleaved slices, and stops it. [`run()`] loads
//! one server once, and [`load_once`] does so without any other request. [`keeper::keep`] is the
//! body of the process that keeps a server.
//!
//! The folders are listed in the order of the data, and each uses only earlier ones: `process`
//! keeps one server, `setup` installs what servers need, `revisions` builds them from commits,
//! `measure` loads running servers, `records` keeps measurements, `run_study` combines them, and
//! `doctor` examines the machine by the same means.

pub mod doctor;
mod locked_file;
mod measure;
mod process;
mod records;
pub mod revisions;
mod run_study;
mod setup;

pub use abx_engine::input_file::{open_input, read_input};
pub use abx_study::access_log::{
    AccessLog, AccessLogError, LogLineError, ReplayedLog, ReplayedMethods,
};
pub use abx_study::fault::{Fault, Strike};
pub use abx_study::form::{Form, FormError};
pub use abx_study::host::look_up;
pub use abx_study::launch::{FilledLaunch, Launch, ReadinessRule, Template};
pub use abx_study::numbered::{NUMBER, NumberError, REQUESTS_MAX};
pub use abx_study::rates::{Rate, RateSpec, SHARES, Spacing};
pub use abx_study::request_file::{REQUEST_FILE_BYTES_MAX, RequestFileError, requests_in};
pub use abx_study::request_placeholder::{
    LINES_BYTES_MAX, LineFiles, RequestPlaceholderError, without_placeholders,
};
pub use abx_study::service::{HealthCheck, SeedCommand, ServiceRestart, StudyService};
pub use abx_study::shape::{
    BROADCAST_BYTES_MIN, HOLD, MESSAGE_BYTES, MESSAGE_BYTES_MAX, SWITCHED, is_long_enough,
};
pub use abx_study::study_file::nearest::{is_slip_of, meant};
pub use abx_study::study_file::scenario as scenario_file;
pub use abx_study::subject::{
    Scheme, Source, Subject, SubjectError, Target, is_address, with_scheme,
};
pub use abx_study::sweep::SweepSpec;
pub use abx_study::tls::TlsSpec;
pub use abx_study::url_list::{UrlListError, listed_paths};
pub use abx_study::user_scenario::UserScenario;
pub use abx_study::{
    CeilingServer, ExpectBody, GeneratedFile, Load, OrderedTime, PilotEffort, Pin, RequestSpec,
    Study, WaitChoice, credentials, study_file, units, usual_method,
};
pub use measure::host::profiler::WHY_SHARE;
pub use measure::rate_search::FoundCapacity;
pub use measure::running_subjects::Abort;
pub use process::keeper;
#[cfg(any(test, fuzzing))]
pub use process::marked_command::marker_lines::fuzz as marker_lines_fuzz;
pub use process::marked_command::{MarkedCommand, MarkedCommandError};
pub use process::pending::Pending;
pub use process::server_process::ServerProcessError;
pub use process::service_process::ServiceError;
pub use process::stop_signals::{STOP_SIGNALS, SignalGuard};
pub use process::verify::VerifyError;
#[cfg(any(test, fuzzing))]
pub use records::file::fuzz as record_file_fuzz;
pub use records::file::read_text;
pub use records::history;
pub use records::store::{RecordInUse, Store, StoreError, state_folder, write_text};
pub use run_study::alone::load_once::{OncePlan, OnceResult, load_once};
pub use run_study::alone::run::{
    RunEnd, RunEnvironment, RunError, RunPlan, RunProgress, collected_run, run,
};
pub use run_study::context::{PrepareError, this_machine};
pub use run_study::progress::StudyProgress;
pub use run_study::resume::resumption::{ResumeError, is_resumable};
pub use run_study::study_runner::{StudyEnvironment, StudyError, StudyOutcome, run_study};
pub use setup::trust::TrustStore;
pub use setup::{catalog, provision};
