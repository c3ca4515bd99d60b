//! Fuzzes the client's side of a handshake of TLS; see `abx_engine::tls_fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| abx_engine::tls_fuzz::any_handshake(data));
