//! httperf 0.9.0: connections that are begun in turn or at a rate, each with so many
//! requests; or sessions, with bursts of calls and time to think between them.
//!
//! [`HttperfCommand::parse`] reads the words; [`HttperfRequests`] and
//! [`HttperfSessionRequests`] have what is sent and [`HttperfPace`] when; [`HttperfFigures`]
//! takes in what happens and gives the report, and [`HttperfPrinter`] the requests and replies
//! themselves. [`notes()`] states what the report does not show.

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
