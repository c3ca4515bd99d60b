//! Reports as a person sees them, from records with fixed figures.

mod others;
mod pages;
mod readmes;
mod runs;
mod studies;
mod support;
