//! Fuzzes cookies and values of responses; see `abx_engine::scenario_fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| abx_engine::scenario_fuzz::any_response(data));
