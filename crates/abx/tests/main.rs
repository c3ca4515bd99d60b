//! The program `abx` end to end: started as a person starts it, against real
//! servers, with everything that may go wrong gone wrong.

#![allow(clippy::unwrap_used, reason = "all of this is a test")]

mod arrivals;
mod catalog;
mod disturbed;
mod doctor;
mod faults;
mod foreign;
mod history;
mod html;
mod layers;
mod records;
mod signals;
mod studies;
mod subjects;
mod support;
mod usage;
mod websocket;
