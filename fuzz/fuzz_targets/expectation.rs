//! Feeds chance to the reader of expectations; see `abx_evidence::expectation::fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| abx_evidence::expectation::fuzz::any_text(text));
