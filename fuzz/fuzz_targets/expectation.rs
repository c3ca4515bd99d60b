//! Fuzzes the reader of expectations; see `abx_verdict::expectation::fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| abx_verdict::expectation::fuzz::any_text(text));
