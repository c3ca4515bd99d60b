//! What is sent: the same call again and again, or calls in the bursts of sessions.

mod requests;
mod script;
mod session_requests;

pub use requests::HttperfRequests;
pub use script::HttperfBurst;
pub use session_requests::HttperfSessionRequests;
