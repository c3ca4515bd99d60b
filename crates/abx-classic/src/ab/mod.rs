//! ApacheBench of httpd 2.4: its flags, its requests of HTTP/1.0, its report as text, HTML,
//! CSV and gnuplot's table.
//!
//! The way of the data: [`AbCommand::read`] (flags) → [`AbOptions::request`] (the request) →
//! the load, made elsewhere → [`AbRun`] (what came of it) → [`AbFigures`] (what ab counts) →
//! `text`, `html`, `tables`. What ab's report hides is in [`AbFigures::remarks`].

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
