//! Fuzzes the reader of the output of git; see `abx_lab::revisions::fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| abx_lab::revisions::fuzz::any_output(data));
