//! Fuzzes the client of HTTP/2; see `abx_fuzz::wire::http2`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| abx_fuzz::wire::http2::client(data));
