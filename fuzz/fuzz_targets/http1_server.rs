//! Fuzzes the server's side; see `abx_fuzz::wire::http1`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| abx_fuzz::wire::http1::server(data));
