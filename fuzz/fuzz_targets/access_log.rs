//! Feeds chance to the reader of access logs; see `abx_lab::access_log_fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| abx_lab::access_log_fuzz::any_bytes(bytes));
