//! Fuzzes the reader of the output of timed commands; see `abx_lab::marker_lines_fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| abx_lab::marker_lines_fuzz::any_bytes(data));
