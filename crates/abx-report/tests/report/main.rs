//! Reports as a person sees them, from records with fixed figures.

mod doctor;
mod run;
mod study;
mod support;
mod width;
