//! Feeds chance to the reader of what timed commands print; see `abx_lab::marker_lines_fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| abx_lab::marker_lines_fuzz::any_bytes(data));
