//! The command lines and reports of other load generators, for scripts that were written for
//! them: words go in and a plain description of the load comes out; what was measured goes in
//! and the report comes out, to the character. The load is made elsewhere.
//!
//! [`ab`] is ApacheBench: start at [`ab::AbCommand`]. [`httperf`] is what its name says: start
//! at [`httperf::HttperfCommand`].

pub mod ab;
pub mod httperf;
mod short_options;
