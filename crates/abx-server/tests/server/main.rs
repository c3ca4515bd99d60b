//! The reference server from outside: a plain blocking client, and curl.

mod faults;
mod files;
mod models;
mod support;
mod tls;
