//! The rings against peers of the standard library.

mod file_ring;
mod ring;
