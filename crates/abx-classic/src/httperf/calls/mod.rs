//! The requests: the same call repeatedly, or the calls in the bursts of sessions.

mod requests;
mod script;
mod session_requests;

pub use requests::HttperfRequests;
pub use script::HttperfBurst;
pub use session_requests::HttperfSessionRequests;
