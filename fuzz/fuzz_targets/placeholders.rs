//! Fuzzes requests with placeholders; see `abx_study::request_placeholder::fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| abx_study::request_placeholder::fuzz::any_text(text));
