//! httperf 0.9.0: connections that begin one after the other or at a rate, each with a number of
//! requests; or sessions, with bursts of calls and time to think between them.
//!
//! [`HttperfCommand::parse`] reads the words. [`HttperfRequests`] and [`HttperfSessionRequests`]
//! write the requests, and [`HttperfPace`] schedules them. [`HttperfFigures`] counts events and
//! prints the report, and [`HttperfPrinter`] prints requests and replies. [`notes()`] states what
//! the report does not show.

mod calls;
mod figures;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod long_options;
mod moments;
mod notes;
mod options;
mod pace;
mod printer;
mod report;
mod session_figures;
mod session_options;
mod tls_options;
mod values;

pub use calls::{HttperfBurst, HttperfRequests, HttperfSessionRequests};
pub use figures::{HttperfCpu, HttperfFailure, HttperfFigures, HttperfReply, HttperfSample};
pub use long_options::usage;
pub use notes::notes;
pub use options::{HttperfCommand, HttperfOptions, HttperfUris, PrintedParts};
pub use pace::{HttperfPace, HttperfPaceStep};
pub use printer::HttperfPrinter;
pub use session_figures::HttperfSessionEnd;
pub use session_options::{HttperfSessionCalls, HttperfSessionOptions, HttperfSessions};
pub use tls_options::{HttperfTlsOptions, HttperfTlsVersion};
pub use values::HttperfRefusal;
