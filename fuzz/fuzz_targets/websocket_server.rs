//! Feeds chance to the server's side of a WebSocket; see `abx_wire::websocket::fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| abx_wire::websocket::fuzz::server(data));
