//! Feeds chance to the client's side with several answers awaited; see `abx_wire::fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| abx_wire::fuzz::pipeline(data));
