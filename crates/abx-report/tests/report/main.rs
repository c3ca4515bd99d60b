//! Reports as a person sees them, from records with fixed figures.

mod against;
mod catalog;
mod doctor;
mod history;
mod html;
mod page;
mod run;
mod study;
mod support;
mod width;
