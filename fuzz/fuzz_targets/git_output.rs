//! Feeds chance to the reader of what git prints; see `abx_lab::revisions::fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| abx_lab::revisions::fuzz::any_output(data));
