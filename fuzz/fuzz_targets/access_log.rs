//! Fuzzes the reader of access logs; see `abx_study::access_log::fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| abx_study::access_log::fuzz::any_bytes(bytes));
