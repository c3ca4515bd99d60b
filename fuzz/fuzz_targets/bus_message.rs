//! Fuzzes messages from the bus; see `abx_fleet::fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| abx_fleet::fuzz::any_message(data));
