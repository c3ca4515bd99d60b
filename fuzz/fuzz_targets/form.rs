//! Fuzzes forms; see `abx_study::form::fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| abx_study::form::fuzz::any_text(text));
