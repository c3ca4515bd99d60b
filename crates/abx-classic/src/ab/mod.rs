//! ApacheBench of httpd 2.4: its flags, its HTTP/1.0 requests, and its report as text, HTML, CSV
//! and a table for gnuplot.
//!
//! Data flow: [`AbCommand::read`] (flags) → [`AbOptions::request`] (the request) → the load,
//! generated elsewhere → [`AbRun`] (its result) → [`AbFigures`] (the counts of ab) → `text`,
//! `html`, `tables`. [`AbFigures::remarks`] states what ab's report hides.

mod figures;
mod html;
mod options;
mod remarks;
mod request;
mod spread;
mod tables;
mod text;
mod url;
mod usage;

pub use figures::{AbFailures, AbFigures, AbRun, AbTls};
pub use options::{AbCommand, AbMarkup, AbOptions, AbRefusal, AbTlsOptions, AbTlsVersion};
pub use request::AbRequest;
pub use url::AbUrl;
pub use usage::{banner, usage};
