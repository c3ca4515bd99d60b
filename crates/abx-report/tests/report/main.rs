//! Reports as a person sees them, from records with fixed figures.

mod against;
mod doctor;
mod formats;
mod history;
mod run;
mod study;
mod support;
mod width;
