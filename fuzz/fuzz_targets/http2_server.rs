//! Feeds chance to the server of HTTP/2; see `abx_wire::http2::fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| abx_wire::http2::fuzz::server(data));
