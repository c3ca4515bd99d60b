//! Feeds chance to the client's side; see `abx_wire::fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| abx_wire::fuzz::client(data));
