//! Feeds chance to the server's side; see `abx_wire::fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| abx_wire::fuzz::server(data));
