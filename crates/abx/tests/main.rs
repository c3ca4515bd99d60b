//! The program `abx` end to end: started as a person starts it, against real
//! servers, with everything that may go wrong gone wrong.

mod faults;
mod foreign;
mod layers;
mod records;
mod signals;
mod subjects;
mod support;
mod usage;
