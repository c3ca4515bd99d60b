//! The program `abx` end to end: started as a person starts it, against real
//! servers, with everything that may go wrong gone wrong.

#![allow(clippy::unwrap_used, reason = "all of this is a test")]

mod ab;
mod arrivals;
mod audit;
mod broken;
mod bus;
mod cassandra;
mod catalog;
mod containers;
mod disturbed;
mod doctor;
mod expectations;
mod faults;
mod fleet;
mod foreign;
mod formats;
mod golden;
mod history;
mod html;
mod http2;
mod httperf;
mod httperf_sessions;
mod imported;
mod killed;
mod kubernetes;
mod layers;
mod machines;
mod manual;
mod opened;
mod packages;
mod placeholders;
mod records;
mod recovery;
mod replay;
mod requests;
mod requests_of_clients;
mod runs;
mod scenarios;
mod services;
mod signals;
mod studies;
mod subjects;
mod supervised;
mod support;
mod sweeps;
mod timer;
mod tls;
mod tls_faults;
mod tls_server;
mod unix_sockets;
mod usage;
mod view;
mod watched;
mod websocket;
