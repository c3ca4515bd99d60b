//! Fuzzes the decoder of header blocks; see `abx_wire::http2::hpack_fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| abx_wire::http2::hpack_fuzz::any_blocks(data));
