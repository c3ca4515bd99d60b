//! Fuzzes the reader of files, compressed or not; see `abx_lab::record_file_fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| abx_lab::record_file_fuzz::any_bytes(data));
