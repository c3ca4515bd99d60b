//! Fuzzes the client's side of TLS; see `abx_engine::tls_fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| abx_engine::tls_fuzz::any_records(data));
