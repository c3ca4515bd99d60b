//! Studies: the subjects, their load, and how they are compared. Parsed once; from here on the
//! types prove it.

pub mod access_log;
mod loads;
mod requests;
mod servers;
mod study;
pub mod study_file;
pub mod units;

pub use loads::load::{ExpectBody, Load, arrivals};
pub use loads::{load_records, rates, shape, sweep, tls, user_scenario};
pub use requests::request_spec::{RequestSpec, usual_method};
pub use requests::{credentials, form, numbered, request_file, request_placeholder, url_list};
pub use servers::{
    container, fault, host, launch, placeholder, program, service, shell_word, subject,
};
pub use study::{CeilingServer, GeneratedFile, OrderedTime, PilotEffort, Pin, Study, WaitChoice};
