//! Fuzzes the server's side of a WebSocket; see `abx_fuzz::wire::websocket`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| abx_fuzz::wire::websocket::server(data));
