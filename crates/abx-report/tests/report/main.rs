//! Reports as a person sees them, from records with fixed figures.

mod alone;
mod catalog;
mod course;
mod doctor;
mod formats;
mod history;
mod html;
mod limits;
mod lists;
mod overview;
mod page;
mod past_baseline;
mod phases;
mod picture;
mod plan;
mod readmes;
mod run;
mod scenario;
mod server_times;
mod services;
mod several;
mod study;
mod support;
mod timer;
mod websocket;
mod width;
