//! Reports as a person sees them, from records with fixed figures.

mod formats;
mod run;
mod study;
mod support;
mod width;
