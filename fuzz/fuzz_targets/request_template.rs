//! Fuzzes the values that are filled into requests; see `abx_engine::template_fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| abx_engine::template_fuzz::any_text(text));
